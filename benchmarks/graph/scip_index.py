"""Reads what compiler-grade indexers write: SCIP's protobuf messages, as far as a comparison of calls needs them.

The field numbers are those of ``scip.proto`` (https://github.com/sourcegraph/scip).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_DOCUMENTS, _PATH, _OCCURRENCES = 2, 1, 2
_RANGE, _SYMBOL, _ROLES = 1, 2, 3
_DEFINITION, _IMPORT = 1, 2

Field = int | bytes


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A symbol's name in a file. ``line`` is 1-based, ``start`` and ``end`` are 0-based columns; ``roles`` is a set of bits."""

    symbol: str
    line: int
    start: int
    end: int
    roles: int

    @property
    def is_definition(self) -> bool:
        return bool(self.roles & _DEFINITION)

    @property
    def is_import(self) -> bool:
        return bool(self.roles & _IMPORT)


def read_index(path: Path) -> dict[str, list[Occurrence]]:
    """Path of a file of the project → its occurrences, in order. Raises ``ValueError`` if the file is no such index."""
    found: dict[str, list[Occurrence]] = {}
    for document in _fields(path.read_bytes())[_DOCUMENTS]:
        fields = _fields(_message(document))
        name = _message(fields[_PATH][0]).decode()
        found[name] = sorted((_occurrence(_message(one)) for one in fields[_OCCURRENCES]), key=lambda one: (one.line, one.start))
    return found


def _occurrence(message: bytes) -> Occurrence:
    fields = _fields(message)
    line, start, *rest = _numbers(_message(fields[_RANGE][0]))
    symbol = _message(fields[_SYMBOL][0]).decode() if _SYMBOL in fields else ""
    roles = fields[_ROLES][0] if _ROLES in fields else 0
    if not isinstance(roles, int):
        raise ValueError("the roles of an occurrence are no number")
    return Occurrence(symbol, line + 1, start, rest[-1] if len(rest) == 1 else -1, roles)


def _message(field: Field) -> bytes:
    if isinstance(field, int):
        raise ValueError("a number stands where a message should")
    return field


def _fields(message: bytes) -> defaultdict[int, list[Field]]:
    """Field number → values, in order, of one message."""
    found: defaultdict[int, list[Field]] = defaultdict(list)
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(message, at)
            found[number].append(value)
        elif wire == 2:
            length, at = _varint(message, at)
            found[number].append(message[at : at + length])
            at += length
        else:
            raise ValueError(f"wire type {wire} is none of an index")
    return found


def _numbers(packed: bytes) -> Iterator[int]:
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a position, and the position after it."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
