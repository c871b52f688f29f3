"""Every filter with every retriever, against a plain computation over what is stored: the same chunks, no more and no fewer."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import re2
from pydantic import SecretStr

from app import bootstrap
from app.config import Settings
from app.domain.query import Dedupe, Filters, Intent, Modality, SearchRequest
from app.indexing.parse import ParsePool
from app.search.query_language import understand
from tests.integration.conftest import Bench

pytestmark = pytest.mark.anyio

CORPUS = Path(__file__).parents[1] / "relevance" / "corpus"
PATIENCE_MS = 10_000
ALL = 100


@dataclass
class StoredChunk:
    """One chunk of the index with all that a filter can ask of it."""

    path: str
    language: str | None
    start_line: int
    text: str
    symbols: list[tuple[str, str]] = field(default_factory=list)


@pytest.fixture
async def meaning_bench(database_url: str, parse_pool: ParsePool, tmp_path: Path) -> AsyncIterator[Bench]:
    """The corpus of the golden rankings, indexed, with its embeddings."""
    tree = shutil.copytree(CORPUS, tmp_path / "ferry", ignore=shutil.ignore_patterns("__pycache__"))
    settings = Settings(database_url=SecretStr(database_url), embedder="static")
    async with bootstrap.backend(settings) as backend:
        bench = Bench(backend, bootstrap.compose(backend), parse_pool)
        await bench.index(tree, "ferry")
        yield bench


async def stored_chunks(bench: Bench) -> dict[tuple[str, int], StoredChunk]:
    """By path and first line."""
    found: dict[tuple[str, int], StoredChunk] = {}
    by_id: dict[int, StoredChunk] = {}
    async with bench.backend.connect() as connection:
        for row in await connection.fetch(
            "SELECT c.chunk_id, f.path, f.language, c.start_line, c.text FROM chunk c JOIN file f USING (repository_id, file_id)"
        ):
            chunk = StoredChunk(row["path"], row["language"], row["start_line"], row["text"])
            found[chunk.path, chunk.start_line] = by_id[row["chunk_id"]] = chunk
        for row in await connection.fetch("SELECT chunk_id, name, kind FROM symbol"):
            by_id[row["chunk_id"]].symbols.append((row["name"], row["kind"]))
    return found


def under(glob: str) -> Callable[[StoredChunk], bool]:
    """What git itself says of the paths."""
    paths = [path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*") if path.is_file()]
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        Path(root, ".git", "info", "exclude").write_text(glob + "\n")
        told = subprocess.run(
            ["git", "check-ignore", "--no-index", "--stdin"], input="\n".join(paths), cwd=root, capture_output=True, text=True, check=False
        )
    matching = set(told.stdout.splitlines())
    assert matching
    return lambda chunk: chunk.path in matching


def both(first: Callable[[StoredChunk], bool], second: Callable[[StoredChunk], bool]) -> Callable[[StoredChunk], bool]:
    return lambda chunk: first(chunk) and second(chunk)


FILTERS: dict[str, Callable[[StoredChunk], bool]] = {
    "lang:python": lambda chunk: chunk.language == "python",
    "lang:go,rust": lambda chunk: chunk.language in ("go", "rust"),
    "-lang:python": lambda chunk: chunk.language != "python",
    "-lang:python -lang:markdown": lambda chunk: chunk.language not in ("python", "markdown"),
    "file:ferry/**": under("/ferry/**"),
    "file:*.py": under("*.py"),
    "file:http": under("http"),
    "file:web/src/*.ts": under("/web/src/*.ts"),
    "-file:tests": lambda chunk: not chunk.path.startswith("tests/"),
    "file:ferry -file:*_client.py": both(under("ferry"), lambda chunk: not chunk.path.endswith("_client.py")),
    "kind:class": lambda chunk: any(kind == "class" for _, kind in chunk.symbols),
    "kind:function,method": lambda chunk: any(kind in ("function", "method") for _, kind in chunk.symbols),
    "symbol:*booking*": lambda chunk: any("booking" in name for name, _ in chunk.symbols),
    "symbol:Booking": lambda chunk: any(name == "Booking" for name, _ in chunk.symbols),
    "kind:function symbol:*e*": lambda chunk: any(kind == "function" and "e" in name for name, kind in chunk.symbols),
    "-booking": lambda chunk: "booking" not in chunk.text.lower(),
    "case:yes -Booking": lambda chunk: "Booking" not in chunk.text,
    "word:yes -the": lambda chunk: re2.search(r"(?i)(^|[^\pL\pN_])the($|[^\pL\pN_])", chunk.text) is None,
    '-"return " lang:python': lambda chunk: chunk.language == "python" and "return " not in chunk.text.lower(),
    "repo:fer* lang:go": lambda chunk: chunk.language == "go",
    "-repo:ferry": lambda chunk: False,
    "lang:cobol": lambda chunk: False,
}

QUESTIONS: dict[str, tuple[Modality, ...]] = {
    "how are bookings stored and cancelled": (Modality.SEMANTIC, Modality.TEXT, Modality.STRUCTURAL),
    "where is Booking used": (Modality.GRAPH,),
    "the": (Modality.TEXT,),
    "def": (Modality.STRUCTURAL,),
}


async def chunks_found(bench: Bench, query: str, modality: Modality, **request: Any) -> set[tuple[str, int]]:
    """Every chunk of every page."""
    asked = SearchRequest(query, modalities=(modality,), dedupe=Dedupe.NONE, limit=ALL, timeout_ms=PATIENCE_MS, **request)
    found: set[tuple[str, int]] = set()
    while True:
        answer = await bench.service.search.search(asked)
        assert not answer.partial
        found |= {(result.path, result.start_line) for result in answer.results}
        if answer.next_cursor is None:
            return found
        assert len(answer.results) == ALL, "a page that is not the last is full"
        asked = replace(asked, cursor=answer.next_cursor)


async def test_a_filtered_answer_is_the_unfiltered_one_without_the_rest(meaning_bench: Bench) -> None:
    stored = await stored_chunks(meaning_bench)
    assert len(stored) > 50
    for question, modalities in QUESTIONS.items():
        for modality in modalities:
            unfiltered = await chunks_found(meaning_bench, question, modality)
            for filters, passes in FILTERS.items():
                found = await chunks_found(meaning_bench, f"{question} {filters}", modality)
                expected = {key for key in unfiltered if passes(stored[key])}
                said = f"{modality}: {question} {filters}"
                assert all(passes(stored[key]) for key in found), said
                if modality is Modality.STRUCTURAL:
                    # A file found by its name shows its first chunk, or another one that passes.
                    expected = {(path, 0) for path, _ in expected}
                    found = {(path, 0) for path, _ in found}
                    assert expected <= found, said
                else:
                    assert found == expected, said


EXPRESSIONS: dict[str, Callable[[str], bool]] = {
    "booking or invoice": lambda text: "booking" in text.lower() or "invoice" in text.lower(),
    '"Booking" or "Invoice"': lambda text: "Booking" in text or "Invoice" in text,
    "(booking or invoice) amount": lambda text: "amount" in text.lower() and ("booking" in text.lower() or "invoice" in text.lower()),
    "(booking or invoice) -amount": lambda text: "amount" not in text.lower() and ("booking" in text.lower() or "invoice" in text.lower()),
    r"regex:/def \w+_booking/ self": lambda text: re.search(r"def \w+_booking", text) is not None and "self" in text.lower(),
    r"regex:/class \w+/ -regex:/raise/": lambda text: re.search(r"class \w+", text) is not None and "raise" not in text,
    "-(class or def) import": lambda text: "import" in text.lower() and "class" not in text.lower() and "def" not in text.lower(),
    "case:yes booking or invoice": lambda text: "booking" in text or "invoice" in text,
    "word:yes cat or a": lambda text: re2.search(r"(?i)(^|[^\pL\pM\pN\p{Pc}])(cat|a)($|[^\pL\pM\pN\p{Pc}])", text) is not None,
    '"no such string" or "nor this one"': lambda text: False,
}


async def test_expressions_are_decided_by_the_text_of_chunks(meaning_bench: Bench) -> None:
    stored = await stored_chunks(meaning_bench)
    for expression, passes in EXPRESSIONS.items():
        expected = {key for key, chunk in stored.items() if passes(chunk.text)}
        found: set[tuple[str, int]] = set()
        asked = SearchRequest(expression, dedupe=Dedupe.NONE, limit=ALL, timeout_ms=PATIENCE_MS)
        answer = await meaning_bench.service.search.search(asked)
        found = {(result.path, result.start_line) for result in answer.results}
        while answer.next_cursor:
            answer = await meaning_bench.service.search.search(replace(asked, cursor=answer.next_cursor))
            found |= {(result.path, result.start_line) for result in answer.results}
        assert found == expected, expression
        assert (answer.routing.classification.intent, answer.routing.classification.rule) == (Intent.EXACT_MATCH, "expression")
        assert understand(expression, Filters()).expression is not None
        assert all(result.highlights for result in answer.results)
        if not expected:
            assert answer.absence is not None
            assert answer.absence["proven"]


async def test_filters_alone_list_what_passes(meaning_bench: Bench) -> None:
    stored = await stored_chunks(meaning_bench)
    search = meaning_bench.service.search.search
    lists: dict[str, Callable[[StoredChunk], bool]] = {
        "file:ferry/**": under("/ferry/**"),
        "lang:go": lambda chunk: chunk.language == "go",
        "lang:python kind:class": lambda chunk: chunk.language == "python" and any(kind == "class" for _, kind in chunk.symbols),
        "symbol:*Booking*": lambda chunk: any("Booking" in name for name, _ in chunk.symbols),
        "lang:go -package": lambda chunk: chunk.language == "go" and "package" not in chunk.text.lower(),
    }
    for query, passes in lists.items():
        answer = await search(SearchRequest(query, limit=ALL, timeout_ms=PATIENCE_MS))
        expected = {path for (path, _), chunk in stored.items() if passes(chunk)}
        assert {result.path for result in answer.results} == expected, query
        assert (answer.total.results, answer.total.exact) == (len(expected), True)
        assert answer.routing.classification.rule == "filters"
        assert answer.warnings == ()
