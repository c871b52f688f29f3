"""Questions for measuring speed, drawn from what is indexed: the same ones for the same index, none twice while there are others.

They are for timing only: nobody has judged their answers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final

from app.domain.words import symbol_words
from app.storage.engine import Connection

SEED: Final = 5

_DEFINED: Final = """
    SELECT name FROM symbol WHERE repository_id = $1 AND kind IN ('class', 'function', 'method', 'struct', 'interface') AND length(name) > 4
    GROUP BY name ORDER BY md5(name) LIMIT $2
"""
_CALLED: Final = """
    SELECT s.name FROM edge e JOIN symbol s ON s.repository_id = e.repository_id AND s.symbol_id = e.target
    WHERE e.repository_id = $1 AND e.kind = 'calls' AND length(s.name) > 4 GROUP BY s.name ORDER BY md5(s.name) LIMIT $2
"""
_TEXTS: Final = "SELECT text FROM chunk WHERE repository_id = $1 ORDER BY md5(chunk_id::text) LIMIT $2"
_DOCS: Final = """
    SELECT DISTINCT doc, md5(doc) AS position FROM symbol
    WHERE repository_id = $1 AND array_length(string_to_array(doc, ' '), 1) BETWEEN 4 AND 40
    ORDER BY position LIMIT $2
"""
_WORDS: Final = re.compile(r"[\w-]+")
_FRAGMENT: Final = re.compile(r"\S{4}.{8,26}\S(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Route:
    """A way through the service, and the bodies of requests that take it; ``strategy`` is what the answers should say."""

    name: str
    strategy: str
    bodies: Sequence[dict[str, Any]]

    def take(self, start: int, count: int) -> list[dict[str, Any]]:
        """``count`` bodies from ``start`` on; from the beginning again where there are not so many."""
        return list(islice(cycle(self.bodies), start, start + count))


async def draw(connection: Connection, repository: str, count: int) -> list[Route]:
    """At most ``count`` bodies for each route."""
    known = await connection.fetchval("SELECT id FROM repository WHERE name = $1", repository)

    async def column(statement: str) -> list[str]:
        return [row[0] for row in await connection.fetch(statement, known, count)]

    defined, called, texts, docs = [await column(statement) for statement in (_DEFINED, _CALLED, _TEXTS, _DOCS)]
    questions = [f"how to {question}" for question in map(_first_words, docs)]
    rows: list[tuple[str, str, list[dict[str, Any]]]] = [
        ("direct, structural", "direct", [{"query": f"where is {name} defined"} for name in defined]),
        ("direct, graph", "direct", [{"query": f"who calls {name}"} for name in called]),
        ("direct, literal", "direct", [{"query": literal, "literal": True} for literal in _literals(texts)]),
        ("direct, regex", "direct", [{"query": pattern, "filters": {"regex": True}} for pattern in _patterns(defined)]),
        ("fused, balanced", "weighted_rrf", [{"query": question} for question in questions]),
        ("fused, thorough", "weighted_rrf", [{"query": question, "preset": "thorough"} for question in reversed(questions)]),
    ]
    return [Route(name, strategy, [body | {"repositories": [repository]} for body in bodies]) for name, strategy, bodies in rows]


def _first_words(doc: str) -> str:
    words = _WORDS.findall(doc.split("\n")[0])[:10]
    return " ".join(words).lower()


def _literals(texts: Sequence[str]) -> Iterator[str]:
    """A piece of a line of each text, cut at blanks."""
    dice = random.Random(SEED)  # noqa: S311
    for text in texts:
        if pieces := _FRAGMENT.findall(text):
            yield dice.choice(pieces)


def _patterns(names: Sequence[str]) -> Iterator[str]:
    """Names with their middle left open: ``get_\\w+_create``, ``class \\w+Admin``."""
    for name in names:
        parts = name.strip("_").split("_")
        if len(parts) > 2 and all(parts):
            yield rf"{parts[0]}_\w+_{parts[-1]}"
        elif name[0].isupper() and len(symbol_words(name)) > 1 and (tail := re.search(r"[A-Z][a-z]+$", name)):
            yield rf"class \w+{tail.group()}\b"
