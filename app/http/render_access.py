"""Keys and entries of the audit log on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from app.domain.access import ApiKey, AuditEntry
from app.http.schemas.key import AuditEntryShape, AuditList, KeyShape, NewKey


def key(stored: ApiKey) -> KeyShape:
    return KeyShape(**_fields(stored))


def new_key(stored: ApiKey, token: str) -> NewKey:
    return NewKey(**_fields(stored), token=token)


def audit(entries: Sequence[AuditEntry], limit: int) -> AuditList:
    shown = [
        AuditEntryShape(
            id=entry.id,
            created_at=entry.at or datetime.now(UTC),
            actor=entry.actor,
            key_id=entry.key_id,
            action=entry.action,
            target=entry.target,
            status=entry.status,
            address=entry.address,
            request_id=entry.request_id,
        )
        for entry in entries
    ]
    return AuditList(entries=shown, next_cursor=str(shown[-1].id) if len(shown) == limit else None)


def state(stored: ApiKey) -> str:
    if stored.revoked_at is not None:
        return "revoked"
    return "expired" if stored.is_expired(datetime.now(UTC)) else "valid"


def _fields(stored: ApiKey) -> dict[str, Any]:
    return {
        "id": stored.id,
        "name": stored.name,
        "scope": stored.scope,
        "repositories": list(stored.repositories),
        "state": state(stored),
        "created_at": stored.created_at,
        "expires_at": stored.expires_at,
        "revoked_at": stored.revoked_at,
        "last_used_at": stored.last_used_at,
    }
