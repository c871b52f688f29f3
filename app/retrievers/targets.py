"""The symbols that a question is about: its operand, or the names and words in it, looked up among the definitions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from app.domain.code import SymbolKind
from app.domain.query import Relation, RetrievalQuery
from app.domain.symbol_id import file_symbol_id
from app.domain.words import folded
from app.retrievers.scope import scope_arguments
from app.storage.engine import Connection

MOST_TARGETS: Final = 50

_EXTENSIONS: Final = frozenset({"py", "js", "ts", "go", "rs", "c", "h", "rb", "php", "cs", "java", "cpp", "tsx"})
_FOLDER_FILE: Final = "(/(__init__|index|mod))?"
"""Files that stand for their folder."""

_NEVER_OF_MODULES: Final = (Relation.DECORATES, Relation.INSTANTIATES, Relation.OVERRIDES)

CENTRALITY: Final = """
    LEFT JOIN centrality z ON z.repository_id = c.repository_id AND z.branch_id = s.branch_id AND z.symbol_id = c.symbol_id
        AND z.from_gen <= s.generation AND z.to_gen > s.generation
"""

# The filters restrict what is shown, not what is followed: LIVE without them.
LIVE_ANYWHERE: Final = """
    JOIN file f ON f.repository_id = c.repository_id AND f.file_id = c.file_id AND f.branch_id = s.branch_id
        AND f.from_gen <= s.generation AND f.to_gen > s.generation
"""

UNFILTERED_SCOPE: Final = """
    WITH scope AS (
        SELECT * FROM unnest($1::int[], $2::smallint[], $3::int[]) AS s(repository_id, branch_id, generation)
    )
"""

BY_NAME: Final = f"""{UNFILTERED_SCOPE}
    SELECT c.repository_id, c.file_id, c.symbol_id, c.name, c.qualified, c.kind, c.name_line, f.path, COALESCE(z.value, 0) AS centrality
    FROM scope s
    JOIN symbol c ON c.repository_id = s.repository_id AND c.lname = ANY($4::text[])
    {LIVE_ANYWHERE} {CENTRALITY}
    ORDER BY centrality DESC, f.path, c.ordinal
    LIMIT 1000
"""

BY_FILE: Final = f"""{UNFILTERED_SCOPE}
    SELECT f.repository_id, f.file_id, c.symbol_id, c.name, c.qualified, c.kind, c.name_line, f.path, COALESCE(z.value, 0) AS centrality
    FROM scope s
    JOIN file f ON f.repository_id = s.repository_id AND f.branch_id = s.branch_id AND f.from_gen <= s.generation
        AND f.to_gen > s.generation AND f.path ~ $4
    LEFT JOIN symbol c ON c.repository_id = s.repository_id AND c.file_id = f.file_id
    {CENTRALITY}
    ORDER BY f.path, c.ordinal
    LIMIT 1000
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A symbol that the question is about."""

    repository_id: int
    file_id: int
    symbol_id: int
    name: str
    qualified: str
    kind: SymbolKind
    line: int
    path: str
    centrality: float


@dataclass(frozen=True, slots=True)
class Targets:
    """The symbols that a question's operand or words resolve to, most central first; several candidates stay several.

    ``names`` are the bare names to look for where nothing could be resolved.
    """

    symbols: tuple[Target, ...]
    names: tuple[str, ...]
    modules: tuple[tuple[int, int], ...] = ()

    def first(self, count: int) -> Targets:
        """The most central ones."""
        return Targets(self.symbols[:count], self.names, self.modules)


async def resolve_targets(connection: Connection, query: RetrievalQuery) -> Targets:
    """Resolve the operand, or without one the identifiers and words of the question, to symbols."""
    operands = query.classification.operands
    in_file = Targets((), ())
    if operands and (place := _place(operands[0])) and query.classification.relation not in _NEVER_OF_MODULES:
        in_file = await _file_targets(connection, query, place)
        if in_file.modules and not _may_be_member(operands[0], query.classification.relation):
            return in_file
    names = operands[:1] or tuple(written for written, _ in query.terms.identifiers) or (*query.terms.words, *query.terms.wholes)
    segments = {name: _segments(name) for name in names}
    rows = await connection.fetch(BY_NAME, *scope_arguments(query)[:3], sorted({folded(parts[-1]) for parts in segments.values()}))
    candidates = [_target(row) for row in rows]
    chosen = [target for parts in segments.values() for target in _matching(candidates, parts)]
    symbols = tuple(dict.fromkeys(chosen))[:MOST_TARGETS]
    bare = tuple(sorted({target.name for target in symbols} | {parts[-1] for parts in segments.values()}))
    return Targets((*in_file.symbols, *symbols), bare, in_file.modules)


def _place(operand: str) -> str:
    """A pattern of the files that an operand is the path, or the dotted name, of; empty for another name. ``Class.method`` is no module."""
    if _is_path(operand):
        return f"(^|/){re.escape(operand.strip('/'))}$"
    parts = operand.split(".")
    if len(parts) < 2 or not all(part.isidentifier() and part == part.lower() for part in parts):
        return ""
    return f"(^|/){'/'.join(map(re.escape, parts))}{_FOLDER_FILE}[.][^./]+$"


def _is_path(operand: str) -> bool:
    return "/" in operand or operand.rpartition(".")[2] in _EXTENSIONS


def _may_be_member(operand: str, relation: Relation | None) -> bool:
    """Whether a dotted name may as well be ``object.member``, which nobody imports."""
    return not _is_path(operand) and operand.count(".") == 1 and relation is not Relation.IMPORTS


def _segments(name: str) -> list[str]:
    parts = [part for part in name.replace("::", ".").replace("#", ".").replace("->", ".").rstrip("().").split(".") if part]
    return parts or [name]


def _matching(candidates: Sequence[Target], parts: Sequence[str]) -> list[Target]:
    """Candidates of the last segment's name, as written when there are any; of those the ones in the named parent when there are any."""
    named = [target for target in candidates if target.name == parts[-1]] or [
        target for target in candidates if folded(target.name) == folded(parts[-1])
    ]
    if len(parts) > 1:
        return [target for target in named if _within(target, parts[-2])] or named
    return named


def _within(target: Target, parent: str) -> bool:
    file_name = target.path.rpartition("/")[2].partition(".")[0]
    return parent in target.qualified.split(".")[:-1] or parent == file_name


async def _file_targets(connection: Connection, query: RetrievalQuery, place: str) -> Targets:
    rows = await connection.fetch(BY_FILE, *scope_arguments(query)[:3], place)
    targets = tuple(_target(row) for row in rows if row["symbol_id"] is not None)
    modules = tuple(dict.fromkeys((row["repository_id"], file_symbol_id(row["path"])) for row in rows))
    return Targets(targets, (), modules)


def _target(row: asyncpg.Record) -> Target:
    return Target(
        row["repository_id"],
        row["file_id"],
        row["symbol_id"],
        row["name"],
        row["qualified"],
        SymbolKind(row["kind"]),
        row["name_line"],
        row["path"],
        row["centrality"],
    )
