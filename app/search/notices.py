"""What an answer says about itself: warnings, how strong its evidence is, and whether nothing found means nothing there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.domain.language_names import LanguageNames
from app.domain.query import Filters, Intent, Modality, RetrievalQuery, Scope
from app.domain.ranking import Evidence, Notice, RankedList
from app.domain.words import MOST_TERMS
from app.search.dedupe import Entry
from app.search.tokens import FILTER_KEYS

MESSAGES: Mapping[str, str] = {
    "not_a_filter": "{text} is not a filter that can be applied; it was taken as text",
    "filters_hold_everywhere": "a filter holds for the whole query; as one of several alternatives it was applied to all of them",
    "unknown_filter": "{text} is not a filter, and was taken as text; filters are {known}{hint}",
    "unknown_language": "no language is called {name}{hint}",
    "no_repository_matches": "no repository that is searched matches the filters",
    "nothing_indexed": "no repository has a published index yet",
    "no_files": "the index of {repositories} holds no file: its coverage tells what was left out",
    "repository_stale": "a newer revision of {repositories} is known than the one that was searched",
    "embeddings_pending": "{count:,} chunks have no embedding yet; the search by meaning does not see them",
    "modality_unavailable": "{modality} search is not configured and was left out",
    "fuzzy": "no definition has that name; definitions with similar names are listed",
    "definition_not_found": "no definition of {name} was found; these results are related to its name",
    "no_uses_found": "no use of {name} was found; these results are related to its name",
    "no_file_matches": "no indexed file matches the filters for languages and paths",
    "similar_words": "no text has any of these words; similar words were searched instead",
    "fuzzy_only": "nothing matches exactly; these are similar names or strings",
    "no_literal_match": "the exact string does not occur; these results are related to its words",
    "unindexed_scan": "no string of three letters has to occur, so that the text index was of no use; the scope was read in full",
    "definitions_only": "the name is too short for the text index; only where it is defined was looked for",
    "other_case": "the exact string occurs in another case only",
    "too_many_matches": "there are too many matches to see them all; without de-duplication every one is listed",
    "path_order": "there are too many matches to rank; they are listed in the order of their paths",
    "text_left_out": "some text was not looked at: it is too long for this pattern, or time ran out",
    "more_matches": "more files match than are ranked; narrow the question to see the rest",
    "changes_cut": "the difference touches more than {most:,} {what}; the rest was left out",
    "diff_does_not_match": "only {percent}% of the difference's lines stand in the index where it says; the index may hold another version",
    "deletions_not_seen": "the index holds what is there after the change: uses of definitions that it deletes are not seen",
    "files_not_indexed": "changed files that are not in the index: {count}",
    "also_in_english": "also looked for in English: {words}",
    "words_left_out": "only the first {count} different words of the question were looked for",
    "not_rescored": "time ran out before the best files were rescored; they stand in the order of the fusion",
    "not_marked": "time ran out before the matches of every result were marked",
    "results_missing": "some results were replaced while the answer was read; ask again",
}
"""By code. Retrievers warn with a code; one that is not here is shown as it is."""


_NOT_FOUND: Mapping[Intent, str] = {
    Intent.FIND_DEFINITION: "definition_not_found",
    Intent.FIND_REFERENCES: "no_uses_found",
    Intent.IMPACT_ANALYSIS: "no_uses_found",
}


def notice(code: str, **details: object) -> Notice:
    return Notice(code, MESSAGES.get(code, code.replace("_", " ")).format(**details))


def language_notices(unknown: Iterable[str], languages: LanguageNames) -> list[Notice]:
    """One for each name that no language has."""
    return [notice("unknown_language", name=name, hint=_hint(languages.near(name))) for name in unknown]


def filter_notice(text: str, near: Sequence[str]) -> Notice:
    """For a word that is written as a filter, and is none; ``near``: filters that may be meant."""
    return notice("unknown_filter", text=text, known=", ".join(f"{key}:" for key in FILTER_KEYS), hint=_hint([f"{key}:" for key in near]))


def _hint(near: Sequence[str]) -> str:
    return f"; is {' or '.join(near)} meant?" if near else ""


def scope_notices(scope: Scope, modalities: Iterable[Modality], filters: Filters | None = None) -> list[Notice]:
    """What the caller should know of the index that was searched."""
    if not scope.snapshots:
        return [notice("no_repository_matches" if filters and filters.repositories else "nothing_indexed")]
    notices = []
    if empty := [snapshot.repository for snapshot in scope.snapshots if not snapshot.files]:
        notices.append(notice("no_files", repositories=", ".join(empty)))
    if stale := [snapshot.repository for snapshot in scope.snapshots if snapshot.stale]:
        notices.append(notice("repository_stale", repositories=", ".join(stale)))
    pending = sum(snapshot.embeddings_pending for snapshot in scope.snapshots)
    if pending and Modality.SEMANTIC in modalities:
        notices.append(notice("embeddings_pending", count=pending))
    return notices


def list_notices(lists: Mapping[Modality, RankedList], entries: Sequence[Entry], query: RetrievalQuery) -> list[Notice]:
    """What the retrievers had to say, and what the kind of their evidence means."""
    notices = [notice(code) for modality in sorted(lists) for code in lists[modality].warnings]
    if query.translated:
        notices.append(notice("also_in_english", words=", ".join(query.english)))
    if query.terms.cut and query.literal is None:
        notices.append(notice("words_left_out", count=MOST_TERMS))
    if _are_all_fuzzy(entries):
        notices.append(notice("fuzzy_only"))
    elif entries and query.literal is not None and Modality.TEXT in lists and not any(map(_is_text_match, _evidence(entries))):
        notices.append(notice("no_literal_match"))
    return notices


def _are_all_fuzzy(entries: Sequence[Entry]) -> bool:
    """Whether there is evidence, and none of it is exact; ends at the first that is."""
    first = next(_evidence(entries), None)
    return first is not None and all(item.fuzzy for item in _evidence(entries))


def _evidence(entries: Iterable[Entry]) -> Iterator[Evidence]:
    return (item for entry in entries for item in entry.chunk.evidence)


def fallback_notice(query: RetrievalQuery, asked: RankedList | None) -> Notice | None:
    """What the direct route did not find, when it was asked for a name, answered, and had nothing, not even a similar name."""
    if asked is None or asked.files or not query.classification.operands:
        return None
    code = _NOT_FOUND.get(query.classification.intent)
    return notice(code, name=query.classification.operands[0]) if code else None


def _is_text_match(evidence: Evidence) -> bool:
    return evidence.modality is Modality.TEXT and not evidence.fuzzy
