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

from app.domain.analysis import FileAnalysis, Posting
from app.domain.code import Outcome
from app.domain.errors import RepositoryNotFound
from app.domain.facts import ResolvedEdge, identify
from app.domain.index import Coverage, SkipReason
from app.domain.words import folded
from app.storage.engine import Connection
from app.storage.facts import FactReader
from app.storage.generations import FOREVER

Row = tuple[object, ...]

_CONTENT_TABLES = ("file_version", "chunk", "symbol", "reference", "import")


COVERAGE = """
    SELECT v.outcome, v.reason, v.language, count(*)::int AS files
    FROM file f JOIN file_version v ON v.repository_id = f.repository_id AND v.file_id = f.file_id
    WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
    GROUP BY 1, 2, 3
"""

CHUNKS = """
    SELECT count(*)::int FROM file f JOIN chunk c ON c.repository_id = f.repository_id AND c.file_id = f.file_id
    WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
"""


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A file version that is already in the store."""

    file_id: int
    sha256: bytes


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


class IndexWriter:
    """One index run's access to the store; one connection, one repository, one branch."""

    def __init__(self, connection: Connection, repository_id: int, branch_id: int, extractor: str) -> None:
        self._connection = connection
        self._repository_id = repository_id
        self._branch_id = branch_id
        self._extractor = extractor
        self.current_gen = 0

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
        self.current_gen = await self._connection.fetchval(
            "SELECT current_gen FROM branch WHERE repository_id = $1 AND branch_id = $2", self._repository_id, self._branch_id
        )
        async with self._connection.transaction():
            for table in ("file", "skipped_file", "edge", "centrality"):
                where = "repository_id = $1 AND branch_id = $2"
                await self._connection.execute(
                    f"DELETE FROM {table} WHERE {where} AND from_gen > $3", self._repository_id, self._branch_id, self.current_gen
                )
                await self._connection.execute(
                    f"UPDATE {table} SET to_gen = {FOREVER} WHERE {where} AND to_gen > $3 AND to_gen < {FOREVER}",
                    self._repository_id,
                    self._branch_id,
                    self.current_gen,
                )

    async def stored_versions(self) -> dict[str, list[StoredVersion]]:
        """Every file version of this extractor, by path."""
        versions: dict[str, list[StoredVersion]] = {}
        rows = await self._connection.fetch(
            "SELECT path, file_id, sha256 FROM file_version WHERE repository_id = $1 AND extractor = $2",
            self._repository_id,
            self._extractor,
        )
        for row in rows:
            versions.setdefault(row["path"], []).append(StoredVersion(row["file_id"], row["sha256"]))
        return versions

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
        """End the live edges whose site is in these files."""
        await self._connection.execute(
            "UPDATE edge SET to_gen = $3 WHERE repository_id = $1 AND branch_id = $2 AND file_id = ANY($4::int[]) AND to_gen > $3",
            self._repository_id,
            self._branch_id,
            self.next_gen,
            list(file_ids),
        )

    async def add_edges(self, edges: Iterable[tuple[int, ResolvedEdge]]) -> None:
        """Write edges, each with the file of its site."""
        prefix = (self._repository_id, self._branch_id)
        await self._connection.copy_records_to_table(
            "edge",
            columns=["repository_id", "branch_id", "source", "target", "kind", "class", "file_id", "reference", "line", "from_gen"],
            records=(
                (*prefix, e.source, e.target, str(e.kind), str(e.edge_class), file_id, e.reference, e.line, self.next_gen)
                for file_id, e in edges
            ),
        )

    async def edge_ends(self) -> tuple[list[int], list[int]]:
        """Sources and targets of every edge of the next generation."""
        rows = await self._connection.fetch(
            "SELECT source, target FROM edge WHERE repository_id = $1 AND branch_id = $2 AND from_gen <= $3 AND to_gen > $3",
            self._repository_id,
            self._branch_id,
            self.next_gen,
        )
        return [row["source"] for row in rows], [row["target"] for row in rows]

    async def write_centrality(self, values: Mapping[int, float], tolerance: float = 0.05) -> None:
        """Rewrite only the symbols whose centrality moved by more than ``tolerance``, appeared or went."""
        arguments = (self._repository_id, self._branch_id, self.next_gen)
        rows = await self._connection.fetch(
            "SELECT symbol_id, value FROM centrality WHERE repository_id = $1 AND branch_id = $2 AND to_gen > $3 AND from_gen < $3",
            *arguments,
        )
        stored: dict[int, float] = {row["symbol_id"]: row["value"] for row in rows}
        moved = {
            symbol: value for symbol, value in values.items() if symbol not in stored or abs(stored[symbol] - value) > tolerance * value
        }
        ended = [symbol for symbol in stored if symbol in moved or symbol not in values]
        async with self._connection.transaction():
            await self._connection.execute(
                "UPDATE centrality SET to_gen = $3 WHERE repository_id = $1 AND branch_id = $2 AND symbol_id = ANY($4::bigint[]) "
                "AND to_gen > $3",
                *arguments,
                ended,
            )
            await self._connection.copy_records_to_table(
                "centrality",
                columns=["repository_id", "branch_id", "symbol_id", "value", "from_gen"],
                records=[(self._repository_id, self._branch_id, symbol, value, self.next_gen) for symbol, value in moved.items()],
            )

    async def measure_coverage(self, skipped: Mapping[str, SkipReason]) -> tuple[Coverage, int]:
        """What the next generation holds, and its number of chunks."""
        arguments = (self._repository_id, self._branch_id, self.next_gen)
        rows = await self._connection.fetch(COVERAGE, *arguments)
        chunks: int = await self._connection.fetchval(CHUNKS, *arguments)
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
        return coverage, chunks

    async def publish(self, revision: str, coverage: Coverage, chunks: int) -> int:
        """Make the next generation the current one; one transaction, so readers see the old or the new index whole."""
        async with self._connection.transaction():
            await self._connection.execute(
                "INSERT INTO generation (repository_id, branch_id, generation, revision, files, skipped, chunks, coverage) "
                "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                self._repository_id,
                self._branch_id,
                self.next_gen,
                revision,
                coverage.files,
                coverage.skipped,
                chunks,
                json.dumps(asdict(coverage)),
            )
            await self._connection.execute(
                "UPDATE generation SET replaced_at = now() WHERE repository_id = $1 AND branch_id = $2 AND generation < $3 "
                "AND replaced_at IS NULL",
                self._repository_id,
                self._branch_id,
                self.next_gen,
            )
            await self._connection.execute(
                "UPDATE branch SET current_gen = $3, known_revision = $4 WHERE repository_id = $1 AND branch_id = $2",
                self._repository_id,
                self._branch_id,
                self.next_gen,
                revision,
            )
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
                list(analysis.name_words),
            )
        )
        batch.chunk.extend((r, first_chunk + i, file_id, c.start_line, c.end_line, c.text) for i, c in enumerate(analysis.chunks))
        ids = identify(analysis.path, analysis.extraction.symbols)
        batch.symbol.extend(
            (
                r,
                file_id,
                ordinal,
                ids[ordinal],
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
            (r, file_id, ordinal, ref.name, str(ref.kind), ref.line, ref.column, ref.receiver, ref.enclosing)
            for ordinal, ref in enumerate(analysis.extraction.references)
        )
        batch.imports.extend(
            (r, file_id, ordinal, i.module, i.name, i.local, i.line, i.reexport) for ordinal, i in enumerate(analysis.extraction.imports)
        )

    async def _copy(self, batch: _Batch) -> None:
        tables = (batch.file_version, batch.chunk, batch.symbol, batch.reference, batch.imports)
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

    async def finish(self, postings: Iterable[Posting]) -> None:
        """Write the segment's postings and the words of its names; without them its files could not be found by words."""
        await self._connection.copy_records_to_table("posting", records=self._posting_rows(postings))
        await self._connection.copy_records_to_table(
            "segment", records=[(self._repository_id, self._segment_id, self._files, self._chunks)]
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

    def _posting_rows(self, postings: Iterable[Posting]) -> Iterable[Row]:
        for posting in postings:
            yield (self._repository_id, posting.term, self._segment_id, posting.files, posting.chunks, posting.weights)
