"""What is known of git's blobs by their ids, so that an index run reads only the bytes that it has never seen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.index import SkipReason
from app.storage.engine import Connection


@dataclass(frozen=True, slots=True)
class KnownBlob:
    """The SHA-256 of a blob's bytes, and why they are no text worth searching, if they are not."""

    sha256: bytes
    reason: SkipReason | None


_KNOWN: Final = """
    WITH touched AS (
        UPDATE blob SET used_on = current_date WHERE repository_id = $1 AND oid = ANY($2::bytea[]) AND used_on < current_date
    )
    SELECT oid, sha256, reason FROM blob WHERE repository_id = $1 AND oid = ANY($2::bytea[]) AND (reason IS NULL OR extractor = $3)
"""


async def known_blobs(connection: Connection, repository_id: int, oids: Collection[str], extractor: str) -> dict[str, KnownBlob]:
    """What is known of these blobs, by their ids in hexadecimal. Another extractor may find text where this one found none.

    Remembers that they were asked for: what nobody asks for is forgotten (``retention.py``).
    """
    rows = await connection.fetch(_KNOWN, repository_id, [bytes.fromhex(oid) for oid in oids], extractor)
    return {row["oid"].hex(): KnownBlob(row["sha256"], SkipReason(row["reason"]) if row["reason"] else None) for row in rows}


async def remember_blobs(connection: Connection, repository_id: int, blobs: Mapping[str, KnownBlob], extractor: str) -> None:
    """Keep what a run learned; a blob never changes."""
    await connection.execute(
        "INSERT INTO blob (repository_id, oid, sha256, reason, extractor) "
        "SELECT $1, u.*, $5 FROM unnest($2::bytea[], $3::bytea[], $4::text[]) AS u "
        "ON CONFLICT (repository_id, oid) DO UPDATE SET reason = EXCLUDED.reason, extractor = EXCLUDED.extractor, used_on = current_date",
        repository_id,
        [bytes.fromhex(oid) for oid in blobs],
        [blob.sha256 for blob in blobs.values()],
        [str(blob.reason) if blob.reason else None for blob in blobs.values()],
        extractor,
    )
