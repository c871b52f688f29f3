"""The grammar of the query text: filters, exclusions and boolean expressions among the words of a question.

    query  = { filter | exclusion | word | "literal" }                     a question, with what its answer must satisfy
           | any                                                           an expression, decided by the text of chunks
    any    = all { "or" all }
    all    = { filter | [ "-" ] ( "(" any ")" | word | "literal" | regex:/…/ ) }

A question stays a question: ``or`` joins only where it stands between single terms, between parentheses or in capitals, and what does not
parse is taken as it stands. A text of several lines is code or a log and has no syntax.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

from app.domain.code import SymbolKind
from app.domain.expression import And, Expression, Not, Or, Term, terms
from app.domain.query import Filters
from app.search.tokens import FILTER_KEYS, Token, TokenKind, tokenize

_YES_NO: Final = {"yes": True, "true": True, "no": False, "false": False}
_LISTED: Final = {"repo": "repositories", "lang": "languages", "file": "paths", "symbol": "symbols", "kind": "kinds"}
_OTHER_NAMES: Final = {
    **{"repository": "repo", "repositories": "repo", "project": "repo", "language": "lang", "languages": "lang"},
    **{"path": "file", "paths": "file", "filename": "file", "folder": "file", "dir": "file", "ext": "file", "extension": "file"},
    **{"name": "symbol", "function": "symbol", "method": "symbol", "class": "symbol", "type": "kind"},
    **{"branch": "rev", "tag": "rev", "ref": "rev", "revision": "rev", "commit": "rev", "pattern": "regex", "re": "regex"},
}
"""What other programs call these filters."""

_LIKE_A_FILTER: Final = re.compile(r"-?([a-z][a-z_-]+):[^\W\d].*", re.DOTALL)
_NEGATABLE: Final = ("repo", "lang", "file")
_DEEPEST: Final = 30


@dataclass(frozen=True, slots=True)
class Understood:
    """What a query says. ``text`` is the question without filters and exclusions, exactly the query where it has none.

    ``ignored``: filters that cannot be applied, which stay in the text; so do ``unknown`` ones, which only look like filters.
    ``everywhere``: a filter was one of several alternatives, but filters hold for the whole query.
    """

    text: str
    filters: Filters
    expression: Expression | None = None
    ignored: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    everywhere: bool = False


def understand(query: str, filters: Filters) -> Understood:
    """Reads a query; ``filters`` are those that the request gives beside it, and both hold. Never raises."""
    if len(query.splitlines()) > 1:
        return Understood(query, filters)
    read = list(tokenize(query))
    tokens = [_checked(token) for token in read]
    ignored = tuple(query[token.start : token.end] for token, before in zip(tokens, read, strict=True) if token.kind is not before.kind)
    unknown = tuple(query[token.start : token.end] for token in read if token.kind is TokenKind.WORD and _looks_like_a_filter(query, token))
    applied = [token for token in tokens if token.kind is TokenKind.FILTER and token.key != "regex"]
    for token in applied:
        filters = _with(filters, token)
    rest, everywhere = _without_filters(tokens)
    expression = _expression(rest, filters)
    if expression is None:
        kept = {token.start for token in rest}
        said = _question(query, [token for token in tokens if token.start not in kept], rest, filters, ignored)
        return replace(said, unknown=unknown)
    expression, filters = _lifted(expression, filters)
    words = " ".join(term.text for term in terms(expression))
    return Understood(words, filters, expression, ignored, unknown, everywhere)


def filters_like(text: str) -> list[str]:
    """The filters that may be meant by a word that looks like one."""
    match = _LIKE_A_FILTER.fullmatch(text)
    known = {key: key for key in FILTER_KEYS} | _OTHER_NAMES
    close = get_close_matches(match[1][:30], known, n=1, cutoff=0.7) if match else []
    return [known[word] for word in close]


def _looks_like_a_filter(query: str, token: Token) -> bool:
    """Whether a word is written as a filter is: ``word:value``; an address, a place in a file and a C++ name are not."""
    return _LIKE_A_FILTER.fullmatch(query, token.start, token.end) is not None


def _checked(token: Token) -> Token:
    """The token, or a word in place of a filter that means nothing."""
    if token.kind is not TokenKind.FILTER or token.key == "regex":
        return token
    values = token.text.split(",")
    unknown = (
        (token.negated and token.key not in _NEGATABLE)
        or (token.key in ("case", "word") and token.text.lower() not in _YES_NO)
        or (token.key == "kind" and not all(value.lower() in set(SymbolKind) for value in values))
        or not any(value.strip() for value in values)
    )
    return replace(token, kind=TokenKind.WORD, text=f"{token.key}:{token.text}", negated=False) if unknown else token


def _with(filters: Filters, token: Token) -> Filters:
    if token.key == "case":
        return replace(filters, case=_YES_NO[token.text.lower()])
    if token.key == "word":
        return replace(filters, word=_YES_NO[token.text.lower()])
    if token.key == "rev":
        return replace(filters, revision=token.text)
    name = _LISTED[token.key]
    values = [token.text] if token.key in ("file", "symbol") else [value.strip() for value in token.text.split(",") if value.strip()]
    if token.key in ("kind", "lang"):
        values = [value.lower() for value in values]
    added = [("!" if token.negated else "") + value for value in values]
    changed: dict[str, Any] = {name: tuple(dict.fromkeys((*getattr(filters, name), *added)))}
    return replace(filters, **changed)


def _without_filters(tokens: Sequence[Token]) -> tuple[list[Token], bool]:
    """What is left when the filters are taken out, with an ``or`` that stood beside one and parentheses that are empty then.

    Alternatives of one filter (``lang:go or lang:rust``) are what its list means; others cannot be told apart from the rest.
    """
    if not any(map(_is_plain_filter, tokens)):
        return list(tokens), False
    rest: list[Token] = []
    everywhere = False
    for index, token in enumerate(tokens):
        beside = [tokens[at] for at in (index - 1, index + 1) if 0 <= at < len(tokens)]
        plain = [other for other in beside if _is_plain_filter(other)]
        if _is_plain_filter(token):
            continue
        if token.kind is TokenKind.OR and plain:
            everywhere |= len(plain) != 2 or plain[0].key != plain[1].key
            continue
        if token.kind is TokenKind.CLOSE and rest and rest[-1].kind is TokenKind.OPEN and rest[-1] is not tokens[index - 1]:
            rest.pop()
            continue
        rest.append(token)
    return rest, everywhere


def _is_plain_filter(token: Token) -> bool:
    return token.kind is TokenKind.FILTER and token.key != "regex"


def _question(query: str, removed: Sequence[Token], rest: Sequence[Token], filters: Filters, ignored: tuple[str, ...]) -> Understood:
    """The text without filters and exclusions, which are kept out of it only where anything is left to look for or to list."""
    excluded = [token for token in rest if token.negated and token.kind in (TokenKind.WORD, TokenKind.LITERAL)]
    if len(excluded) == len(rest) and not removed:
        excluded = []
    filters = replace(filters, without=tuple(dict.fromkeys((*filters.without, *(token.text for token in excluded)))))
    return Understood(_cut(query, [*removed, *excluded]), filters, ignored=ignored)


def _cut(query: str, tokens: Sequence[Token]) -> str:
    if not tokens:
        return query
    text, at = "", 0
    for token in sorted(tokens, key=lambda token: token.start):
        text, at = text + query[at : token.start].rstrip() + " ", token.end
    return (text + query[at:].lstrip()).strip()


def _expression(tokens: Sequence[Token], filters: Filters) -> Expression | None:
    """The tokens as a tree, None where they are a question or one lone pattern or literal."""
    patterns = [token for token in tokens if token.kind is TokenKind.FILTER]
    literals = [token for token in tokens if token.kind is TokenKind.LITERAL and not token.negated]
    words = [token for token in tokens if token.kind is TokenKind.WORD and not token.negated]
    groups = [token for token in tokens if token.kind is TokenKind.OPEN and token.negated]
    if not (patterns or groups or _has_alternatives(tokens) or (len(literals) > 1 and not words)):
        return None
    try:
        return _Parser(tokens, filters).parse()
    except _NoExpressionError:
        return None


def _has_alternatives(tokens: Sequence[Token]) -> bool:
    """Whether an ``or`` among the tokens is an operator."""
    if not any(token.kind is TokenKind.OR for token in tokens):
        return False
    runs, beside = _runs(tokens)
    if any(_is_in_capitals(tokens, index) for index in range(len(tokens))):
        return True
    return max(beside, default=0) <= 1 and max(runs, default=0) <= 2


def _is_in_capitals(tokens: Sequence[Token], index: int) -> bool:
    """``OR`` among words that are not all capitals, as they are in a statement of SQL."""
    beside = [tokens[at].text for at in (index - 1, index + 1) if 0 <= at < len(tokens)]
    return tokens[index].kind is TokenKind.OR and tokens[index].text == "OR" and any(text != text.upper() for text in beside)


def _runs(tokens: Sequence[Token]) -> tuple[list[int], list[int]]:
    """How many words follow each other, wherever they do, and wherever they do beside an ``or``."""
    runs, beside = [], []
    start = 0
    for end in range(len(tokens) + 1):
        if end < len(tokens) and tokens[end].kind is TokenKind.WORD and not tokens[end].negated:
            continue
        if length := end - start:
            runs.append(length)
            borders = [tokens[at].kind for at in (start - 1, end) if 0 <= at < len(tokens)]
            beside += [length] if TokenKind.OR in borders else []
        start = end + 1
    return runs, beside


def _lifted(expression: Expression, filters: Filters) -> tuple[Expression, Filters]:
    """Strings that no result may hold are a filter like any other; the rest stays an expression."""
    parts = expression.parts if isinstance(expression, And) else (expression,)
    excluded = [part.part.text for part in parts if isinstance(part, Not) and isinstance(part.part, Term) and not part.part.regex]
    kept = [part for part in parts if not (isinstance(part, Not) and isinstance(part.part, Term) and not part.part.regex)]
    if not excluded or not kept:
        return expression, filters
    filters = replace(filters, without=tuple(dict.fromkeys((*filters.without, *excluded))))
    return (kept[0] if len(kept) == 1 else And(tuple(kept))), filters


class _NoExpressionError(Exception):
    """The tokens do not parse; the query is taken as it stands."""


class _Parser:
    """Recursive descent, one method per rule of the grammar."""

    def __init__(self, tokens: Sequence[Token], filters: Filters) -> None:
        self._tokens = tokens
        self._filters = filters
        self._at = 0
        self._depth = 0

    def parse(self) -> Expression:
        found = self._any()
        if self._at < len(self._tokens):
            raise _NoExpressionError
        return found

    def _any(self) -> Expression:
        parts = [self._all()]
        while self._next_is(TokenKind.OR):
            self._at += 1
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _all(self) -> Expression:
        parts: list[Expression] = []
        while self._at < len(self._tokens) and not (self._next_is(TokenKind.OR) or self._next_is(TokenKind.CLOSE)):
            parts.append(self._one())
        if not parts:
            raise _NoExpressionError
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _one(self) -> Expression:
        token = self._tokens[self._at]
        self._at += 1
        found: Expression
        if token.kind is TokenKind.OPEN:
            self._depth += 1
            if self._depth > _DEEPEST:
                raise _NoExpressionError
            found = self._any()
            if not self._next_is(TokenKind.CLOSE):
                raise _NoExpressionError
            self._at += 1
            self._depth -= 1
        else:
            found = self._term(token)
        return Not(found) if token.negated else found

    def _term(self, token: Token) -> Term:
        """A word is taken in any case; a literal and a pattern in the case given, unless ``case:`` says otherwise."""
        case = self._filters.case
        any_case = token.kind is TokenKind.WORD if case is None else not case
        return Term(token.text, regex=token.kind is TokenKind.FILTER, any_case=any_case, word=self._filters.word)

    def _next_is(self, kind: TokenKind) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at].kind is kind
