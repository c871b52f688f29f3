"""Database URLs as people write them, turned into what asyncpg takes.

``postgres://``, ``postgresql://`` and ``postgresql+asyncpg://`` mean the same; hosts may be several (``a:5432,b:5433``), a socket
directory (``?host=/run/postgresql`` or percent-encoded in the host's place), or absent (asyncpg then looks where libpq would).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from app.domain.errors import ConfigurationError

DEFAULT_PORT: Final = 5432

_SCHEMES = ("postgres", "postgresql", "postgresql+asyncpg")
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_SSL_FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl", "sslpassword")
_SERVER_SETTINGS = ("application_name", "options", "search_path")
_ALIASES = {"dbname": "database", "ssl": "sslmode"}


@dataclass(frozen=True, slots=True)
class Dsn:
    """Where the database is and how to get in. ``hosts`` are (host or socket directory, port) pairs, tried in order."""

    hosts: tuple[tuple[str, int], ...] = ()
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    database: str | None = None
    sslmode: str | None = None
    ssl_files: Mapping[str, str] = field(default_factory=dict, repr=False)
    server_settings: Mapping[str, str] = field(default_factory=dict)
    connect_timeout: float | None = None
    target_session_attrs: str | None = None
    statement_cache_size: int | None = None

    def connect_kwargs(self) -> dict[str, Any]:
        """Arguments of ``asyncpg.connect`` and ``asyncpg.create_pool``."""
        values: dict[str, Any] = {
            # Only a DSN can name the certificates; everything else in asyncpg has an argument, which comes first.
            "dsn": f"postgresql://?{urlencode(self.ssl_files)}" if self.ssl_files else None,
            "host": [host for host, _ in self.hosts] or None,
            "port": [port for _, port in self.hosts] or None,
            "user": self.user,
            "password": self.password,
            "database": self.database,
            "ssl": self.sslmode,
            "timeout": self.connect_timeout,
            "target_session_attrs": self.target_session_attrs,
            "statement_cache_size": self.statement_cache_size,
            "server_settings": dict(self.server_settings) or None,
        }
        return {name: value for name, value in values.items() if value is not None}

    @property
    def address(self) -> str:
        """Host and port for messages."""
        return ", ".join(f"{host}:{port}" for host, port in self.hosts) or "the default address"

    @property
    def redacted(self) -> str:
        """The URL without the password, for logs and messages."""
        files = {name: "***" if name == "sslpassword" else value for name, value in self.ssl_files.items()}
        return replace(self, password=None if self.password is None else "***", ssl_files=files).url

    @property
    def url(self) -> str:
        """The canonical spelling, password included; ``parse_dsn`` gives an equal value back."""
        login = "" if self.user is None else quote(self.user, safe="")
        login += "" if self.password is None else ":" + quote(self.password, safe="*")
        at = "@" if login else ""
        hosts = ",".join(f"{_quote_host(host)}:{port}" for host, port in self.hosts)
        options = {
            "sslmode": self.sslmode,
            **self.ssl_files,
            **self.server_settings,
            "connect_timeout": None if self.connect_timeout is None else f"{self.connect_timeout:g}",
            "target_session_attrs": self.target_session_attrs,
            "statement_cache_size": self.statement_cache_size,
        }
        query = urlencode({name: value for name, value in options.items() if value is not None}, quote_via=quote)
        return f"postgresql://{login}{at}{hosts}/{quote(self.database or '', safe='')}{'?' if query else ''}{query}"

    def with_database(self, database: str) -> Dsn:
        """The same server, another database."""
        return replace(self, database=database)


def parse_dsn(url: str) -> Dsn:
    """Raises ConfigurationError, which never quotes the URL, since it may hold a password."""
    scheme, separator, rest = url.strip().partition("://")
    if not separator or scheme.lower() not in _SCHEMES:
        raise _error("it must begin with postgresql://, for example postgresql://user:password@host:5432/database")
    authority, _, query = rest.partition("?")
    authority, _, database = authority.partition("/")
    login, _, hosts = authority.rpartition("@")
    user, has_password, password = login.partition(":")
    values = {
        "user": unquote(user),
        "password": unquote(password) if has_password else "",
        "host": hosts,
        "database": unquote(database),
        **_parse_query(query),
    }
    return Dsn(
        hosts=_parse_hosts(values.pop("host"), values.pop("port", "")),
        user=values.pop("user") or None,
        password=values.pop("password") or None,
        database=values.pop("database") or None,
        sslmode=_parse_sslmode(values.pop("sslmode", "")),
        ssl_files={name: values.pop(name) for name in _SSL_FILES if name in values},
        server_settings={name: values.pop(name) for name in _SERVER_SETTINGS if name in values},
        connect_timeout=_number("connect_timeout", values.pop("connect_timeout", "")),
        target_session_attrs=values.pop("target_session_attrs", None),
        statement_cache_size=_whole_number("statement_cache_size", values.pop("statement_cache_size", "")),
        **_nothing_left(values),
    )


def _parse_query(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise _error("what follows the '?' must be name=value pairs joined by '&'") from None
    values = {_ALIASES.get(name, name): value for name, value in pairs}
    # The host in the path is percent-encoded, the one in the query is decoded by now.
    if "host" in values:
        values["host"] = ",".join(quote(host, safe="/") for host in values["host"].split(","))
    return values


def _parse_hosts(hosts: str, port: str) -> tuple[tuple[str, int], ...]:
    ports = [_port(text) for text in port.split(",")] if port else [DEFAULT_PORT]
    if not hosts:
        return (("localhost", ports[0]),) if port else ()
    found = []
    names = hosts.split(",")
    if len(ports) not in (1, len(names)):
        raise _error("it names a different number of ports than of hosts")
    for name, default in zip(names, ports * len(names) if len(ports) == 1 else ports, strict=True):
        if name.startswith("["):  # IPv6
            host, _, own_port = name[1:].partition("]")
            own_port = own_port.removeprefix(":")
        else:
            host, _, own_port = name.partition(":")
        if not host:
            raise _error("a host is empty")
        found.append((unquote(host), _port(own_port) if own_port else default))
    return tuple(found)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise _error(
            "a port is not a number from 1 to 65535 (in a password, '@', ':', '/' and '?' need percent-encoding: %40, %3A, %2F, %3F)"
        )
    return int(text)


def _parse_sslmode(text: str) -> str | None:
    mode = {"": None, "true": "require", "false": "disable"}.get(text, text)
    if mode is not None and mode not in _SSL_MODES:
        raise _error(f"sslmode is {text!r}, known are {', '.join(_SSL_MODES)}")
    return mode


def _number(name: str, text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise _error(f"{name} is {text!r}, not a number") from None


def _whole_number(name: str, text: str) -> int | None:
    number = _number(name, text)
    return None if number is None else int(number)


def _nothing_left(values: dict[str, str]) -> dict[str, Any]:
    if values.pop("channel_binding", "prefer") == "require":
        raise _error("asyncpg does not do channel binding: remove channel_binding=require (sslmode=verify-full protects as well)")
    if values:
        raise _error(f"it has options that are not known here: {', '.join(sorted(values))}")
    return {}


def _quote_host(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("/") else quote(host, safe="")


def _error(reason: str) -> ConfigurationError:
    return ConfigurationError(f"DATABASE_URL is not usable: {reason}")
