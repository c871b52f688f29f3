"""Hands secrets to git by its environment: never by an argument, which any process may read, and never by a file of the repository."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from app.config import CredentialSettings
from app.domain.errors import ConfigurationError, InvalidRequest
from app.sources.address import Address

_SSH: Final = ("ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20")


def check_credential(name: str | None, address: Address, credentials: Mapping[str, CredentialSettings]) -> CredentialSettings | None:
    """The settings of the credential that a source names; raises InvalidRequest when there is none or it belongs to another host."""
    if name is None:
        return None
    found = credentials.get(name.lower())
    if found is None:
        raise InvalidRequest(
            f"no credential is named {name!r}; set FOURFOLD_CREDENTIALS__{name.upper()}__TOKEN and …__HOST", field="source.credential"
        )
    if found.host.lower() != address.host or address.scheme == "http":
        raise InvalidRequest(f"the credential {name!r} is not for {address.scheme}://{address.host}", field="source.credential")
    return found


def git_environment(
    address: Address, ip: str | None, credential: CredentialSettings | None, known_hosts: Path, ca_file: Path | None = None
) -> dict[str, str]:
    """Environment variables for a git that talks to ``address``, which is at ``ip``. Raises ConfigurationError for an unreadable secret."""
    environment = {"GIT_ALLOW_PROTOCOL": address.scheme, "GIT_PROTOCOL": "version=2"}
    config: dict[str, str] = {}
    if address.scheme in ("http", "https"):
        if ca_file is not None:
            environment["GIT_SSL_CAINFO"] = str(ca_file)
        if ip is not None:
            shown = f"[{ip}]" if ":" in ip else ip
            config["http.curloptResolve"] = f"{address.host}:{address.port}:{shown}"
        if credential is not None:
            pair = f"{credential.username}:{_token(credential)}"
            config[f"http.{address.url}.extraHeader"] = f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}"
    elif address.scheme == "ssh":
        environment["GIT_SSH_COMMAND"] = _ssh_command(address, ip, credential, known_hosts)
        environment["GIT_SSH_VARIANT"] = "ssh"
    for number, (key, value) in enumerate(config.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment | {"GIT_CONFIG_COUNT": str(len(config))}


def _token(credential: CredentialSettings) -> str:
    if credential.token is not None:
        return credential.token.get_secret_value()
    if credential.token_file is None:
        raise ConfigurationError("the credential has neither a token nor a token file")
    try:
        return credential.token_file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigurationError("the credential's token file cannot be read") from None


def _ssh_command(address: Address, ip: str | None, credential: CredentialSettings | None, known_hosts: Path) -> str:
    """A host that is met for the first time is remembered, unless a file of known hosts is given; a changed key is refused."""
    words = list(_SSH)
    if ip is not None:
        words += ["-o", f"HostName={ip}", "-o", f"HostKeyAlias={address.host}"]
    if credential is not None and credential.ssh_key_file is not None:
        words += ["-i", str(credential.ssh_key_file), "-o", "IdentitiesOnly=yes"]
    given = credential.known_hosts_file if credential is not None else None
    words += ["-o", f"UserKnownHostsFile={given or known_hosts}", "-o", f"StrictHostKeyChecking={'yes' if given else 'accept-new'}"]
    return shlex.join(words)
