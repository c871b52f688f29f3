"""API keys and the audit log on the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import Path
from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, JsonValue, ValidationInfo, field_validator

from app.domain.access import KeyScope
from app.domain.errors import Conflict
from app.http.schemas.fields import ID_PATTERN, JsonModel, StrictModel
from app.http.schemas.search_answer import Shape

GLOB_PATTERN: Final = r"^[A-Za-z0-9*?][A-Za-z0-9._*?-]{0,99}$"
KEY_NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9 @._-]{0,99}$"

KeyId = Annotated[str, Path(pattern=ID_PATTERN, description="the key's id, the part after `ff_`", examples=["5d41402abc4b2a76"])]
RepositoryGlob = Annotated[str, Field(pattern=GLOB_PATTERN)]


def _distinct(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


_BODY: Final[JsonValue] = {"name": "ci", "scope": "index", "repositories": ["acme-*"], "expires_at": None}


_KEY_BODY: Final[dict[str, JsonValue]] = {
    "examples": [_BODY],
    "if": {"properties": {"scope": {"const": "admin"}}, "required": ["scope"]},
    "then": {"properties": {"repositories": {"maxItems": 0}}},
}


class KeyBody(JsonModel):
    """A key to be made."""

    model_config = ConfigDict(json_schema_extra=_KEY_BODY)

    name: Annotated[str, Field(pattern=KEY_NAME_PATTERN)]
    """For people: who or what uses it."""
    scope: KeyScope = KeyScope.SEARCH
    """`search` reads, `index` also creates, indexes and deletes repositories, `admin` also manages keys, scopes and the audit log."""
    repositories: Annotated[tuple[RepositoryGlob, ...], Field(max_length=100), AfterValidator(_distinct)] = ()
    """The only repositories that there are for the key: names, or globs with `*` and `?`. Empty: all."""
    expires_at: AwareDatetime | None = None
    """From then on the key does not count. A time that has passed is a conflict."""

    @field_validator("repositories")
    @classmethod
    def _admins_see_everything(cls, repositories: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "scope" in info.data:
            check_limits(info.data["scope"], repositories)
        return repositories


def check_expiry(body: KeyBody) -> None:
    """Raises Conflict for a key that would never count."""
    if body.expires_at is not None and body.expires_at <= datetime.now(UTC):
        raise Conflict("expires_at lies in the past: the key would never count", field="expires_at")


def check_limits(scope: KeyScope, repositories: tuple[str, ...]) -> None:
    """Raises ValueError for a limited key that could make itself an unlimited one."""
    if scope is KeyScope.ADMIN and repositories:
        raise ValueError("a key of the scope admin reaches every repository: it could make itself a key that does")


KEY_EXAMPLE: Final[dict[str, Any]] = {
    "id": "5d41402abc4b2a76",
    "name": "ci",
    "scope": "index",
    "repositories": ["acme-*"],
    "state": "valid",
    "created_at": "2025-01-31T12:00:00Z",
    "expires_at": None,
    "revoked_at": None,
    "last_used_at": "2025-02-01T08:15:00Z",
}


class KeyShape(Shape):
    """A key without its secret."""

    model_config = ConfigDict(json_schema_extra={"examples": [KEY_EXAMPLE]})

    id: str
    name: str
    scope: KeyScope
    repositories: list[str]
    """Empty: all."""
    state: Annotated[str, Field(examples=["valid"])]
    """`valid`, `expired` or `revoked`."""
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    """Exact to a minute."""


class NewKey(KeyShape):
    """A key that was just made."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [KEY_EXAMPLE | {"last_used_at": None, "token": "ff_5d41402abc4b2a76_" + "0123456789abcdef" * 4}],
        }
    )

    token: str
    """What to send as `Authorization: Bearer …`. It is shown this once."""


class KeyList(Shape):
    model_config = ConfigDict(json_schema_extra={"examples": [{"keys": [KEY_EXAMPLE]}]})

    keys: list[KeyShape]
    """The newest first, expired and revoked ones too."""


class AuditParameters(StrictModel):
    key_id: Annotated[str, Field(pattern=ID_PATTERN)] | None = None
    """Entries of this key only."""
    action: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z ]{0,49}$", examples=["indexRepository"])] | None = None
    """Entries of this action only: an operation id, or a command."""
    cursor: Annotated[str, Field(pattern=r"^[1-9][0-9]{0,17}$", examples=["4711"])] | None = None
    """The `next_cursor` of the page before: entries older than its last."""
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    """Entries at most."""


ENTRY_EXAMPLE: Final[dict[str, Any]] = {
    "id": 4711,
    "created_at": "2025-01-31T12:00:00Z",
    "actor": "ci",
    "key_id": "5d41402abc4b2a76",
    "action": "indexRepository",
    "target": "acme-api",
    "status": 202,
    "address": "192.0.2.7",
    "request_id": "0b6f7a52d1e24c0f",
}


class AuditEntryShape(Shape):
    """One call that changed, or would have changed, what is indexed or who may call."""

    id: int
    created_at: datetime
    actor: str
    """The key's name; `anyone` where no key is asked for, `forge` for a signed delivery, `operator` for a command."""
    key_id: str | None
    action: str
    """The operation id, or the command."""
    target: str | None
    status: int
    """HTTP's status; that of the call that would do the same, for a command."""
    address: str | None
    request_id: str | None


class AuditList(Shape):
    model_config = ConfigDict(json_schema_extra={"examples": [{"entries": [ENTRY_EXAMPLE], "next_cursor": None}]})

    entries: list[AuditEntryShape]
    """The newest first."""
    next_cursor: str | None
