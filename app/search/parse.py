"""The query text, checked and taken apart. Filters inside the text will be read here; for now the text is used whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from app.domain.chunk_id import parse_chunk_id
from app.domain.errors import InvalidRequest
from app.domain.matching import matcher
from app.domain.query import Filters, Modality, SearchRequest
from app.domain.symbol_id import parse_id

LONGEST_QUERY: Final = 10_000
"""Characters."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """``literal``: the whole text is one literal (or, with ``filters.regex``, one pattern), never a question."""

    text: str
    filters: Filters
    literal: bool


def parse(request: SearchRequest) -> ParsedQuery:
    """Raises InvalidRequest for a text that is empty, too long, cannot be stored as UTF-8 text, or is no pattern where it should be one."""
    if len(request.query) > LONGEST_QUERY:
        raise InvalidRequest(f"the query is longer than {LONGEST_QUERY:,} characters", field="query")
    literal = request.literal or request.filters.regex
    # The blanks around a question mean nothing; those of a literal may be what is looked for.
    text = request.query if literal else request.query.strip()
    if request.like or request.unlike:
        _check_examples(request, text)
    elif not text:
        raise InvalidRequest("the query is empty", field="query")
    if "\0" in text:
        raise InvalidRequest("the query contains a NUL character", field="query")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidRequest("the query contains half of a surrogate pair", field="query")
    filters = replace(request.filters, languages=tuple(language.lower() for language in request.filters.languages))
    return ParsedQuery(text, _exact_filters(text, filters) if literal else filters, literal)


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
