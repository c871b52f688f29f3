"""Whether nothing found means nothing there: what was searched, and which files nobody could have searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from app.domain.files import SkippedFile
from app.domain.globs import matches, split_globs
from app.domain.query import Intent, Modality, RetrievalQuery
from app.domain.ranking import RankedList
from app.ports import SnapshotStore

MOST_LOOKED_AT: Final = 500
"""Where filters for paths decide which of them count."""

MOST_NAMED: Final = 20


@dataclass(frozen=True, slots=True)
class Unread:
    """Files of the scope, as the path filters narrow it, that are not in the index; ``count`` in all, some of them by name."""

    files: Sequence[SkippedFile] = ()
    count: int = 0
    is_known: bool = True


NOTHING_UNREAD: Final = Unread()
UNKNOWN: Final = Unread(is_known=False)
"""There was no time to look."""


async def unread_files(snapshots: SnapshotStore, query: RetrievalQuery) -> Unread:
    """What language such a file is in nobody knows, so that only filters for paths leave some of them out of account."""
    if not any(snapshot.skipped for snapshot in query.scope.snapshots):
        return NOTHING_UNREAD
    files, total = await snapshots.skipped_files(query.scope, MOST_LOOKED_AT if query.filters.paths else MOST_NAMED)
    if total > len(files):
        return Unread(files[:MOST_NAMED], total)
    include, exclude = split_globs(query.filters.paths)
    passing = [file for file in files if (not include or matches(include, file.path)) and not matches(exclude, file.path)]
    return Unread(passing[:MOST_NAMED], len(passing))


def absence(
    lists: Mapping[Modality, RankedList], query: RetrievalQuery, unread: Unread, *, partial: bool, files: int | None = None
) -> Mapping[str, object] | None:
    """For a literal, a named symbol or a single word without results: is it proven that there is none? None for questions.

    ``files``: how many indexed files match the filters, when there are any; where none does, nothing was looked at and nothing is proven.
    """
    names_symbol = query.terms.single or (query.classification.intent is Intent.FIND_DEFINITION and query.classification.operands)
    if query.literal is None and not names_symbol:
        return None
    searched = sum(snapshot.files for snapshot in query.scope.snapshots) if files is None else files
    complete = bool(lists) and all(ranked.complete for ranked in lists.values()) and not partial
    return {
        "proven": complete and unread.is_known and not unread.count and files != 0,
        "files_searched": searched,
        "files_total": searched + unread.count,
        "unread": [asdict(file) for file in unread.files],
    }
