"""The seams: what the read path and the entry points need, without saying who provides it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.domain.access import ApiKey, AuditEntry, Caller, KeyScope
from app.domain.code import EdgeClass
from app.domain.files import FileEntry, SkippedFile
from app.domain.index import FileCoverage, Job, JobPlace, JobState, Priority, Repository, RepositorySource
from app.domain.left_out import LeftOut
from app.domain.position import NameAt
from app.domain.query import Filters, Modality, RetrievalQuery, Scope, Snapshot
from app.domain.ranking import Candidate, FileKey, FileLink, LoadedChunks, RankedList, SymbolSummary
from app.domain.scopes import SavedScope
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

    async def resolve(self, repositories: Sequence[str], revision: str | None = None) -> Scope:
        """All repositories when ``repositories`` is empty; the default ref of each when ``revision`` is None.

        ``revision`` is a branch, a tag or the beginning of an indexed commit's id; unnamed repositories that do not have it are left out.
        Raises RepositoryNotFound, RevisionNotFound, NotIndexed (named but never published).
        """
        ...

    async def resolve_pinned(self, generations: Mapping[int, int]) -> Scope:
        """The snapshots that a cursor was made on (repository id → generation); raises CursorExpired."""
        ...

    async def count_files(self, scope: Scope, filters: Filters) -> int:
        """How many indexed files of the scope match the filters for languages and paths."""
        ...

    async def skipped_files(self, scope: Scope, most: int) -> tuple[Sequence[SkippedFile], int]:
        """At most so many files that were left out, by repository and path, and how many there are."""
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
        self,
        scope: Scope,
        chunks: Sequence[tuple[int, int]],
        found: Mapping[tuple[int, int], str] | None = None,
        kinds: Sequence[str] = (),
        others: Sequence[tuple[int, int]] = (),
    ) -> LoadedChunks:
        """``chunks`` as stored, each with the definition it shows, and the lines of ``others``.

        The definition is one of ``kinds`` if possible, then the one whose qualified name ``found`` gives for the chunk.
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


class RemoteAddress(Protocol):
    @property
    def url(self) -> str: ...


class Remotes(Protocol):
    """Decides which git remotes may be asked."""

    def check(self, url: str, credential: str | None) -> RemoteAddress:
        """The address as it is kept. Blocking: asks the resolver. Raises InvalidRequest when it, or the credential, may not be used."""
        ...


class ImportedArchive(Protocol):
    """What was taken over of an archive, and what was left out."""

    @property
    def files(self) -> int: ...

    @property
    def unpacked_bytes(self) -> int: ...

    @property
    def left_out(self) -> Mapping[str, int]: ...

    @property
    def names(self) -> Sequence[str]: ...


class ArchiveStore(Protocol):
    """Takes archives in."""

    async def put(self, name: str, body: AsyncIterator[bytes], revision: str, strip: int) -> tuple[Job, bool, ImportedArchive]:
        """Let an archive be all that a repository holds and queue its run; the flag is true when it joined one.

        Raises TooLarge, InvalidRequest for what is no archive, and Conflict for a repository of another kind; then nothing changes.
        """
        ...


class History(Protocol):
    """Knows how revisions follow each other."""

    async def contains(self, repository: str, revision: str, wanted: str) -> bool:
        """Whether ``wanted`` is ``revision`` or known to lie before it; a commit's id may be cut short.

        Raises InvalidRequest for what can be no revision of the repository, now or later.
        """
        ...


class CoverageStore(Protocol):
    """Reads what became of the files of a snapshot."""

    async def files(
        self,
        snapshot: Snapshot,
        *,
        path: str | None = None,
        outcome: str | None = None,
        reason: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[FileCoverage]:
        """By path, in the order of its code points, from behind ``after`` on."""
        ...

    async def left_out(self, snapshot: Snapshot) -> LeftOut:
        """What no row tells of, since the run did not meet it."""
        ...


class DeliveryStore(Protocol):
    """Remembers the deliveries of forges by their digests."""

    async def seen(self, forge: str, digest: str) -> bool: ...

    async def remember(self, forge: str, digest: str) -> None: ...


class JobStore(Protocol):
    """The durable queue as its clients see it."""

    async def enqueue(self, repository: str, revision: str | None = None, priority: Priority = Priority.INTERACTIVE) -> tuple[Job, bool]:
        """Queue an index run, or join the one that waits, which then has the higher of both priorities; the flag is true when it joined.

        ``revision``: the full id of a commit to index beside the refs that are followed. Raises InvalidRequest when there can be none.
        """
        ...

    async def get(self, job_id: str) -> Job: ...

    async def cancel(self, job_id: str) -> Job: ...

    async def list(
        self, repository: str | None = None, limit: int = 50, state: JobState | None = None, after: JobPlace | None = None
    ) -> Sequence[Job]:
        """The newest first; only those that come after the place."""
        ...


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


class PositionReader(Protocol):
    """Tells the names in indexed files apart."""

    async def name_at(self, snapshot: Snapshot, file: IndexedFile, line: int, column: int) -> NameAt | None:
        """The name at a place of a file and where it is defined; None where no name stands or the file has no parsed language.

        ``line`` is 1-based, ``column`` 0-based in code points, both inside of the file. Raises QueryNotServable for a long file.
        """
        ...


class FileStore(Protocol):
    """Reads what an index knows of paths."""

    async def entry(self, snapshot: Snapshot, path: str) -> FileEntry | None:
        """The file as indexed or as skipped; None for a path that the index does not know."""
        ...


class ScopeStore(Protocol):
    """Keeps saved scopes."""

    async def put(self, scope: SavedScope) -> bool:
        """Create or replace; true when created."""
        ...

    async def get(self, name: str) -> SavedScope:
        """Raises ScopeNotFound."""
        ...

    async def list(self) -> Sequence[SavedScope]:
        """In the order of their names."""
        ...

    async def delete(self, name: str) -> None:
        """Raises ScopeNotFound."""
        ...


class KeyStore(Protocol):
    """Keeps API keys and tells whose a token is."""

    async def create(
        self, name: str, scope: KeyScope, repositories: Sequence[str] = (), expires_at: datetime | None = None
    ) -> tuple[ApiKey, str]:
        """A new key and its token, which nobody can read again."""
        ...

    async def get(self, key_id: str) -> ApiKey:
        """Raises KeyNotFound."""
        ...

    async def list(self) -> Sequence[ApiKey]:
        """The newest first, revoked ones too."""
        ...

    async def revoke(self, key_id: str) -> ApiKey:
        """From now on the key does not count; twice is as once. Raises KeyNotFound."""
        ...

    async def exist(self) -> bool:
        """Whether any key was ever made; one that another process makes may take a second to be seen."""
        ...

    async def authenticate(self, token: str) -> Caller:
        """Who sent the token. Raises NotAuthenticated for one that is unknown, expired or revoked."""
        ...


class AuditStore(Protocol):
    """The log of what was done to the index and by administrators."""

    async def record(self, entry: AuditEntry) -> None: ...

    async def list(self, before: int | None, key_id: str | None, action: str | None, limit: int) -> Sequence[AuditEntry]:
        """The newest first; only those with a lower id than ``before``."""
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
