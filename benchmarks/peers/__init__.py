"""Other tools, measured in the same run: one module each. A tool that is not installed has no version and is reported as such."""

from __future__ import annotations

from typing import Final

from benchmarks.peers.codesearch import Codesearch
from benchmarks.peers.ctags import Ctags
from benchmarks.peers.peer import ExactSearcher, Indexed, Indexer, Ranked, Ranker, matching_lines
from benchmarks.peers.ripgrep import Ripgrep
from benchmarks.peers.semble import Semble

__all__ = ["EXACT_SEARCHERS", "INDEXERS", "RANKERS", "ExactSearcher", "Indexed", "Indexer", "Ranked", "Ranker", "matching_lines"]

RANKERS: Final[tuple[Ranker, ...]] = (Ripgrep(), Ctags(), Semble())
EXACT_SEARCHERS: Final[tuple[ExactSearcher, ...]] = (Ripgrep(), Codesearch())
INDEXERS: Final[tuple[Indexer, ...]] = (Codesearch(), Ctags(), Semble())
