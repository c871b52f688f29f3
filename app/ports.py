"""The seams: what the read path and the entry points need, without saying who provides it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.domain.code import EdgeClass
from app.domain.index import Job, Repository, RepositorySource
from app.domain.query import Filters, Modality, RetrievalQuery, Scope, Snapshot
from app.domain.ranking import Candidate, ChunkText, FileKey, FileLink, RankedList, SymbolSummary
from app.domain.symbols import Impact, IndexedFile, ListPart, Relative, SymbolDetails, SymbolsRequest, UnresolvedCall, Use


class Retriever(Protocol):
    """Finds files for one modality. Owns a connection while it runs; bound by ``RetrievalQuery.deadline_ms``.

    Raises StoreUnavailable when the database is gone, TimeoutError at the deadline; QueryNotServable passes to the caller.
    """

    @property
    def modality(self) -> Modality: ...

    async def retrieve(self, query: RetrievalQuery) -> RankedList: ...


class SnapshotStore(Protocol):
    """Resolves repository names to published generations, once per request."""

    async def resolve(self, repositories: Sequence[str]) -> Scope:
        """All repositories when ``repositories`` is empty; raises RepositoryNotFound, NotIndexed (named but never published)."""
        ...

    async def resolve_pinned(self, generations: Mapping[int, int]) -> Scope:
        """The snapshots that a cursor was made on (repository id → generation); raises CursorExpired."""
        ...

    async def count_files(self, scope: Scope, filters: Filters) -> int:
        """How many indexed files of the scope match the filters for languages and paths."""
        ...


class ChunkStore(Protocol):
    """Reads chunks for boosting and display."""

    async def centralities(self, scope: Scope, chunks: Sequence[tuple[FileKey, int]]) -> Mapping[tuple[int, int], float]:
        """(repository_id, chunk_id) → the highest PageRank of the symbols defined in it; absent means 0."""
        ...

    async def links(self, scope: Scope, best: Sequence[Candidate], others: Sequence[Candidate]) -> Sequence[FileLink]:
        """The links between files of ``best`` and files of ``others``, in either direction; ``others`` may contain the best."""
        ...

    async def defined_names(self, files: Sequence[Candidate]) -> Mapping[FileKey, frozenset[str]]:
        """The names that each of these files defines."""
        ...

    async def load(
        self, scope: Scope, chunks: Sequence[tuple[int, int]], found: Mapping[tuple[int, int], str] | None = None, kinds: Sequence[str] = ()
    ) -> Mapping[tuple[int, int], ChunkText]:
        """(repository_id, chunk_id) → the chunk as stored, with the definition it shows.

        That is one of ``kinds`` if possible, then the one whose qualified name ``found`` gives for the chunk.
        """
        ...


class EmbeddingFailed(Exception):
    """The model could not embed at least one of these texts; the message says why."""


class Embedder(Protocol):
    """Turns text into bits. One object per process; methods are blocking and safe to call from a thread.

    Both raise EmbeddingFailed when the model rejects a text, EmbedderUnavailable when a provider cannot be asked at present, and
    ConfigurationError when nothing can be embedded with these settings.
    """

    @property
    def name(self) -> str:
        """Stable identity of model, version and projection; the key of a vector set."""
        ...

    @property
    def bits(self) -> int: ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        """Packed bits, shape (n, bits / 8), most significant bit first, as PostgreSQL's ``bit(n)`` has them."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The query's projected vector, shape (bits,), unit length; its signs are the bits to search with."""
        ...


class RepositoryStore(Protocol):
    """Creates, reads and deletes repositories."""

    async def put(self, name: str, source: RepositorySource) -> tuple[Repository, bool]:
        """Create or update; the flag is true when created. Raises Conflict when the name has another path."""
        ...

    async def get(self, name: str) -> Repository: ...

    async def list(self) -> Sequence[Repository]: ...

    async def delete(self, name: str) -> None: ...


class JobStore(Protocol):
    """The durable queue as its clients see it."""

    async def enqueue(self, repository: str) -> tuple[Job, bool]:
        """Queue an index run, or join the one that waits; the flag is true when it joined."""
        ...

    async def get(self, job_id: str) -> Job: ...

    async def cancel(self, job_id: str) -> Job: ...

    async def list(self, repository: str | None = None, limit: int = 50) -> Sequence[Job]: ...


@dataclass(frozen=True, slots=True)
class Readiness:
    """The outcome of one readiness check."""

    name: str
    ok: bool
    detail: str


class HealthProbe(Protocol):
    async def check(self) -> Sequence[Readiness]: ...


class SymbolStore(Protocol):
    """Reads definitions by name, by id and by file."""

    async def most_central(self, repository: str, limit: int) -> Sequence[SymbolSummary]:
        """The definitions in source files that most of the repository depends on."""
        ...

    async def find(self, scope: Scope, wanted: SymbolsRequest, offset: int) -> tuple[Sequence[SymbolDetails], int]:
        """The definitions that ``wanted`` describes, from ``offset`` on, and how many there are in all.

        A name that is borne as written leaves out those that bear it in another case.
        """
        ...

    async def holders(self, scope: Scope, symbol_id: str) -> Sequence[Snapshot]:
        """The snapshots that know the symbol: an id is made of path and name, so that copies of a repository share theirs."""
        ...

    async def get(self, snapshot: Snapshot, symbol_id: str) -> SymbolDetails | None: ...

    async def members(self, snapshot: Snapshot, symbol: SymbolDetails, limit: int) -> Sequence[SymbolDetails]:
        """The definitions directly inside a definition, or at the top level of a file."""
        ...

    async def files(self, snapshot: Snapshot, paths: Sequence[str]) -> Mapping[str, IndexedFile]:
        """Path → the file as indexed; paths that the snapshot does not have are left out."""
        ...


class SymbolGraph(Protocol):
    """Reads the edges around symbols of one snapshot."""

    async def references(
        self, snapshot: Snapshot, symbol: SymbolDetails, classes: Sequence[EdgeClass], offset: int, limit: int
    ) -> ListPart[Use]:
        """Every line that uses the symbol: by class, then source before tests, then by path and line."""
        ...

    async def callers(
        self, snapshot: Snapshot, symbol: SymbolDetails, classes: Sequence[EdgeClass], offset: int, limit: int
    ) -> ListPart[Relative]:
        """The definitions that call or instantiate the symbol: by class, then by centrality."""
        ...

    async def callees(
        self, snapshot: Snapshot, symbol: SymbolDetails, classes: Sequence[EdgeClass], offset: int, limit: int
    ) -> tuple[ListPart[Relative], Sequence[UnresolvedCall]]:
        """What the symbol's lines call or instantiate, in the order of the first call; and calls whose target is not known."""
        ...

    async def impact(self, snapshot: Snapshot, changed: Sequence[SymbolDetails], depth: int, limit: int) -> Impact:
        """What a change to these symbols reaches within ``depth`` edges; each list has at most ``limit`` entries."""
        ...


@dataclass(frozen=True, slots=True)
class RevisionDiff:
    """A unified diff between two commits, whose full ids are given."""

    text: str
    base: str
    head: str


class DiffSource(Protocol):
    """Compares two commits of a repository's source."""

    async def diff(self, repository: str, base: str, head: str) -> RevisionDiff:
        """Raises InvalidRequest for a commit that is not there or a source that is no git work tree."""
        ...
