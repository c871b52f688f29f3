"""The query text, checked and taken apart: what to look for, and the filters of the text and of the request together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from app.domain.chunk_id import parse_chunk_id
from app.domain.errors import InvalidRequest
from app.domain.expression import EVERYTHING, Expression, terms
from app.domain.language_names import LanguageNames
from app.domain.matching import LARGEST_PROGRAM, matcher
from app.domain.query import Filters, Modality, SearchRequest
from app.domain.ranking import Notice
from app.domain.symbol_id import parse_id
from app.search.notices import filter_notice, language_notices, notice
from app.search.query_language import Understood, filters_like, understand

LONGEST_QUERY: Final = 10_000
"""Characters."""

MOST_TERMS: Final = 50
"""In a boolean expression; each is looked for in every candidate."""


MOST_VALUES: Final = 100
MOST_GLOBS: Final = 10_000
"""Characters of all globs together: each file is held against each of them."""

MOST_TOLD: Final = 5
"""Warnings of one kind."""

ANY_LANGUAGE: Final = LanguageNames()


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """``literal``: the whole text is one literal (with ``filters.regex`` one pattern) or the words of ``expression``, never a question.

    ``listing``: the query has filters and nothing to look for; then everything that passes them is an answer.
    """

    text: str
    filters: Filters
    literal: bool
    expression: Expression | None = None
    listing: bool = False
    warnings: tuple[Notice, ...] = ()

    @property
    def rule(self) -> str:
        """Which rule of the query language made the route plain; it stands where a classifier's rule would."""
        if self.listing:
            return "filters"
        return "expression" if self.expression is not None else "regex" if self.filters.regex else "literal"


def parse(request: SearchRequest, languages: LanguageNames = ANY_LANGUAGE) -> ParsedQuery:
    """``languages``: what languages may be called.

    Raises InvalidRequest for a text that is empty, too long, cannot be stored as UTF-8 text, or is no pattern where it should be one.
    """
    if len(request.query) > LONGEST_QUERY:
        raise InvalidRequest(f"the query is longer than {LONGEST_QUERY:,} characters", field="query")
    literal = request.literal or request.filters.regex
    # The blanks around a question mean nothing; those of a literal may be what is looked for.
    text = request.query if literal else request.query.strip()
    if request.like or request.unlike:
        _check_examples(request, text)
    elif not text and not _lists(request.filters):
        raise InvalidRequest("the query is empty", field="query")
    if "\0" in text:
        raise InvalidRequest("the query contains a NUL character", field="query")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidRequest("the query contains half of a surrogate pair", field="query")
    if literal or (request.like and not text):
        parsed = ParsedQuery(text, _exact_filters(text, request.filters) if literal else request.filters, literal)
    else:
        parsed = _read(understand(text, request.filters), request)
    _check_size(parsed.filters, request.filters)
    return _with_languages(parsed, languages)


def _check_size(filters: Filters, given: Filters) -> None:
    """The text of a query may have no more values of a filter than its fields may; ``given``: what the fields have."""
    for name in ("languages", "paths", "kinds", "symbols", "without", "repositories"):
        values = getattr(filters, name)
        field = f"filters.{name}" if values == getattr(given, name) else "query"
        if len(values) > MOST_VALUES:
            raise InvalidRequest(f"{len(values)} {name} are filtered by; at most {MOST_VALUES} are allowed", field=field)
        if name in ("paths", "repositories") and sum(map(len, values)) > MOST_GLOBS:
            raise InvalidRequest(f"the globs have more than {MOST_GLOBS:,} characters together", field=field)


def _with_languages(parsed: ParsedQuery, languages: LanguageNames) -> ParsedQuery:
    """The languages of the filters as the index calls them; a name that no language has is told of."""
    found, unknown = languages.known_as(parsed.filters.languages)
    warnings = (*parsed.warnings, *language_notices(unknown[:MOST_TOLD], languages))
    return replace(parsed, filters=replace(parsed.filters, languages=found), warnings=warnings)


def _read(said: Understood, request: SearchRequest) -> ParsedQuery:
    warnings = [notice("not_a_filter", text=text) for text in said.ignored[:MOST_TOLD]]
    warnings += [filter_notice(text, filters_like(text)) for text in said.unknown[:MOST_TOLD]]
    warnings += [notice("filters_hold_everywhere")] if said.everywhere else []
    if said.expression is None:
        listing = not said.text.strip() and not request.like
        by_text = listing and not (said.filters.kinds or said.filters.symbols)
        return ParsedQuery(said.text, said.filters, by_text, EVERYTHING if by_text else None, listing, tuple(warnings))
    if request.like or request.unlike:
        raise InvalidRequest("a boolean expression cannot be compared with examples", field="like")
    used = [*terms(said.expression), *terms(said.expression, positive=False)]
    if len(used) > MOST_TERMS:
        raise InvalidRequest(f"the expression has {len(used)} terms; at most {MOST_TERMS} are allowed", field="query")
    if [*used] == [said.expression] and used[0].regex:
        filters = _exact_filters(used[0].text, replace(said.filters, regex=True))
        return ParsedQuery(used[0].text, filters, True, warnings=tuple(warnings))
    size = 0
    for term in used:
        size += term.matcher.size  # raises for what is no pattern
        if size > LARGEST_PROGRAM:
            raise InvalidRequest("the patterns are too large together: repeat less or fewer characters", field="query")
    return ParsedQuery(said.text, said.filters, True, said.expression, warnings=tuple(warnings))


def _lists(filters: Filters) -> bool:
    """Whether there is something to list when nothing is looked for."""
    return not filters.regex and any((filters.languages, filters.paths, filters.kinds, filters.symbols, filters.without))


def _check_examples(request: SearchRequest, text: str) -> None:
    """Examples are compared by meaning, with a question beside them or without."""
    for field, ids in (("like", request.like), ("unlike", request.unlike)):
        for identifier in ids:
            if not _is_id(identifier):
                raise InvalidRequest(f"{identifier!r} is the id neither of a chunk nor of a symbol", field=field)
    if not text and not request.like:
        raise InvalidRequest("what is unlike an example may be anything; add a query or an example in `like`", field="unlike")
    if request.literal or request.filters.regex:
        raise InvalidRequest("a literal or a pattern cannot be compared with examples", field="like")
    if request.modalities not in ((), (Modality.SEMANTIC,)):
        raise InvalidRequest("examples are compared by meaning: only semantic search takes them", field="modalities")


def _is_id(text: str) -> bool:
    for parse_text in (parse_id, parse_chunk_id):
        try:
            parse_text(text)
        except ValueError:
            continue
        return True
    return False


def _exact_filters(text: str, filters: Filters) -> Filters:
    """A literal and a pattern are taken in the case given unless the caller says otherwise; there is no guess to correct."""
    filters = filters if filters.case is not None else replace(filters, case=True)
    if filters.regex:
        matcher(text, regex=True, case=filters.case is not False, word=filters.word)
    return filters
