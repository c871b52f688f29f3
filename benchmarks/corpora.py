"""The judged repositories: what was asked of them, what counts as an answer, and where their sources lie.

The judged set is a folder with ``repos.json`` (``name``, ``url``, ``revision``, ``benchmark_root``) and ``<name>.json`` (``query``,
``relevant``, ``secondary``, ``category``). The sources are got by hand and never committed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
CHECKOUT: Final = HERE.parent
CORPORA: Final = HERE / "corpora"
WORK: Final = HERE / "work"
_CONFIG: Final[Mapping[str, Any]] = tomllib.loads((HERE / "relevance.toml").read_text("utf-8"))
HELD_OUT: Final = frozenset(_CONFIG["held_out"])
"""Repositories that nothing is tuned on."""


class Missing(Exception):
    """Something that is got by hand is not there; the message says what and where it belongs."""


@dataclass(frozen=True, slots=True)
class Target:
    """An answer: a file, or the lines of a file when ``start_line`` is not None."""

    path: str
    start_line: int | None = None
    end_line: int | None = None

    def is_hit_by(self, path: str, start_line: int, end_line: int) -> bool:
        """Whether a result shows this file and, for lines, overlaps them."""
        if path != self.path:
            return False
        return self.start_line is None or self.end_line is None or (start_line <= self.end_line and end_line >= self.start_line)


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    repository: str
    query: str
    category: str
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A repository at one revision; ``root`` is the folder that counts, empty when all of it does."""

    name: str
    url: str
    revision: str
    root: str
    queries: tuple[JudgedQuery, ...]

    @property
    def path(self) -> Path:
        return CORPORA / self.name

    @property
    def held_out(self) -> bool:
        return self.name in HELD_OUT

    def include(self, whole: bool) -> tuple[str, ...]:
        """The include globs of the index: the folder that counts, or everything."""
        return () if whole or not self.root else (f"{self.root}/**",)


def judged_set(data: Path | None, names: Sequence[str] = ()) -> list[Corpus]:
    """The judged repositories, those of ``names`` only when there are any. Raises Missing."""
    folder = data or CHECKOUT / _CONFIG["data"]
    index = folder / "repos.json"
    if not index.is_file():
        raise Missing(f"no judged set: {index} is not there; name its folder with --data")
    corpora = [_corpus(entry, folder) for entry in json.loads(index.read_text("utf-8"))]
    if unknown := set(names) - {corpus.name for corpus in corpora}:
        raise Missing(f"the judged set does not know {', '.join(sorted(unknown))}")
    chosen = [corpus for corpus in corpora if not names or corpus.name in names]
    _check_sources(chosen)
    return chosen


def _corpus(entry: Mapping[str, str], folder: Path) -> Corpus:
    name = entry["name"]
    queries = tuple(_query(name, item) for item in json.loads((folder / f"{name}.json").read_text("utf-8")))
    return Corpus(name, entry["url"].removesuffix(".git"), entry["revision"], entry.get("benchmark_root", ""), queries)


def _query(repository: str, item: Mapping[str, Any]) -> JudgedQuery:
    targets = tuple(_target(raw) for raw in [*item["relevant"], *item.get("secondary", [])])
    return JudgedQuery(repository, item["query"], item["category"], targets)


def _target(raw: str | Mapping[str, Any]) -> Target:
    return Target(raw) if isinstance(raw, str) else Target(raw["path"], raw.get("start_line"), raw.get("end_line"))


def _check_sources(corpora: Sequence[Corpus]) -> None:
    """Every file that a query counts on must be there, or the figures would be of something else."""
    complaints = []
    for corpus in corpora:
        if not corpus.path.is_dir():
            complaints.append(f"  {corpus.url} at {corpus.revision} → {corpus.path}")
            continue
        wanted = {target.path for query in corpus.queries for target in query.targets}
        if lost := sorted(path for path in wanted if not (corpus.path / path).is_file()):
            complaints.append(f"  {corpus.url} at {corpus.revision} → {corpus.path} (this is another one: it lacks {lost[0]})")
    if complaints:
        raise Missing("these sources are missing; unpack each there:\n" + "\n".join(complaints))
