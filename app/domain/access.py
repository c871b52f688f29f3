"""Who is calling, and what of the store they may see: the one place where that is decided.

The HTTP interface sets the caller of a request; commands and workers act for the operator, who sees everything. The stores ask here, and
PostgreSQL asks once more by row-level security (storage/row_security.py). See docs/decisions/0017-keys-and-tenants.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from app.domain.errors import RepositoryNotFound


class KeyScope(StrEnum):
    """What a key is good for; each includes those before it."""

    SEARCH = "search"
    INDEX = "index"
    ADMIN = "admin"

    def includes(self, needed: KeyScope) -> bool:
        order = list(KeyScope)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. ``repositories`` are names or globs; all that there are when empty."""

    id: str
    name: str
    scope: KeyScope
    repositories: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def is_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def is_usable(self, now: datetime) -> bool:
        return self.revoked_at is None and not self.is_expired(now)


@dataclass(frozen=True, slots=True)
class Reach:
    """The repositories that a caller is limited to: by name, and as far as there are such, by id."""

    patterns: tuple[str, ...] = ()
    known: dict[str, int] = field(default_factory=dict)

    def allows(self, name: str) -> bool:
        """Whether a repository of that name is, or would be, one of the caller's."""
        return any(re.fullmatch(name_regex(pattern), name) for pattern in self.patterns)

    def learn(self, name: str, repository_id: int) -> None:
        """A repository that the caller has just created."""
        self.known[name] = repository_id

    @property
    def ids(self) -> list[int]:
        return sorted(self.known.values())


@dataclass(frozen=True, slots=True)
class Caller:
    """``reach`` None: everything that there is."""

    name: str
    scope: KeyScope | None = None
    key_id: str | None = None
    reach: Reach | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One call that changed, or would have changed, what is indexed or who may call. ``action`` is an operation id, or a command.

    ``id`` and ``at`` are given when it is stored. Never holds a body, a header or a secret.
    """

    actor: str
    action: str
    target: str | None
    status: int
    key_id: str | None = None
    address: str | None = None
    request_id: str | None = None
    id: int = 0
    at: datetime | None = None


OPERATOR: Final = Caller("operator", KeyScope.ADMIN)
"""Whoever runs commands and workers on the store itself."""

ANYONE: Final = Caller("anyone", KeyScope.ADMIN)
"""Whoever reaches a service that asks for no key."""

FORGE: Final = Caller("forge", KeyScope.ADMIN)
"""Whoever signs deliveries: what they set off is chosen by their addresses, not by who they are."""

NOBODY: Final = Caller("nobody", reach=Reach())
"""A request before its key is known, and one that needs none: sees no repository."""

_caller: ContextVar[Caller] = ContextVar("caller", default=OPERATOR)


def caller() -> Caller:
    """Whoever the work at hand is done for; tasks inherit it from those that start them."""
    return _caller.get()


@contextmanager
def acting(as_caller: Caller) -> Iterator[None]:
    """Everything inside is done for this caller."""
    token = _caller.set(as_caller)
    try:
        yield
    finally:
        _caller.reset(token)


def visible_ids() -> Sequence[int] | None:
    """The ids of the caller's repositories; None: of all."""
    reach = caller().reach
    return None if reach is None else reach.ids


def sees(name: str) -> bool:
    """Whether a repository of that name may be shown to the caller."""
    reach = caller().reach
    return reach is None or reach.allows(name)


def knows(name: str) -> bool:
    """Whether there is a repository of that name for the caller."""
    reach = caller().reach
    return reach is None or name in reach.known


def require_repository(name: str, field: str | None = None) -> None:
    """Raises RepositoryNotFound for a name out of the caller's reach: exactly as if there were no such repository."""
    if not sees(name):
        raise repository_not_found(name, field)


def repository_not_found(name: str, field: str | None = None) -> RepositoryNotFound:
    """The one way to say so, whatever the reason."""
    return RepositoryNotFound(f"there is no repository named {name!r}", field=field)


def name_regex(pattern: str) -> str:
    """A name or a glob (``*`` any text, ``?`` one character) as a regular expression of Python and PostgreSQL, without anchors."""
    return "".join({"*": ".*", "?": "."}.get(part, re.sub(r"(\W)", r"\\\1", part)) for part in re.split(r"([*?])", pattern))


def reach_of(repositories: Sequence[str], known: Mapping[str, int] | Iterable[tuple[str, int]]) -> Reach | None:
    """The reach of a key; None for one that is not limited."""
    return Reach(tuple(repositories), dict(known)) if repositories else None
