"""Which remotes may be asked: by protocol, by host and, for local ones, by directory.

A service that fetches what callers name can be made to knock on doors inside its network. So a host that resolves to an address which is
not public is refused unless the setting names it, and git is told the very address that was checked.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from app.domain.errors import InvalidRequest, SourceUnavailable

_FIELD: Final = "source.url"
_LONGEST: Final = 2_048
_PORTS: Final[Mapping[str, int]] = {"https": 443, "http": 80, "ssh": 22}
_SCP: Final = re.compile(r"(?P<user>[A-Za-z0-9._-]+)@(?P<host>[A-Za-z0-9.-]+):(?P<path>[^/].*)")
_TRANSLATED: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")))
"""Networks whose addresses end in the IPv4 address that a gateway leads to."""
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:.]+")


def is_loopback(host: str) -> bool:
    """True for an address that other machines cannot reach."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_public(ip: str) -> bool:
    """True for an address of one machine in the internet; an IPv6 address that leads on to an IPv4 address counts as that one."""
    address = ipaddress.ip_address(ip)
    if isinstance(address, ipaddress.IPv6Address):
        inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        inner += [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)] if any(address in network for network in _TRANSLATED) else []
        if any(v4 is not None and not is_public(str(v4)) for v4 in inner) or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast


@dataclass(frozen=True, slots=True)
class Address:
    """A remote's address, taken apart and written in one way, so that equal remotes are equal texts."""

    url: str
    scheme: str
    host: str
    port: int
    user: str | None
    path: str


def parse_address(text: str) -> Address:
    """Raises InvalidRequest for what is no address, or one that is never asked. Nothing is looked up."""
    if len(text) > _LONGEST or any(ord(character) <= 32 or ord(character) == 127 for character in text):
        raise InvalidRequest("the address is too long, or holds blanks or control characters", field=_FIELD)
    if text.startswith("-"):
        raise InvalidRequest("the address looks like an option", field=_FIELD)
    if match := _SCP.fullmatch(text):
        text = f"ssh://{match['user']}@{match['host']}/{match['path']}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise InvalidRequest("this is not an address", field=_FIELD) from None
    scheme = parts.scheme.lower()
    if scheme not in {*_PORTS, "file"}:
        raise InvalidRequest("the address must begin with https://, ssh:// or file://", field=_FIELD)
    if parts.password is not None or (parts.username is not None and scheme != "ssh"):
        raise InvalidRequest(
            "the address holds a user name or password; set FOURFOLD_CREDENTIALS__NAME__TOKEN (or __TOKEN_FILE) and name it in "
            "source.credential",
            field=_FIELD,
        )
    if parts.query or parts.fragment:
        raise InvalidRequest("the address of a repository has no query and no fragment", field=_FIELD)
    path = parts.path.rstrip("/")
    if not path or ".." in unquote(path).split("/"):
        raise InvalidRequest("the address names no repository", field=_FIELD)
    if scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise InvalidRequest("a file:// address names no host", field=_FIELD)
        return Address(f"file://{path}", scheme, "", 0, None, unquote(path))
    host = (parts.hostname or "").lower().rstrip(".")
    user = parts.username
    if not _HOST.fullmatch(host) or (user is not None and not re.fullmatch(r"[A-Za-z0-9._][A-Za-z0-9._-]*", user)):
        raise InvalidRequest("the address has no valid host", field=_FIELD)
    shown = f"[{host}]" if ":" in host else host
    place = f"{user}@{shown}" if user else shown
    place += f":{port}" if port not in (None, _PORTS[scheme]) else ""
    return Address(f"{scheme}://{place}{path}", scheme, host, port or _PORTS[scheme], user, path)


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """``allowed_hosts``: hosts that may have private addresses or speak plain http. ``roots``: where file:// may lead; None: anywhere."""

    allowed_hosts: frozenset[str]
    roots: Sequence[Path] | None

    def of_commits(self, remote: Address) -> AddressPolicy:
        """The policy for addresses that commits of a remote name: those of a public one lead to public hosts alone."""
        return self if remote.scheme == "file" or remote.host in self.allowed_hosts else AddressPolicy(frozenset(), ())

    def check(self, address: Address) -> str | None:
        """The IP address to connect to, None for a file. Blocking: asks the resolver.

        Raises InvalidRequest when the address is not allowed, SourceUnavailable when its host is not known at present.
        """
        if address.scheme == "file":
            self._check_file(Path(address.path))
            return None
        named = address.host in self.allowed_hosts
        if address.scheme == "http" and not named:
            raise InvalidRequest("plain http is used only for hosts in FOURFOLD_GIT__ALLOWED_HOSTS", field=_FIELD)
        found = _resolve(address)
        if not named and not all(map(is_public, found)):
            raise InvalidRequest(
                f"{address.host} has an address that is not public; name it in FOURFOLD_GIT__ALLOWED_HOSTS to allow it", field=_FIELD
            )
        return found[0]

    def _check_file(self, path: Path) -> None:
        try:
            resolved = path.resolve()
        except (OSError, RuntimeError):
            raise InvalidRequest("the path cannot be resolved", field=_FIELD) from None
        if self.roots is not None and not any(resolved.is_relative_to(root.resolve()) for root in self.roots):
            raise InvalidRequest("the path is outside the allowed roots (FOURFOLD_ALLOWED_ROOTS)", field=_FIELD)


def _resolve(address: Address) -> list[str]:
    try:
        answers = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError:
        raise SourceUnavailable(f"the host {address.host} cannot be resolved") from None
    return list(dict.fromkeys(str(answer[4][0]).partition("%")[0] for answer in answers))
