"""The query text cut into tokens: words, "literals", filters, ``or``, parentheses.

What is no token of the query language is a word, as it stands: an unknown ``word:``, a quotation mark without its partner, a flag such
as ``--stat`` or ``-v``. Nothing raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FILTER_KEYS: Final = ("repo", "lang", "file", "symbol", "kind", "rev", "case", "word", "regex")

_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)+)"(?=[\s)]|$)', re.DOTALL)
_PATTERN: Final = re.compile(r"/((?:[^/\\]|\\.)+)/(?=[\s)]|$)", re.DOTALL)
_KEY: Final = re.compile(rf"({'|'.join(FILTER_KEYS)}):(?=[^\s:])", re.IGNORECASE)
_EXCLUDABLE: Final = re.compile(r"[^\W\d]\w")
_BLANK: Final = re.compile(r"\s+")


class TokenKind(StrEnum):
    WORD = "word"
    LITERAL = "literal"
    FILTER = "filter"
    OR = "or"
    OPEN = "open"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Token:
    """``text`` is the value: without quotation marks, key or minus. ``start`` and ``end`` are offsets into the query."""

    kind: TokenKind
    text: str
    start: int
    end: int
    negated: bool = False
    key: str = ""


def tokenize(query: str) -> list[Token]:
    """The tokens of a query in order; what lies between them is blank."""
    return list(_Reader(query).tokens())


def unquoted(text: str) -> str:
    r"""The text between quotation marks, where ``\"`` and ``\\`` stand for themselves."""
    return re.sub(r'\\(["\\])', r"\1", text)


class _Reader:
    def __init__(self, query: str) -> None:
        self._query = query
        self._open = 0

    def tokens(self) -> list[Token]:
        found: list[Token] = []
        at = 0
        while at < len(self._query):
            blank = _BLANK.match(self._query, at)
            if blank:
                at = blank.end()
                continue
            token = self._token(at)
            found.append(token)
            at = token.end
        return found

    def _token(self, start: int) -> Token:
        negated = self._query[start] == "-"
        at = start + negated
        return self._special(start, at, negated) or self._word(start, at, negated)

    def _special(self, start: int, at: int, negated: bool) -> Token | None:
        """A literal, a filter or a parenthesis, if one begins at ``at``."""
        if literal := _QUOTED.match(self._query, at):
            return Token(TokenKind.LITERAL, unquoted(literal[1]), start, literal.end(), negated)
        if key := _KEY.match(self._query, at):
            return self._filter(start, key, negated)
        if self._query.startswith("(", at):
            self._open += 1
            return Token(TokenKind.OPEN, "(", start, at + 1, negated)
        if self._query[at : at + 1] == ")" and self._open and not negated:
            self._open -= 1
            return Token(TokenKind.CLOSE, ")", start, at + 1)
        return None

    def _filter(self, start: int, key: re.Match[str], negated: bool) -> Token | None:
        name, at = key[1].lower(), key.end()
        if name == "regex" and (pattern := _PATTERN.match(self._query, at)):
            return Token(TokenKind.FILTER, pattern[1].replace("\\/", "/"), start, pattern.end(), negated, name)
        if quoted := _QUOTED.match(self._query, at):
            return Token(TokenKind.FILTER, unquoted(quoted[1]), start, quoted.end(), negated, name)
        end = self._end_of_word(at)
        value = self._query[at:end]
        if not value or value.startswith(("//", '"')) or (name == "regex" and value.startswith("/")):
            return None
        return Token(TokenKind.FILTER, value, start, end, negated, name)

    def _word(self, start: int, at: int, negated: bool) -> Token:
        end = self._end_of_word(start)
        if negated and _EXCLUDABLE.match(self._query, at):
            return Token(TokenKind.WORD, self._query[at:end], start, end, negated=True)
        text = self._query[start:end]
        return Token(TokenKind.OR if text.lower() == "or" else TokenKind.WORD, text, start, end)

    def _end_of_word(self, start: int) -> int:
        """A word ends at a blank, or where a parenthesis closes that was opened outside of it; it has at least one character."""
        depth = 0
        for at in range(start, len(self._query)):
            character = self._query[at]
            if character.isspace():
                return at
            if character == "(":
                depth += 1
            elif character == ")":
                if depth == 0 and self._open and at > start:
                    return at
                depth -= depth > 0
        return len(self._query)
