"""Import statements that nest: Rust's ``use a::{b, c::{self, *}}``, PHP's ``use A\\{B, C as D}``, Scala's ``import a.{b, c => d, _}``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_PIECE: Final = re.compile(rb"/\*.*?\*/|//[^\n]*|[{},]|[^\s{},;]+", re.DOTALL)
_KEYWORDS: Final = frozenset({"use", "function", "const"})
_ALIASING: Final = frozenset({"as", "=>"})
_EVERYTHING: Final = frozenset({"*", "_"})


@dataclass(frozen=True, slots=True)
class ImportLeaf:
    """One imported name; ``offset`` is where it stands, in bytes from the beginning of the statement."""

    module: str
    name: str | None
    local: str | None
    offset: int


def import_leaves(statement: bytes, separator: str) -> list[ImportLeaf]:
    """The names that a statement brings in, in its order. Keywords are skipped; a statement cut short gives what it has."""
    leaves: list[ImportLeaf] = []
    prefixes = [""]
    path, alias, offset, aliasing = "", "", 0, False

    def finish() -> None:
        nonlocal path, alias, aliasing
        if path:
            leaves.append(_leaf(path, alias, offset, separator))
        path, alias, aliasing = "", "", False

    for match in _PIECE.finditer(statement):
        piece = match.group().decode("utf-8", errors="replace")
        if piece.startswith(("/*", "//")) or (piece in _KEYWORDS and not path) or (piece == "import" and match.start() == 0):
            continue
        if piece == "{":
            prefixes.append(path or prefixes[-1])
            path = ""
        elif piece in ("}", ","):
            finish()
            if piece == "}" and len(prefixes) > 1:
                prefixes.pop()
        elif piece in _ALIASING:
            aliasing = True
        elif aliasing:
            alias = piece
        else:
            path, offset = _joined(prefixes[-1], piece, separator), match.start()
    finish()
    return leaves


def _joined(prefix: str, piece: str, separator: str) -> str:
    if not prefix:
        return piece
    return prefix + piece if prefix.endswith(separator) else prefix + separator + piece


def _leaf(path: str, alias: str, offset: int, separator: str) -> ImportLeaf:
    path = path.removesuffix(separator + "self").removeprefix(separator)
    module, _, name = path.rpartition(separator)
    if name in _EVERYTHING:
        return ImportLeaf(module, "*", None, offset)
    local = None if alias == "_" else alias or name
    return ImportLeaf(module, name, local, offset) if module else ImportLeaf(path, None, local, offset)
