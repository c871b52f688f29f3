"""Why an answer does not show a file: the first gate at which it drops out, and the smallest change that would show it.

The search itself is asked, never a second copy of its rules: once as the caller did, then narrowed to the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from time import perf_counter
from typing import Any, Final, Protocol

from app.domain.code import PathClass
from app.domain.errors import QueryNotServable
from app.domain.expression import written
from app.domain.files import Change, Gate, RetrieverVerdict, WhyNot
from app.domain.globs import matches, split_globs
from app.domain.language_names import LanguageNames
from app.domain.query import Dedupe, Filters, Modality, SearchRequest, Snapshot
from app.domain.ranking import Candidate, FileKey
from app.ports import FileStore, SnapshotStore
from app.search.answer import Ranking
from app.search.dedupe import Entry
from app.search.parse import ParsedQuery, parse

_LARGEST_PAGE: Final = 100
_LIFTS: Final[Mapping[PathClass, str]] = {
    PathClass.TEST: "include_tests",
    PathClass.EXAMPLE: "include_tests",
    PathClass.DOCUMENTATION: "include_docs",
    PathClass.CONFIGURATION: "include_docs",
}
_LISTS: Final = ("languages", "kinds", "symbols", "without", "repositories")


class Ranks(Protocol):
    """The read path up to the ranking."""

    async def rank(self, request: SearchRequest) -> Ranking: ...

    async def within_scope(self, request: SearchRequest) -> SearchRequest: ...


class WhyNotService:
    """Explains absences. Holds no state between calls."""

    def __init__(
        self, search: Ranks, snapshots: SnapshotStore, files: FileStore, modalities: Sequence[Modality], languages: LanguageNames
    ) -> None:
        self._search = search
        self._snapshots = snapshots
        self._files = files
        self._modalities = modalities
        self._languages = languages

    async def explain(self, request: SearchRequest, repository: str, path: str) -> WhyNot:
        """Raises what a search raises, RepositoryNotFound and NotIndexed."""
        began = perf_counter()
        request = await self._search.within_scope(request)
        parsed = parse(request, self._languages)
        scope = await self._snapshots.resolve((repository,), parsed.filters.revision)
        found = await self._explained(replace(request, cursor=None), parsed, scope.snapshots[0], path)
        return replace(found, snapshot=scope.snapshots[0], took_ms=(perf_counter() - began) * 1_000)

    async def _explained(self, request: SearchRequest, parsed: ParsedQuery, snapshot: Snapshot, path: str) -> WhyNot:
        told = WhyNot(request, snapshot.repository, path, Gate.SHOWN, "")
        entry = await self._files.entry(snapshot, path)
        if entry is None or entry.skipped is not None:
            reason = "the index does not have it" if entry is None else f"it was left out: {str(entry.skipped).replace('_', ' ')}"
            return replace(told, gate=Gate.NOT_INDEXED, detail=f"the file is not indexed; {reason}")
        ranking = await self._search.rank(request)
        key = FileKey(snapshot.repository_id, path)
        if (place := _place(ranking.entries, key)) is not None:
            return await self._placed(told, ranking.entries[place].candidate, place)
        if (other := _copied_into(ranking.entries, key)) is not None:
            change = Change("show every file, also where others hold the same text", {"dedupe": Dedupe.FILE.value})
            return replace(told, gate=Gate.MERGED, detail=f"its text is the same as that of {other.path}, which lists it", change=change)
        if blocking := await self._blocking_filters(parsed, snapshot, path):
            change = Change(f"leave out the filters for {' and '.join(blocking)}", _without(request, parsed, blocking))
            told = replace(told, gate=Gate.FILTERED, detail=f"the filters for {' and '.join(blocking)} exclude it")
            return replace(told, change=await self._sufficient(request, change, key))
        return await self._unranked(told, request, parsed, ranking, key)

    async def _placed(self, told: WhyNot, candidate: Candidate, place: int) -> WhyNot:
        """A file that is ranked: shown, or on a later page, which demotion may be the reason for."""
        request, key = told.request, candidate.key
        told = replace(told, rank=place + 1, retrievers=tuple(_contributions(candidate)))
        if place < request.limit:
            return replace(told, detail=f"the answer shows it at rank {place + 1}")
        if candidate.demotion < 1:
            lift = {"filters": {_LIFTS.get(candidate.path_class, "include_vendor"): True}}
            lifted = _place((await self._search.rank(changed(request, lift))).entries, key)
            if lifted is not None and lifted < request.limit:
                reason = candidate.demotion_reason or candidate.path_class.value
                detail = f"it is demoted to rank {place + 1} ({reason}); otherwise its rank would be {lifted + 1}"
                return replace(told, gate=Gate.DEMOTED, detail=detail, change=Change("do not demote such files", lift))
        told = replace(told, gate=Gate.BELOW_PAGE, detail=f"it is ranked {place + 1}, the page ends at {request.limit}")
        if place < _LARGEST_PAGE:
            return replace(told, change=Change("ask for a larger page", {"limit": place + 1}))
        return replace(told, change=Change("narrow the search to where the file lies", _narrowed({}, key.path)))

    async def _blocking_filters(self, parsed: ParsedQuery, snapshot: Snapshot, path: str) -> list[str]:
        """The filters that the file does not pass; each alone is enough to exclude it, or none but all of them together."""
        filters = replace(parsed.filters, paths=(_exactly(path),), regex=False)
        blocking = [] if _is_under(path, parsed.filters.paths) else ["paths"]
        set_lists = [name for name in _LISTS if getattr(filters, name)]
        nothing = replace(filters, languages=(), kinds=(), symbols=(), without=(), repositories=())
        for name in set_lists:
            alone = replace(nothing, **{name: getattr(filters, name)})
            if not await self._passes(alone, snapshot):
                blocking.append(name)
        if not blocking and set_lists and not await self._passes(filters, snapshot):
            return set_lists
        return blocking

    async def _passes(self, filters: Filters, snapshot: Snapshot) -> bool:
        """Whether any chunk of the one file that the paths name passes the filters: filters alone list what passes them."""
        asked = SearchRequest("", (snapshot.repository,), filters=filters, limit=1)
        return bool((await self._search.rank(asked)).entries)

    async def _unranked(self, told: WhyNot, request: SearchRequest, parsed: ParsedQuery, ranking: Ranking, key: FileKey) -> WhyNot:
        """Every retriever is asked about this file alone: did it match and end below the cut-off, or not at all?"""
        lists = ranking.found.gathered.lists
        verdicts = []
        for modality in self._modalities:
            matched = await self._matched(request, parsed, modality, told.repository, key)
            ran = modality in lists
            rank = len(lists[modality].files) + 1 if matched and ran else None
            verdicts.append(RetrieverVerdict(modality, ran, matched is not None, rank, score=matched.score if matched else None))
        told = replace(told, retrievers=tuple(verdicts))
        if below := [verdict for verdict in verdicts if verdict.ran and verdict.matches]:
            said = ", ".join(f"{verdict.modality} (rank {verdict.rank} or further down)" for verdict in below)
            change = Change("narrow the search to where the file lies", {"filters": {"paths": [_exactly(key.path)]}})
            return replace(told, gate=Gate.BELOW_CUT_OFF, detail=f"it matches, below the cut-off of {said}", change=change)
        others = [verdict.modality.value for verdict in verdicts if verdict.matches]
        change_to = Change("ask the retrievers that find it", {"modalities": others}) if others else None
        change_to = await self._sufficient(request, change_to, key) if change_to else None
        ran_names = ", ".join(modality.value for modality in lists) or "no retriever"
        return replace(told, gate=Gate.NO_MATCH, detail=f"nothing in it matches for {ran_names}", change=change_to)

    async def _sufficient(self, request: SearchRequest, change: Change, key: FileKey) -> Change:
        """The change, with a larger page where the file would only be found on a later one."""
        entries = (await self._search.rank(changed(request, change.fields))).entries
        place = _place(entries, key)
        if place is None:
            return Change(f"{change.description}, and narrow the search to where the file lies", _narrowed(change.fields, key.path))
        if place < request.limit:
            return change
        return Change(f"{change.description}, and ask for a larger page", {**change.fields, "limit": min(place + 1, _LARGEST_PAGE)})

    async def _matched(
        self, request: SearchRequest, parsed: ParsedQuery, modality: Modality, repository: str, key: FileKey
    ) -> Candidate | None:
        filters = replace(parsed.filters, paths=(_exactly(key.path),), repositories=())
        query = parsed.text if parsed.expression is None else written(parsed.expression)
        asked = replace(
            request,
            query=query,
            repositories=(repository,),
            filters=filters,
            modalities=(modality,),
            literal=parsed.literal and parsed.expression is None and not filters.regex,
            dedupe=Dedupe.FILE,
        )
        if (request.like or request.unlike) and modality is not Modality.SEMANTIC:
            return None
        try:
            entries = (await self._search.rank(asked)).entries
        except QueryNotServable:  # a pattern that the retriever cannot look for
            return None
        place = _place(entries, key)
        return None if place is None else entries[place].candidate


def changed(request: SearchRequest, fields: Mapping[str, Any]) -> SearchRequest:
    """The request with these fields of a body in the place of its own; of ``filters`` only those that are named, None takes one away."""
    unset = Filters()
    filters: dict[str, Any] = {
        name: getattr(unset, name) if value is None else tuple(value) if isinstance(value, list) else value
        for name, value in fields.get("filters", {}).items()
    }
    others: dict[str, Any] = {name: value for name, value in fields.items() if name != "filters"}
    if "modalities" in others:
        others["modalities"] = tuple(Modality(name) for name in others["modalities"])
    if "dedupe" in others:
        others["dedupe"] = Dedupe(others["dedupe"])
    return replace(request, filters=replace(request.filters, **filters), **others)


def _without(request: SearchRequest, parsed: ParsedQuery, blocking: Sequence[str]) -> dict[str, Any]:
    """Fields that say the same as the request but for some filters; those of the text become fields when the text has to change."""
    filters: dict[str, Any] = dict.fromkeys(name for name in blocking if name != "repositories")
    if parsed.text == request.query.strip() or request.literal or request.filters.regex:
        return {"filters": filters}
    for item in dataclass_fields(Filters):
        value = getattr(parsed.filters, item.name)
        if item.name not in ("repositories", *blocking) and value != getattr(request.filters, item.name):
            filters[item.name] = list(value) if isinstance(value, tuple) else value
    kept = () if "repositories" in blocking else parsed.filters.repositories
    named = [f"-repo:{glob[1:]}" if glob.startswith("!") else f"repo:{glob}" for glob in kept]
    text = parsed.text if parsed.expression is None or parsed.listing else written(parsed.expression)
    return {"query": " ".join((*named, text)), "filters": filters}


def _narrowed(fields: Mapping[str, Any], path: str) -> dict[str, Any]:
    return {**fields, "filters": {**fields.get("filters", {}), "paths": [_exactly(path)]}}


def _contributions(candidate: Candidate) -> Iterable[RetrieverVerdict]:
    for part in candidate.contributions:
        yield RetrieverVerdict(part.modality, True, True, part.rank + 1, True, part.value)


def _place(entries: Sequence[Entry], key: FileKey) -> int | None:
    return next((place for place, entry in enumerate(entries) if entry.candidate.key == key), None)


def _copied_into(entries: Sequence[Entry], key: FileKey) -> FileKey | None:
    return next((entry.candidate.key for entry in entries if key in entry.copies), None)


def _exactly(path: str) -> str:
    """The glob of one path."""
    return "/" + re.sub(r"([*?\[\\])", r"\\\1", path)


def _is_under(path: str, globs: Sequence[str]) -> bool:
    include, exclude = split_globs(globs)
    return (not include or matches(include, path)) and not matches(exclude, path)
