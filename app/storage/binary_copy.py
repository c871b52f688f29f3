"""PostgreSQL's binary COPY format, which numpy reads at once and asyncpg would element by element.

The format is in PostgreSQL's documentation of COPY: for each row the number of columns, then (size, value) of each, all big-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.storage.engine import Connection

_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER: Final = b"\xff\xff"


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
