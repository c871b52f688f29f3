"""What one index job does to a repository: look at the source, then bring every ref that moved up to date.

Refs whose commit is indexed already, under whatever name, cost nothing. Each other one is the next generation of the repository's line.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from app.config import IndexSettings
from app.domain.errors import SourceUnavailable
from app.domain.index import WORK_TREE, RefKind, Repository, SourceKind, short_name
from app.indexing.discover import shown_path
from app.indexing.discover_commit import CommitSource
from app.indexing.indexed_definitions import DefinitionMemory
from app.indexing.parse import ParsePool
from app.indexing.pipeline import IndexRun, Report, index_tree
from app.indexing.seen import SeenRepositories
from app.indexing.source_tree import CommitTree, DirectoryTree, SourceTree
from app.sources.archive import archive_revision
from app.sources.mirror import Mirror
from app.sources.mirrors import Mirrors
from app.sources.submodules import fetch_submodules
from app.sources.writing import writing
from app.storage import refs
from app.storage.engine import Connection
from app.storage.repositories import LINE
from app.storage.writer import IndexWriter

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Refreshed:
    """What a job did: a run for each ref that was indexed, the refs that were up to date, and what could not be had: commits, and
    submodules as ``ref: path``."""

    runs: dict[str, IndexRun] = field(default_factory=dict)
    current: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


class Refresher:
    """Refreshes repositories one after the other, on a worker's connection, which holds the repository's lock."""

    def __init__(
        self,
        connection: Connection,
        mirrors: Mirrors,
        pool: ParsePool,
        settings: IndexSettings,
        memory: DefinitionMemory,
        seen: SeenRepositories,
    ) -> None:
        self._connection = connection
        self._mirrors = mirrors
        self._pool = pool
        self._settings = settings
        self._memory = memory
        self._seen = seen

    async def refresh(self, repository: Repository, report: Report) -> Refreshed:
        """Raises SourceUnavailable and GitError when a remote cannot be read, OSError when a directory cannot, InvalidRequest when an
        address or credential is no longer allowed. What was published before stays."""
        done = Refreshed()
        if repository.source.kind is SourceKind.DIRECTORY:
            await asyncio.to_thread(refuse_moved, Path(repository.source.path))
            seen = self._seen.of((repository.id, repository.created_at))
            directory = DirectoryTree(repository.source, self._settings, seen)
            done.runs[WORK_TREE] = await self._index(repository, WORK_TREE, directory, report)
            return done
        await report("fetch", 0, None)
        async for name, source in self._moved(repository, done):
            tree = CommitTree(source, self._settings, self._connection, repository.id, self._pool.extractor)
            done.runs[name] = await self._index(repository, name, tree, report)
        return done

    async def _index(self, repository: Repository, ref: str, tree: SourceTree, report: Report) -> IndexRun:
        writer = IndexWriter(self._connection, repository.id, LINE, self._pool.extractor, ref)
        return await index_tree(tree, writer, self._pool, report, self._memory)

    async def _moved(self, repository: Repository, done: Refreshed) -> AsyncIterator[tuple[str, CommitSource]]:
        """The refs to index, each with its commit."""
        commits = await (self._fetched(repository, done) if repository.source.kind is SourceKind.GIT else self._uploaded(repository))
        for name, (commit, revision, submodules) in commits.items():
            had = [shown_path(path, ()) for path in submodules]
            if await refs.show_indexed(self._connection, repository.id, name, revision, self._pool.extractor, had):
                done.current.append(name)
                continue
            git, spool = self._mirrors.git(repository), self._mirrors.spool(repository)
            yield name, CommitSource(git, commit, revision, spool, repository.source.include, repository.source.exclude, submodules)

    async def _fetched(self, repository: Repository, done: Refreshed) -> Mapping[str, tuple[str, str, Mapping[bytes, str]]]:
        """Ref → commit, revision and submodules' commits, of everything that is followed at a remote."""
        mirror = self._mirrors.mirror(repository)
        with writing(mirror.git):
            return await self._fetch(repository, mirror, done)

    async def _fetch(self, repository: Repository, mirror: Mirror, done: Refreshed) -> Mapping[str, tuple[str, str, Mapping[bytes, str]]]:
        listed = await asyncio.to_thread(mirror.list_refs)
        seen, default = listed.chosen(repository.source.refs)
        await asyncio.to_thread(mirror.fetch, {name: commit for name, (_, commit) in seen.items()})
        await refs.follow(self._connection, repository.id, seen, default)
        commits = await self._requested(repository, mirror, done)
        # The default first: it answers where nothing else is asked for.
        wanted = {default: seen[default][1]} | {name: commit for name, (_, commit) in seen.items()} | commits
        found = {}
        for name, commit in wanted.items():
            submodules: Mapping[bytes, str] = {}
            if repository.source.submodules:
                submodules, missing = await asyncio.to_thread(fetch_submodules, mirror, commit)
                done.failed |= {f"{short_name(name)}: {shown_path(path, ())}": reason for path, reason in missing.items()}
            found[name] = (commit, commit, submodules)
        return found

    async def _requested(self, repository: Repository, mirror: Mirror, done: Refreshed) -> dict[str, str]:
        """The commits that were asked for; one that the remote does not give is reported and forgotten."""
        names = [name for name, kind, _ in await refs.names(self._connection, repository.id) if kind is RefKind.COMMIT]
        for name in list(names):
            try:
                if await asyncio.to_thread(mirror.commit_of, name) is None:
                    await asyncio.to_thread(mirror.fetch_commit, name)
            except SourceUnavailable as error:
                _log.warning("commit_unavailable", repository=repository.name, commit=name, error=error.message)
                await refs.forget(self._connection, repository.id, name)
                done.failed[name] = error.message
                names.remove(name)
        await asyncio.to_thread(mirror.keep_commits, names)
        return {name: name for name in names}

    async def _uploaded(self, repository: Repository) -> Mapping[str, tuple[str, str, Mapping[bytes, str]]]:
        git = self._mirrors.git(repository)
        found = await asyncio.to_thread(archive_revision, git)
        if found is None:
            raise FileNotFoundError(2, "no archive was uploaded yet", repository.name)
        commit, ref, revision = found
        return {ref: (commit, revision, {})}


def refuse_moved(root: Path) -> None:
    """Raises PermissionError where the stored path leads elsewhere.

    It was resolved, and found allowed, when the repository was created; a symlink that stands in it now was not.
    """
    if root.resolve() != root:
        raise PermissionError(f"a part of the path is a symlink to {root.resolve()} now")
