"""A bare copy of a git remote: the newest commits of each ref that is followed, fetched anew whenever it moved.

Every fetch is forced, so that a rewritten history is no obstacle; a fetch that fails changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from app.config import CredentialSettings, GitSettings
from app.domain.errors import InvalidRequest, SourceRefused, SourceUnavailable
from app.domain.index import RefKind, short_name
from app.sources.address import Address, AddressPolicy, parse_address
from app.sources.credentials import git_environment
from app.sources.git import Git, GitError
from app.sources.writing import left_behind

MOST_REFS: Final = 200
"""Refs of one repository that are followed at most."""

LIST_SECONDS: Final = 60.0

_REFUSED: Final = re.compile(
    "Authentication failed|could not read (Username|Password)|returned error: 40[13]|Permission denied|Host key verification failed"
)
"""What git and ssh say where to ask again is of no use."""


@dataclass(frozen=True, slots=True)
class RemoteRefs:
    """What a remote listed: full name → commit, and the name of its HEAD if it says so."""

    commits: Mapping[str, str]
    head: str | None

    def chosen(self, globs: Sequence[str]) -> tuple[dict[str, tuple[RefKind, str]], str]:
        """The refs that the globs match (name → kind, commit), and the default among them. Raises SourceUnavailable when none does.

        A glob is compared with the short and the full name, and ``*`` crosses ``/``. Without globs it is the remote's HEAD.
        """
        if not globs:
            head = self.head or next((name for name in ("refs/heads/main", "refs/heads/master") if name in self.commits), None)
            if head is None or head not in self.commits:
                raise SourceUnavailable("the remote does not say what its HEAD is; name branches in source.refs")
            return {head: (RefKind.BRANCH, self.commits[head])}, head
        names = [name for name in self.commits if any(fnmatchcase(short_name(name), glob) or fnmatchcase(name, glob) for glob in globs)]
        if not names:
            raise SourceUnavailable(f"the remote has no branch or tag like {', '.join(globs)}")
        if len(names) > MOST_REFS:
            raise InvalidRequest(f"{len(names)} branches and tags match; at most {MOST_REFS} are followed", field="source.refs")
        kinds = {name: RefKind.TAG if name.startswith("refs/tags/") else RefKind.BRANCH for name in names}
        first = next((name for glob in globs for name in names if fnmatchcase(short_name(name), glob)), names[0])
        return {name: (kinds[name], self.commits[name]) for name in names}, self.head if self.head in kinds else first


class Mirror:
    """The copy of one remote. All methods block; those that ask the remote raise SourceUnavailable when it does not answer."""

    def __init__(
        self, directory: Path, address: Address, policy: AddressPolicy, credential: CredentialSettings | None, settings: GitSettings
    ) -> None:
        self.git: Final = Git(directory)
        self.address: Final = address
        self._policy = policy
        self._credential = credential
        self._settings = settings

    def of_another(self, url: str) -> Mirror:
        """The same object store for another remote, as a submodule's; this one's credential goes along only to its own host.

        No caller named that address, but whoever wrote the commit: it may lead less far.
        """
        address = parse_address(url)
        same = (address.scheme, address.host, address.port) == (self.address.scheme, self.address.host, self.address.port)
        credential = self._credential if same else None
        return Mirror(self.git.directory, address, self._policy.of_commits(self.address), credential, self._settings)

    def list_refs(self) -> RemoteRefs:
        """The remote's branches and tags. An empty list is taken for a fault: nothing is ever forgotten because of it."""
        self.git.create()
        patterns = ("HEAD", "refs/heads/*", "refs/tags/*")
        commits, head = _parse_refs(self._ask("ls-remote", "--symref", "--", self.address.url, *patterns, seconds=LIST_SECONDS))
        if not commits:
            raise SourceUnavailable("the remote lists no branch and no tag")
        return RemoteRefs(commits, head)

    def fetch(self, refs: Mapping[str, str]) -> None:
        """Bring these refs (name → commit) here as far as they are not, and drop all others of their kinds."""
        here = self._local()
        # Dropped first: a branch may be called now what was a folder of branches before.
        self._drop(name for name in here if name.startswith(("refs/heads/", "refs/tags/")) and name not in refs)
        self._fetch(f"+{name}:{name}" for name, commit in refs.items() if here.get(name) != commit)
        self.git.run("gc", "--auto", "--quiet")

    def fetch_commit(self, commit: str) -> None:
        """Bring one commit here by its full id; many servers give any commit that they have."""
        self._fetch([f"+{commit}:refs/commits/{commit}"])

    def keep_commits(self, commits: Collection[str]) -> None:
        """Let go of the commits that were fetched by their ids, but for these."""
        prefix = "refs/commits/"
        self._drop(name for name in self._local() if name.startswith(prefix) and name.removeprefix(prefix) not in commits)

    def commit_of(self, name: str) -> str | None:
        """The commit that a ref or an id names here; None when it is not here."""
        try:
            found = self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except GitError:
            return None
        return found.strip().decode()

    def _local(self) -> dict[str, str]:
        """Name → commit; a tag object's commit is the one it points to."""
        lines = self.git.run("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)").decode().splitlines()
        return {name: commit or tag for name, tag, commit in (line.split(" ") for line in lines)}

    def _fetch(self, refspecs: Iterable[str]) -> None:
        wanted = "".join(f"{refspec}\n" for refspec in refspecs)
        if not wanted:
            return
        self.git.create()
        options = (
            f"--depth={self._settings.depth}",
            "--force",
            "--no-tags",
            "--no-auto-gc",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--update-shallow",
        )
        self._ask(
            "fetch",
            "--quiet",
            *options,
            *("--stdin", "--", self.address.url),
            stdin=wanted.encode(),
            seconds=self._settings.fetch_seconds,
            most_file_bytes=self._settings.max_fetch_bytes,
        )

    def _drop(self, names: Iterable[str]) -> None:
        self.git.run("update-ref", "--stdin", stdin="".join(f"delete {name}\n" for name in names).encode())

    def _ask(self, *arguments: str, seconds: float, stdin: bytes = b"", most_file_bytes: int | None = None) -> bytes:
        ip = self._policy.check(self.address)
        known_hosts = self.git.directory.parent / "known_hosts"
        environment = git_environment(self.address, ip, self._credential, known_hosts, self._settings.ca_file)
        try:
            return self.git.run(*arguments, environment=environment, seconds=seconds, stdin=stdin, most_file_bytes=most_file_bytes)
        except GitError as error:
            if most_file_bytes is not None and self._remove_half_written() >= most_file_bytes:
                raise SourceRefused(f"the remote sends more than {most_file_bytes:,} bytes (FOURFOLD_GIT__MAX_FETCH_BYTES)") from None
            place = self.address.host or self.address.path
            if not _REFUSED.search(str(error)):
                raise SourceUnavailable(f"{place}: {error}") from None
            reason = "the credential was refused" if self._credential else "a credential is needed; name one in source.credential"
            raise SourceRefused(f"{place}: {reason} ({error})") from None

    def _remove_half_written(self) -> int:
        """What a fetch that failed left behind; the bytes of the largest such file."""
        largest = 0
        for path in left_behind(self.git.directory):
            largest = max(largest, path.stat().st_size)
            path.unlink()
        return largest


def _parse_refs(answer: bytes) -> tuple[dict[str, str], str | None]:
    commits: dict[str, str] = {}
    head: str | None = None
    for line in answer.decode("utf-8", "surrogateescape").splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: "):
            head = value.removeprefix("ref: ") if name == "HEAD" else head
        elif name.startswith(("refs/heads/", "refs/tags/")) and name.isprintable():
            commits[name.removesuffix("^{}")] = value  # the line with ^{} comes after the tag's own and names its commit
    return commits, head
