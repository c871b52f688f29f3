"""Questions for definitions of a kind, by signature, base and place; ``constructs.toml`` holds their shapes, language by language."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import asyncpg
import re2

from app.domain.code import PathClass, ReferenceKind
from app.domain.globs import glob_regex
from app.domain.query import Modality, RetrievalQuery
from app.domain.ranking import ChunkHit, Evidence, FileKey
from app.retrievers.files import FoundChunk
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, scope_arguments
from app.storage.engine import Connection

MOST_FOUND: Final = 500
LONGEST: Final = 300

_TYPE_NAME: Final = r"\y{name}\y"

# A base is found by its name as written in the list of bases, whether or not it could be resolved.
FIND: Final = f"""{SCOPE}
    SELECT c.repository_id, c.file_id, c.chunk_id, c.qualified, c.name_line, f.path, f.language, f.path_class,
           COALESCE(z.value, 0) AS centrality
    FROM scope s
    JOIN symbol c ON c.repository_id = s.repository_id AND (${FIRST_FREE}::text[] IS NULL OR c.kind = ANY(${FIRST_FREE}))
    {LIVE} {SYMBOL_FILTER}
    LEFT JOIN symbol o ON o.repository_id = c.repository_id AND o.file_id = c.file_id AND o.ordinal = c.container
    LEFT JOIN centrality z ON z.repository_id = c.repository_id AND z.branch_id = s.branch_id AND z.symbol_id = c.symbol_id
        AND z.from_gen <= s.generation AND z.to_gen > s.generation
    WHERE ($7::text[] IS NULL OR c.kind = ANY($7)) AND ($8::text[] IS NULL OR c.name ~ ANY($8))
      AND NOT EXISTS (SELECT 1 FROM unnest(${FIRST_FREE + 1}::text[]) AS p(pattern) WHERE c.signature !~ p.pattern)
      AND (${FIRST_FREE + 2}::text IS NULL OR f.path ~ ${FIRST_FREE + 2} OR o.name = ${FIRST_FREE + 3})
      AND (${FIRST_FREE + 4}::text IS NULL OR EXISTS (
        SELECT 1 FROM reference r
        WHERE r.repository_id = c.repository_id AND r.file_id = c.file_id AND r.enclosing = c.ordinal
          AND r.name = ${FIRST_FREE + 4} AND r.kind = '{ReferenceKind.INHERIT}'
      ))
    ORDER BY f.path_class <> 'source', centrality DESC, f.path, c.ordinal
    LIMIT {MOST_FOUND + 1}
"""


@dataclass(frozen=True, slots=True)
class Construct:
    """What is asked for. ``signature``: patterns that the signature must match; ``place``: a path or a container's name."""

    kinds: tuple[str, ...]
    signature: tuple[str, ...] = ()
    base: str | None = None
    place: str | None = None


def construct_of(query: RetrievalQuery) -> Construct | None:
    """The construct that a query asks for, by its words or, where it has none, by its filters for kinds and names alone."""
    if query.literal is not None:
        return None
    if (query.filters.kinds or query.filters.symbols) and not query.terms.words and not query.terms.identifiers:
        return Construct(query.filters.kinds)
    return read_construct(query.text)


def read_construct(text: str) -> Construct | None:
    """The construct that a question asks for; None unless all of it was understood, and it says more than a kind."""
    question = " ".join(text.strip().rstrip("?？.。!").split())
    if len(question) > LONGEST:
        return None
    for shape in _shapes():
        match = shape.pattern.match(question)
        if match is not None:
            construct = shape.construct(match.groupdict())
            if construct.signature or construct.base or construct.place:
                return construct
    return None


@dataclass(frozen=True, slots=True)
class _Shape:
    pattern: Any
    kinds: Sequence[tuple[Any, tuple[str, ...]]]
    modifiers: Sequence[tuple[Any, str]]

    def construct(self, groups: Mapping[str, str | None]) -> Construct:
        kinds = next(kinds for pattern, kinds in self.kinds if pattern.fullmatch(groups["kind"] or ""))
        words = groups.get("modifiers") or ""
        signature = [modifier for pattern, modifier in self.modifiers if pattern.search(words)]
        if returns := groups.get("returns"):
            name = _TYPE_NAME.format(name=_quoted(returns))
            signature.append(rf"\)[^)]*{name}[^)]*$|^[^(]*{name}[^(]*\(")
        if takes := groups.get("takes"):
            signature.append(rf"\([^)]*{_TYPE_NAME.format(name=_quoted(takes))}")
        return Construct(kinds, tuple(signature), _last(groups.get("base")), groups.get("place"))


@cache
def _shapes() -> Sequence[_Shape]:
    table = tomllib.loads(files("app.retrievers").joinpath("constructs.toml").read_text("utf-8"))
    options = re2.Options()
    options.case_sensitive = False
    shapes = []
    for language in table["language"]:
        kind = "(?:" + "|".join(language["kinds"]) + ")"
        modifier = "(?:" + "|".join(language["modifiers"]) + ")"
        kinds = [(re2.compile(pattern, options), tuple(kinds)) for pattern, kinds in language["kinds"].items()]
        modifiers = [(re2.compile(pattern, options), table["modifiers"][name]) for pattern, name in language["modifiers"].items()]
        for pattern in language["patterns"]:
            shapes.append(_Shape(re2.compile(_filled(pattern, kind, modifier), options), kinds, modifiers))
    return shapes


def _filled(pattern: str, kind: str, modifier: str) -> str:
    return pattern.replace("<<kind>>", kind).replace("<<modifier>>", modifier)


async def find_constructs(connection: Connection, query: RetrievalQuery, wanted: Construct) -> tuple[list[FoundChunk], bool]:
    """The chunks that define what is wanted, source first and then the most central, and whether these are all."""
    place = wanted.place.strip("/`'\"") if wanted.place else None
    rows = await connection.fetch(
        FIND,
        *scope_arguments(query),
        list(wanted.kinds) or None,
        list(wanted.signature),
        glob_regex(place) if place else None,
        _last(place),
        wanted.base,
    )
    return [_found(row, position) for position, row in enumerate(rows[:MOST_FOUND])], len(rows) <= MOST_FOUND


def _found(row: asyncpg.Record, position: int) -> FoundChunk:
    score = 1.0 / (1.0 + position)
    evidence = Evidence(Modality.STRUCTURAL, score, "definition", line=row["name_line"], symbol=row["qualified"])
    key = FileKey(row["repository_id"], row["path"])
    return FoundChunk(key, row["file_id"], row["language"], PathClass(row["path_class"]), ChunkHit(row["chunk_id"], score, (evidence,)))


def _quoted(name: str) -> str:
    """A name as a part of a pattern that PostgreSQL reads."""
    return "".join(sign if sign.isalnum() or sign == "_" else "\\" + sign for sign in name)


def _last(name: str | None) -> str | None:
    return None if name is None else name.strip("`'\"").replace("::", ".").rpartition(".")[2]
