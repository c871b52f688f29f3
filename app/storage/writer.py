"""Writes the next generation of a branch beside the current one and publishes it in one transaction.

Readers see generation ``current_gen``; everything written here carries ``from_gen = current_gen + 1`` or is content that no live
``file`` row names yet, so that a killed run leaves nothing that a reader could meet. Content is committed segment by segment and is
found again by (path, sha256, extractor): the next run resumes after the last segment.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.domain.analysis import FileAnalysis, Postings
from app.domain.code import Outcome
from app.domain.errors import RepositoryNotFound
from app.domain.facts import ResolvedEdge
from app.domain.index import WORK_TREE, Coverage, SkipReason
from app.domain.words import folded
from app.storage import refs
from app.storage.binary_copy import fetch_columns
from app.storage.engine import Connection
from app.storage.facts import FactReader
from app.storage.generations import BRANCH_TABLES, FOREVER, SHOWN_FIRST
from app.storage.packed import pack
from app.storage.posting_rows import bucket_bits, posting_rows

Row = tuple[object, ...]

_CONTENT_TABLES = ("file_version", "chunk", "symbol", "reference", "import", "binding")


# A run shows files before it writes anything else of a generation, and edges only where files came or went: the larger tables need no look.
BEGUN = " UNION ALL ".join(
    f"(SELECT true FROM {table} WHERE repository_id = $1 AND branch_id = $2 AND "
    f"(from_gen > $3 OR to_gen > $3 AND to_gen < {FOREVER}) LIMIT 1)"
    for table in SHOWN_FIRST
)

COVERAGE = """
    SELECT v.outcome, v.reason, v.language, count(*)::int AS files, sum(v.chunks)::int AS chunks
    FROM file f JOIN file_version v ON v.repository_id = f.repository_id AND v.file_id = f.file_id
    WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
    GROUP BY 1, 2, 3
"""

OTHER_LINKS = """
    SELECT DISTINCT target
    FROM edge
    WHERE repository_id = $1 AND branch_id = $2 AND file_id = ANY($4::int[]) AND (from_gen = $3 OR to_gen = $3)
    GROUP BY source, target
    HAVING sum(CASE from_gen WHEN $3 THEN 1 ELSE -1 END) <> 0
"""
EXTERNALS_AMONG = "SELECT count(*) FROM external WHERE repository_id = $1 AND symbol_id = ANY($2::bigint[])"


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A file version that is already in the store."""

    file_id: int
    sha256: bytes


async def stored_versions(connection: Connection, repository_id: int, extractor: str) -> dict[str, list[StoredVersion]]:
    """Every file version of a repository and an extractor, by path."""
    versions: dict[str, list[StoredVersion]] = {}
    rows = await connection.fetch(
        "SELECT path, file_id, sha256 FROM file_version WHERE repository_id = $1 AND extractor = $2", repository_id, extractor
    )
    for row in rows:
        versions.setdefault(row["path"], []).append(StoredVersion(row["file_id"], row["sha256"]))
    return versions


def known_digests(stored: Mapping[str, Sequence[StoredVersion]]) -> dict[str, frozenset[bytes]]:
    """The digests of each path's versions."""
    return {path: frozenset([version.sha256 for version in versions]) for path, versions in stored.items()}


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file's key in the store; its chunks have consecutive ids from ``first_chunk_id`` on."""

    file_id: int
    first_chunk_id: int


@dataclass(slots=True)
class _Batch:
    """Rows of the content tables that wait for one COPY each."""

    file_version: list[Row] = field(default_factory=list)
    chunk: list[Row] = field(default_factory=list)
    symbol: list[Row] = field(default_factory=list)
    reference: list[Row] = field(default_factory=list)
    imports: list[Row] = field(default_factory=list)
    binding: list[Row] = field(default_factory=list)


class IndexWriter:
    """One index run's access to the store; one connection, one repository, one branch."""

    def __init__(self, connection: Connection, repository_id: int, branch_id: int, extractor: str, ref: str = WORK_TREE) -> None:
        self._connection = connection
        self._repository_id = repository_id
        self._branch_id = branch_id
        self._extractor = extractor
        self._ref = ref
        self._config_version = 0
        self.current_gen = 0
        self.repository: object = None
        """Tells repositories apart, also those of another database with the same id."""

    @property
    def connection(self) -> Connection:
        """The run's own connection."""
        return self._connection

    @property
    def next_facts(self) -> FactReader:
        """Reads what the next generation shows."""
        return FactReader(self._connection, self._repository_id, self._branch_id, self.next_gen)

    @property
    def next_gen(self) -> int:
        return self.current_gen + 1

    async def begin(self) -> None:
        """Learn the current generation and remove what a killed run left of the next one."""
        state = await self._connection.fetchrow(
            "SELECT b.current_gen, r.created_at, r.config_version FROM branch b JOIN repository r ON r.id = b.repository_id "
            "WHERE b.repository_id = $1 AND b.branch_id = $2",
            self._repository_id,
            self._branch_id,
        )
        if state is None:
            raise RepositoryNotFound("the repository was deleted before its index run")
        self.current_gen, self.repository = state["current_gen"], (self._repository_id, state["created_at"])
        self._config_version = state["config_version"]
        at = (self._repository_id, self._branch_id, self.current_gen)
        if not await self._connection.fetchval(BEGUN, *at):
            return
        async with self._connection.transaction():
            for table in BRANCH_TABLES:
                where = "repository_id = $1 AND branch_id = $2"
                await self._connection.execute(f"DELETE FROM {table} WHERE {where} AND from_gen > $3", *at)
                await self._connection.execute(
                    f"UPDATE {table} SET to_gen = {FOREVER} WHERE {where} AND to_gen > $3 AND to_gen < {FOREVER}", *at
                )

    async def stored_versions(self) -> dict[str, list[StoredVersion]]:
        """Every file version of this extractor, by path."""
        return await stored_versions(self._connection, self._repository_id, self._extractor)

    async def live_files(self) -> dict[str, int]:
        """path → file id of the current generation."""
        rows = await self._connection.fetch(
            "SELECT path, file_id FROM file WHERE repository_id = $1 AND branch_id = $2 AND from_gen <= $3 AND to_gen > $3",
            self._repository_id,
            self._branch_id,
            self.current_gen,
        )
        return {row["path"]: row["file_id"] for row in rows}

    @asynccontextmanager
    async def segment(self) -> AsyncIterator[SegmentWriter]:
        """A transaction that adds the content of some files and their postings."""
        async with self._connection.transaction():
            segment_id = await self._connection.fetchval(
                "UPDATE repository SET next_segment_id = next_segment_id + 1 WHERE id = $1 RETURNING next_segment_id - 1",
                self._repository_id,
            )
            yield SegmentWriter(self._connection, self._repository_id, segment_id, self._extractor)

    async def show_files(self, versions: Mapping[str, int], skipped: Mapping[str, SkipReason]) -> tuple[set[int], set[int]]:
        """Let the next generation consist of exactly these files; returns the file ids that came and that went."""
        live = await self.live_files()
        gone = [path for path, file_id in live.items() if versions.get(path) != file_id]
        come = [file_id for path, file_id in versions.items() if live.get(path) != file_id]
        arguments = (self._repository_id, self._branch_id, self.next_gen)
        async with self._connection.transaction():
            await self._connection.execute(
                "UPDATE file SET to_gen = $3 WHERE repository_id = $1 AND branch_id = $2 AND path = ANY($4::text[]) AND to_gen > $3",
                *arguments,
                gone,
            )
            await self._connection.execute(
                "INSERT INTO file (repository_id, branch_id, path, from_gen, file_id, language, path_class) "
                "SELECT repository_id, $2, path, $3, file_id, language, path_class FROM file_version "
                "WHERE repository_id = $1 AND file_id = ANY($4::int[])",
                *arguments,
                come,
            )
            await self._show_skipped(skipped)
        return set(come), {live[path] for path in gone}

    async def _show_skipped(self, skipped: Mapping[str, SkipReason]) -> None:
        arguments = (self._repository_id, self._branch_id, self.next_gen)
        rows = await self._connection.fetch(
            "SELECT path, reason FROM skipped_file WHERE repository_id = $1 AND branch_id = $2 AND to_gen > $3 AND from_gen < $3",
            *arguments,
        )
        stored = {row["path"]: row["reason"] for row in rows}
        gone = [path for path, reason in stored.items() if skipped.get(path) != reason]
        come = [(path, str(reason)) for path, reason in skipped.items() if stored.get(path) != reason]
        await self._connection.execute(
            "UPDATE skipped_file SET to_gen = $3 WHERE repository_id = $1 AND branch_id = $2 AND path = ANY($4::text[]) AND to_gen > $3",
            *arguments,
            gone,
        )
        await self._connection.copy_records_to_table(
            "skipped_file",
            columns=["repository_id", "branch_id", "path", "reason", "from_gen"],
            records=[(self._repository_id, self._branch_id, path, reason, self.next_gen) for path, reason in come],
        )

    async def end_edges(self, file_ids: Iterable[int]) -> None:
        """End the live edges and links whose site is in these files."""
        arguments = (self._repository_id, self._branch_id, self.next_gen, list(file_ids))
        for table in ("edge", "file_link"):
            await self._connection.execute(
                f"UPDATE {table} SET to_gen = $3 WHERE repository_id = $1 AND branch_id = $2 AND file_id = ANY($4::int[]) AND to_gen > $3",
                *arguments,
            )

    async def add_edges(self, edges: Sequence[tuple[int, ResolvedEdge]]) -> None:
        """Write edges, each with the file of its site."""
        if not edges:
            return
        prefix = (self._repository_id, self._branch_id)
        await self._connection.copy_records_to_table(
            "edge",
            columns=["repository_id", "branch_id", "source", "target", "kind", "class", "file_id", "reference", "line", "from_gen"],
            records=(
                (*prefix, e.source, e.target, str(e.kind), str(e.edge_class), file_id, e.reference, e.line, self.next_gen)
                for file_id, e in edges
            ),
        )

    async def add_externals(self, names: Mapping[int, tuple[str, str]]) -> None:
        """Name what edges lead to outside of the repository: symbol id → (language, dotted name)."""
        if names:
            await self._connection.execute(
                "INSERT INTO external (repository_id, symbol_id, language, name) "
                "SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[]) ON CONFLICT DO NOTHING",
                self._repository_id,
                list(names),
                [language for language, _ in names.values()],
                [name for _, name in names.values()],
            )

    async def add_links(self, links: Mapping[tuple[int, str], int]) -> None:
        """Write how many edges lead from a file, by its id, to another, by its path."""
        if links:
            await self._connection.copy_records_to_table(
                "file_link",
                columns=["repository_id", "branch_id", "file_id", "target", "edges", "from_gen"],
                records=(
                    (self._repository_id, self._branch_id, file_id, target, edges, self.next_gen)
                    for (file_id, target), edges in links.items()
                ),
            )

    async def has_other_links(self, file_ids: Iterable[int]) -> bool:
        """Whether what the edges of these files lead from and to differs from the current generation's, repetitions counted.

        Without what leads out of the repository, and that in a statement of its own, as in ``edge_ends``.
        """
        rows = await self._connection.fetch(OTHER_LINKS, self._repository_id, self._branch_id, self.next_gen, list(file_ids))
        targets = [row["target"] for row in rows]
        outside: int = await self._connection.fetchval(EXTERNALS_AMONG, self._repository_id, targets) if targets else 0
        return len(targets) > outside

    async def edge_ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sources and targets of every edge of the next generation but those that lead out of the repository.

        Those are taken out here: the planner knows nothing yet of the rows that this run wrote and would join them by nested loops.
        """
        sources, targets = await fetch_columns(
            self._connection,
            "SELECT source, target FROM edge WHERE repository_id = $1 AND branch_id = $2 AND from_gen <= $3 AND to_gen > $3",
            (self._repository_id, self._branch_id, self.next_gen),
            (">i8", ">i8"),
        )
        (external,) = await fetch_columns(
            self._connection, "SELECT symbol_id FROM external WHERE repository_id = $1", (self._repository_id,), (">i8",)
        )
        inside = ~np.isin(targets, external)
        return sources[inside].astype(np.int64), targets[inside].astype(np.int64)

    async def write_centrality(self, symbols: NDArray[np.int64], values: NDArray[np.float64], tolerance: float = 0.05) -> None:
        """Rewrite only the symbols whose centrality moved by more than ``tolerance``, appeared or went. ``symbols`` ascend."""
        arguments = (self._repository_id, self._branch_id, self.next_gen)
        stored = await fetch_columns(
            self._connection,
            "SELECT symbol_id, value FROM centrality WHERE repository_id = $1 AND branch_id = $2 AND to_gen > $3 AND from_gen < $3",
            arguments,
            (">i8", ">f4"),
        )
        former = np.full(len(symbols), np.nan)
        _, ours, theirs = np.intersect1d(symbols, stored[0], assume_unique=True, return_indices=True)
        former[ours] = stored[1][theirs]
        moved = ~(np.abs(former - values) <= tolerance * values)
        ended = ~np.isin(stored[0], symbols[~moved])
        async with self._connection.transaction():
            await self._connection.execute(
                "UPDATE centrality SET to_gen = $3 WHERE repository_id = $1 AND branch_id = $2 AND symbol_id = ANY($4::bigint[]) "
                "AND to_gen > $3",
                *arguments,
                stored[0][ended].tolist(),
            )
            rows = zip(map(int, symbols[moved]), map(float, values[moved]), strict=True)
            await self._connection.copy_records_to_table(
                "centrality",
                columns=["repository_id", "branch_id", "symbol_id", "value", "from_gen"],
                records=((self._repository_id, self._branch_id, symbol, value, self.next_gen) for symbol, value in rows),
            )

    async def measure_coverage(self, skipped: Mapping[str, SkipReason]) -> tuple[Coverage, int]:
        """What the next generation holds, and its number of chunks."""
        arguments = (self._repository_id, self._branch_id, self.next_gen)
        rows = await self._connection.fetch(COVERAGE, *arguments)
        by_outcome: Counter[str] = Counter()
        by_reason: Counter[str] = Counter(str(reason) for reason in skipped.values())
        by_language: Counter[str] = Counter()
        for row in rows:
            by_outcome[row["outcome"]] += row["files"]
            by_language[row["language"] or "text"] += row["files"]
            if row["reason"]:
                by_reason[row["reason"]] += row["files"]
        coverage = Coverage(
            files=by_outcome.total(),
            skipped=len(skipped),
            by_outcome={**by_outcome, str(Outcome.SKIPPED): len(skipped)},
            by_reason=dict(by_reason),
            by_language=dict(by_language),
        )
        return coverage, sum(row["chunks"] for row in rows)

    async def publish(self, revision: str, coverage: Coverage, chunks: int) -> int:
        """Make the next generation the current one; one transaction, so readers see the old or the new index whole."""
        async with self._connection.transaction():
            await self._connection.execute(
                "INSERT INTO generation (repository_id, branch_id, generation, revision, files, skipped, chunks, coverage, extractor, "
                "config_version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                self._repository_id,
                self._branch_id,
                self.next_gen,
                revision,
                coverage.files,
                coverage.skipped,
                chunks,
                json.dumps(asdict(coverage)),
                self._extractor,
                self._config_version,
            )
            await self._connection.execute(
                "UPDATE branch SET current_gen = $3 WHERE repository_id = $1 AND branch_id = $2",
                self._repository_id,
                self._branch_id,
                self.next_gen,
            )
            await refs.show(self._connection, self._repository_id, self._ref, self.next_gen, revision)
        self.current_gen += 1
        return self.current_gen


class SegmentWriter:
    """Copies file content into the store within a segment's transaction; a batch of files is one COPY per table."""

    def __init__(self, connection: Connection, repository_id: int, segment_id: int, extractor: str) -> None:
        self._connection = connection
        self._repository_id = repository_id
        self._segment_id = segment_id
        self._extractor = extractor
        self._files = 0
        self._chunks = 0
        self._first_chunk: int | None = None
        self._symbol_words: Counter[str] = Counter()
        self._file_words: Counter[str] = Counter()

    async def add(self, analyses: Sequence[FileAnalysis]) -> list[WrittenFile]:
        """Write the content of these files, all but their postings."""
        chunks = sum(len(analysis.chunks) for analysis in analyses)
        row = await self._connection.fetchrow(
            "UPDATE repository SET next_file_id = next_file_id + $2, next_chunk_id = next_chunk_id + $3 WHERE id = $1 "
            "RETURNING next_file_id - $2 AS file_id, next_chunk_id - $3 AS chunk_id",
            self._repository_id,
            len(analyses),
            chunks,
        )
        if row is None:
            raise RepositoryNotFound("the repository was deleted during its index run")
        file_id, chunk_id = row["file_id"], row["chunk_id"]
        if self._first_chunk is None:
            self._first_chunk = chunk_id
        batch = _Batch()
        written = []
        for analysis in analyses:
            self._append(batch, file_id, chunk_id, analysis)
            self._files += 1
            self._chunks += len(analysis.chunks)
            self._file_words.update(analysis.name_words)
            self._symbol_words.update(word for words in analysis.symbol_words for word in words)
            written.append(WrittenFile(file_id, chunk_id))
            file_id += 1
            chunk_id += len(analysis.chunks)
        await self._copy(batch)
        return written

    def _append(self, batch: _Batch, file_id: int, first_chunk: int, analysis: FileAnalysis) -> None:
        r = self._repository_id
        batch.file_version.append(
            (
                r,
                file_id,
                analysis.path,
                analysis.sha256,
                self._extractor,
                self._segment_id,
                analysis.language,
                str(analysis.path_class),
                str(analysis.outcome),
                str(analysis.reason) if analysis.reason else None,
                analysis.encoding,
                analysis.size,
                analysis.lines,
                first_chunk,
                len(analysis.chunks),
                list(analysis.name_words),
            )
        )
        batch.chunk.extend((r, first_chunk + i, file_id, c.start_line, c.end_line, c.text) for i, c in enumerate(analysis.chunks))
        batch.symbol.extend(
            (
                r,
                file_id,
                ordinal,
                analysis.symbol_ids[ordinal],
                first_chunk + analysis.symbol_chunk[ordinal],
                s.name,
                folded(s.name),
                s.qualified,
                str(s.kind),
                s.container,
                s.start_line,
                s.end_line,
                s.name_line,
                s.signature,
                s.doc,
                s.exported,
                list(analysis.symbol_words[ordinal]),
            )
            for ordinal, s in enumerate(analysis.extraction.symbols)
        )
        batch.reference.extend(
            (r, file_id, ordinal, ref.line, ref.enclosing, ref.name, str(ref.kind), ref.receiver)
            for ordinal, ref in enumerate(analysis.extraction.references)
        )
        batch.imports.extend(
            (r, file_id, ordinal, i.module, i.name, i.local, i.line, i.reexport) for ordinal, i in enumerate(analysis.extraction.imports)
        )
        if analysis.extraction.bindings:
            batch.binding.append((r, file_id, pack(analysis.extraction.bindings)))

    async def _copy(self, batch: _Batch) -> None:
        tables = (batch.file_version, batch.chunk, batch.symbol, batch.reference, batch.imports, batch.binding)
        for table, records in zip(_CONTENT_TABLES, tables, strict=True):
            if records:
                await self._connection.copy_records_to_table(table, records=records)

    async def average_lengths(self, measured: Sequence[float]) -> list[float]:
        """The field lengths that weights are normalised with: frozen by the repository's first segment, which stores ``measured``."""
        frozen: list[float] = await self._connection.fetchval(
            "UPDATE repository SET average_lengths = COALESCE(average_lengths, $2) WHERE id = $1 RETURNING average_lengths",
            self._repository_id,
            measured,
        )
        return frozen

    async def finish(self, postings: Postings) -> None:
        """Write the segment's postings and the words of its names; without them its files could not be found by words."""
        bits, first_chunk = bucket_bits(len(postings.terms)), self._first_chunk or 0
        await self._connection.copy_records_to_table(
            "posting", records=posting_rows(self._repository_id, self._segment_id, first_chunk, bits, postings)
        )
        await self._connection.copy_records_to_table(
            "segment", records=[(self._repository_id, self._segment_id, self._files, self._chunks, first_chunk, self._chunks, bits)]
        )
        words = sorted(self._symbol_words.keys() | self._file_words.keys())
        await self._connection.execute(
            "INSERT INTO name_word (repository_id, word, symbols, files) SELECT $1, * FROM unnest($2::text[], $3::int[], $4::int[]) "
            "ON CONFLICT (repository_id, word) DO UPDATE SET symbols = name_word.symbols + EXCLUDED.symbols, "
            "files = name_word.files + EXCLUDED.files",
            self._repository_id,
            words,
            [self._symbol_words[word] for word in words],
            [self._file_words[word] for word in words],
        )
