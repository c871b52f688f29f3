"""From the text of an expression to its tree: one parser for all languages, which leaves out what it does not understand."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, TypeAlias

from app.indexing.resolution.expressions import (
    UNKNOWN,
    Argument,
    Attribute,
    Call,
    Choice,
    Collection,
    Constant,
    Each,
    Expression,
    Name,
    Slice,
    Subscript,
)

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<word>[$@]{0,2}[^\W\d][\w$]*)
      | (?P<number>\d[\w.]*)
      | (?P<string>[rbuf]?(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`))
      | (?P<sign>\?\.|->|::|=>|&&|\|\||\?\?|\.\.\.|\*\*|:=|[-+*/%<>=!&|^~]=|==|!=|<<|>>|//|\S)
    )""",
    re.VERBOSE | re.DOTALL,
)
_MEMBER: Final = frozenset({".", "?.", "->", "::", "\\"})
_EITHER: Final = frozenset({"or", "||", "??", "and", "&&"})
_NAMELESS: Final = frozenset({"lambda", "function", "async", "class", "fn", "func"})
_DEEPEST: Final = 30

_Token: TypeAlias = tuple[str, str]
_NO_TOKENS: Final[list[_Token]] = [("", "")] * 3
_ASSIGNED: Final[_Token] = ("sign", "=")
_COLON: Final[_Token] = ("sign", ":")
_ARROW: Final[_Token] = ("sign", "=>")
_COMMA: Final[_Token] = ("sign", ",")
_SPREAD: Final = frozenset({"*", "**", "..."})
_CHAIN: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_PASSED_OVER: Final = frozenset({"await", "yield", "from", "&", "*", "**", "...", "typeof", "mut", "try"})
_MADE: Final = frozenset({"new", "raise", "throw"})
_NEGATED: Final = frozenset({"not", "!", "-", "+", "~", "void", "delete"})
_LEADING: Final = _PASSED_OVER | _MADE | _NEGATED | _NAMELESS
_ENDS: Final = frozenset({"", ",", ")", "]", "}", ":", ";", "for", "else", "async"})


@lru_cache(maxsize=1 << 16)
def parse(text: str) -> Expression:
    """The tree of an expression; UNKNOWN for what is none or was cut short."""
    if _CHAIN.fullmatch(text):
        first, *members = text.split(".")
        if first not in _LEADING:
            chain: Expression = Name(first)
            for member in members:
                chain = Attribute(chain, member)
            return chain
    return _whole(_Parser(_tokens(text), is_target=False))


@lru_cache(maxsize=1 << 14)
def parse_target(text: str) -> Expression:
    """What stands left of an assignment. ``a, (b, c)`` and ``{a: b = 1}`` are collections; defaults are left out."""
    text = text if text[:1] in ("(", "[", "{") or "," not in text else f"({text})"
    return _whole(_Parser(_tokens(text), is_target=True))


def _tokens(text: str) -> list[_Token]:
    """Kind and text of each token, with enough empty ones behind the last for every look ahead."""
    return [(match.lastgroup or "", match.group(match.lastgroup or 0)) for match in _TOKEN.finditer(text)] + _NO_TOKENS


def _whole(parser: _Parser) -> Expression:
    try:
        found = parser.expressions()
        return found if parser.done else UNKNOWN
    except _NotUnderstood:
        return UNKNOWN


class _NotUnderstood(Exception):
    """The text is no expression of the kinds that are known."""


class _Parser:
    def __init__(self, tokens: list[_Token], *, is_target: bool) -> None:
        self._tokens = tokens
        self._count = len(tokens) - len(_NO_TOKENS)
        self._is_target = is_target
        self._at = 0
        self._depth = 0

    @property
    def done(self) -> bool:
        return self._at >= self._count

    def _peek(self) -> str:
        return self._tokens[self._at][1]

    def _kind(self) -> str:
        return self._tokens[self._at][0]

    def _following(self) -> _Token:
        return self._tokens[self._at + 1]

    def _take(self) -> str:
        at = self._at
        if at >= self._count:
            raise _NotUnderstood
        self._at = at + 1
        return self._tokens[at][1]

    def _expect(self, sign: str) -> None:
        if self._take() != sign:
            raise _NotUnderstood

    def expressions(self) -> Expression:
        """An expression, or several with commas between, which are a collection."""
        found = [self.expression()]
        while self._peek() == ",":
            self._take()
            if not self.done:
                found.append(self.expression())
        return found[0] if len(found) == 1 else Collection(tuple((Constant(place), value) for place, value in enumerate(found)))

    def expression(self) -> Expression:
        """An expression up to a comma, a closing bracket or the end."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NotUnderstood
        found = self._alternatives()
        self._depth -= 1
        return found

    def _alternatives(self) -> Expression:
        values = [self._operand()]
        while True:
            sign = self._peek()
            if sign in _ENDS:
                return values[0] if len(values) == 1 else Choice(tuple(values))
            if sign in _EITHER:
                self._take()
                values.append(self._operand())
            elif sign == "?" or sign == "if":
                return self._conditional(values)
            elif sign == "as" or sign == "satisfies":
                self._skip()
            elif sign == "=" and self._following() != _ASSIGNED:
                self._take()
                assigned = self.expression()
                values = values if self._is_target else [assigned]
            elif sign == "=>":
                self._skip()
                return UNKNOWN
            else:
                self._skip_operator()
                values = [UNKNOWN]

    def _conditional(self, values: list[Expression]) -> Expression:
        if self._take() == "if":
            self._operand_until("else")
            return Choice((*values, self.expression()))
        first = self.expression()
        self._expect(":")
        return Choice((first, self.expression()))

    def _operand_until(self, word: str) -> None:
        while self._peek() != word:
            self._skip_one()
        self._take()

    def _skip_operator(self) -> None:
        if self._kind() not in ("sign", "word", "number", "string"):
            raise _NotUnderstood
        self._skip_one()

    def _skip_one(self) -> None:
        """One token, or all that is in brackets."""
        sign = self._take()
        closing = {"(": ")", "[": "]", "{": "}"}.get(sign)
        if closing:
            while self._peek() != closing:
                self._skip_one()
            self._take()
        elif sign in (")", "]", "}"):
            raise _NotUnderstood

    def _skip(self) -> None:
        """Up to the next comma or closing bracket."""
        while self._peek() not in ("", ",", ")", "]", "}"):
            self._skip_one()

    def _operand(self) -> Expression:
        word = self._peek()
        if word not in _LEADING:
            return self._links(self._atom())
        if word in _PASSED_OVER:
            self._take()
            return self._operand()
        if word in _MADE:
            self._take()
            made = self._operand()
            return Call(made.callee, made.arguments, new=True) if isinstance(made, Call) else Call(made, (), new=True)
        if word in _NEGATED:
            self._take()
            self._operand()
            return UNKNOWN
        if self._is_nameless_function():
            self._skip()
            return UNKNOWN
        return self._links(self._atom())

    def _is_nameless_function(self) -> bool:
        """Whether a word that may be a name begins a function here: ``func(x)`` is a call, ``func(x) {`` is none."""
        start = self._at
        self._take()
        if self._peek() == "(":
            self._skip_one()
            literal = self._peek() in ("{", "=>", "->") or (
                self._kind() == "word" and self._peek() not in ("or", "and", "if", "for", "in", "is")
            )
        else:
            literal = self._kind() == "word" or self._peek() in (":", "{", "*", "**")
        self._at = start
        return literal

    def _atom(self) -> Expression:
        kind = self._kind()
        if kind == "word":
            name = self._take()
            return Name(name)
        if kind == "number":
            number = self._take()
            return Constant(int(number)) if number.isdecimal() else UNKNOWN
        if kind == "string":
            return self._string()
        sign = self._take()
        if sign == "(":
            return self._bracketed(")")
        if sign == "[":
            return self._bracketed("]")
        if sign == "{":
            return self._mapping()
        if sign in ("::", "\\"):
            return self._atom()
        if sign == ":":  # slices without a start; Ruby's symbols
            return Slice(0) if self._kind() in ("number", "") or self._peek() == "]" else Constant(self._take())
        raise _NotUnderstood

    def _string(self) -> Expression:
        text = self._take()
        while self._kind() == "string":
            self._take()
            text = ""
        if not text or text[:1] in "fr" or (text[:1] == "`" and "${" in text):
            return UNKNOWN
        return Constant(text.strip("'\"`bu") if text[:1] in "bu" else text.strip("'\"`"))

    def _links(self, found: Expression) -> Expression:
        while True:
            sign = self._peek()
            if sign in _MEMBER:
                self._take()
                if self._kind() == "word":
                    found = Attribute(found, self._take())
                elif self._peek() not in ("(", "["):  # f?.()
                    raise _NotUnderstood
            elif sign == "(":
                self._take()
                found = Call(found, self._arguments())
            elif sign == "[":
                self._take()
                found = Subscript(found, self._key())
            elif sign == "!" and self._following() != _ASSIGNED:
                self._take()
            elif sign == "{" and isinstance(found, Name | Attribute):  # Go's and Rust's composite literals
                self._skip_one()
                found = Call(found, (), new=True)
            else:
                return found

    def _key(self) -> Expression:
        if self._peek() == "]":
            self._take()
            return UNKNOWN
        key = self.expression()
        if self._peek() == ":":
            start = key.value if isinstance(key, Constant) and isinstance(key.value, int) else 0
            self._skip()
            key = Slice(start)
        if self._peek() == ",":
            self._skip_to("]")
            key = UNKNOWN
        self._expect("]")
        return key

    def _skip_to(self, closing: str) -> None:
        while self._peek() != closing:
            self._skip_one()

    def _arguments(self) -> tuple[Argument, ...]:
        found: list[Argument] = []
        while self._peek() != ")":
            spread = self._peek() in _SPREAD
            named = self._kind() == "word" and self._following() in (_ASSIGNED, _COLON) and self._tokens[self._at + 2] != _ASSIGNED
            name = None
            if named:
                name = self._take()
                self._take()
            value = self.expression()
            if self._peek() in ("for", "async"):
                self._skip_to(")")
                value = Each(value)
            found.append(Argument(name, value, spread))
            if self._peek() == ",":
                self._take()
        self._take()
        return tuple(found)

    def _bracketed(self, closing: str) -> Expression:
        items: list[tuple[Expression, Expression]] = []
        plain = closing == ")"
        while self._peek() != closing:
            if self._peek() == ",":  # a hole
                self._take()
                items.append((Constant(len(items)), UNKNOWN))
                continue
            starred = self._peek() in ("*", "...")
            value = self.expression()
            if self._peek() in ("for", "async"):
                self._skip_to(closing)
                self._take()
                return Each(value)
            items.append((UNKNOWN if starred else Constant(len(items)), value))
            if self._peek() == ",":
                self._take()
                plain = False
        self._take()
        if plain and len(items) == 1:
            return items[0][1]
        return Collection(tuple(items))

    def _mapping(self) -> Expression:
        items: list[tuple[Expression, Expression]] = []
        while self._peek() != "}":
            if self._peek() in ("...", "**"):
                self._take()
                items.append((UNKNOWN, self.expression()))
            else:
                items.append(self._pair(len(items)))
            if self._peek() in ("for", "async"):
                self._skip_to("}")
                self._take()
                return Each(items[-1][1])
            if self._peek() == ",":
                self._take()
        self._take()
        return Collection(tuple(items))

    def _pair(self, position: int) -> tuple[Expression, Expression]:
        bare = self._kind() == "word"
        key = self._key_of_pair()
        if self._peek() in (":", "=>"):
            self._take()
            return Constant(key.name) if bare and isinstance(key, Name) else key, self.expression()
        if self._peek() == "(":  # a method of an object: it has a symbol of its own
            self._skip()
            return key, UNKNOWN
        return (Constant(key.name) if bare and isinstance(key, Name) else Constant(position)), key

    def _key_of_pair(self) -> Expression:
        if self._peek() == "[":
            self._take()
            key = self.expression()
            self._expect("]")
            return key
        if self._kind() == "word" and self._following() in (_COLON, _ARROW, _COMMA):
            return Name(self._take())
        if self._kind() == "string" and self._following() in (_COLON, _ARROW):
            return self._string()
        return self.expression()
