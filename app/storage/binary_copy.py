"""PostgreSQL's binary COPY format, for what numpy reads and writes at once and asyncpg would element by element.

The format is in PostgreSQL's documentation of COPY; an array is its number of dimensions, a flag for nulls, the element type's oid, its
length and lower bound, then (size, value) for each element, all big-endian.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from struct import Struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.domain.analysis import Postings
from app.storage.engine import Connection

_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER: Final = b"\xff\xff"
_INT2_OID: Final = 21
_INT4_OID: Final = 23
_BLOCK_BYTES: Final = 1 << 20

_ROW: Final = Struct("!hiii")  # number of columns; repository_id with its size; size of the term
_NUMBERS: Final = Struct("!iiii")  # segment_id and files, each with its size
_ARRAY: Final = Struct("!iiiiii")  # size in bytes; dimensions, nulls, element type, length, lower bound
_ARRAY_HEADER_BYTES: Final = _ARRAY.size - 4


def posting_blocks(repository_id: int, segment_id: int, postings: Postings) -> Iterator[bytes]:
    """The COPY stream for the table ``posting``, in blocks of about a megabyte."""
    chunks = _elements(postings.chunks, ">i4")
    weights = _elements(postings.weights, ">i2")
    parts = [_HEADER]
    size = 0
    ends = postings.ends.tolist()
    for term, files, start, end in zip(postings.terms, postings.files.tolist(), [0, *ends], ends, strict=False):
        word = term.encode()
        parts += (
            _ROW.pack(6, 4, repository_id, len(word)),
            word,
            _NUMBERS.pack(4, segment_id, 4, files),
            _ARRAY.pack(_ARRAY_HEADER_BYTES + 8 * (end - start), 1, 0, _INT4_OID, end - start, 1),
            chunks[8 * start : 8 * end],
            _ARRAY.pack(_ARRAY_HEADER_BYTES + 6 * (end - start), 1, 0, _INT2_OID, end - start, 1),
            weights[6 * start : 6 * end],
        )
        size += 14 * (end - start) + 100
        if size > _BLOCK_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    parts.append(_TRAILER)
    yield b"".join(parts)


async def fetch_columns(connection: Connection, query: str, arguments: Sequence[int], types: Sequence[str]) -> tuple[NDArray[Any], ...]:
    """The columns of a query's rows, of fixed-width types and never null, as arrays of ``types`` (big-endian, such as ``>i8``)."""
    stream = BytesIO()

    async def receive(data: bytes) -> None:
        stream.write(data)

    await connection.copy_from_query(query, *arguments, output=receive, format="binary")
    fields = [field for i, kind in enumerate(types) for field in ((f"size{i}", ">i4"), (f"value{i}", kind))]
    row = np.dtype([("columns", ">i2"), *fields])
    body = memoryview(stream.getvalue())[len(_HEADER) : -len(_TRAILER)]
    rows = np.frombuffer(body, row)
    return tuple(rows[f"value{i}"] for i in range(len(types)))


def _elements(values: NDArray[np.int32] | NDArray[np.int16], dtype: str) -> bytes:
    """(size, value) of each element."""
    encoded = np.empty(len(values), [("size", ">i4"), ("value", dtype)])
    encoded["size"] = np.dtype(dtype).itemsize
    encoded["value"] = values
    return encoded.tobytes()
