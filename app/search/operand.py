"""Finds the symbol in the words that a rule captured: "the class `UserRepository` in models" names UserRepository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from app.search.intent_rules import Vocabulary

# What is longer names no symbol.
_LONGEST_OPERAND = 200
_HAN = "\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(rf"[{_HAN}]+|[^\s{_HAN}，。？！；：、（）【】《》]+")
_IS_HAN = re.compile(rf"[{_HAN}]")
# The arguments of a call, which may hold blanks, are no part of its name.
_ARGUMENTS = re.compile(r"(?<=\w)\([^()]{0,500}\)")
_EDGES = "\"'`´‘’“”„«»‹›「」『』()[]{}<>,;:?!…*=@&|"
_TRAILING = _EDGES + "./\\-"
_POSSESSIVE = re.compile(r"['’]s$")
# Letters and digits joined as only code joins them. Each alternative is anchored and has one way to match.
_STRUCTURED = re.compile(
    r"""
    _+\w[\w$]*                                # _private, __init__
    | [^\W\d_][^\W_]*(?:_[^\W_]*)+            # snake_case, SCREAMING_CASE
    | [\w$]*[a-zà-öø-ÿ0-9][A-ZÀ-ÖØ-Þ]\w*      # camelCase, PascalCase
    | [A-Z]{2,}[a-zà-öø-ÿ]{2,}\w*             # HTTPServer, URLs are plural words
    | \$\w+                                   # $scope
    """,
    re.VERBOSE,
)
_JOINED = re.compile(r"[.#]?[^\W\d][\w$-]*[!?]?(?:(?:\.|::|\#|->|\\)[^\W\d][\w$-]*[!?]?)+")
_PATH = re.compile(r"(?:\.{0,2}/)?(?:[\w.@-]+/)+[\w.-]*\.\w{1,8}|(?:\.{0,2}/)(?:[\w.@-]+/)*[\w.-]+|(?:[\w.@-]+/){2,}[\w.-]*|[\w@-]+/")
# "JWT" may be a symbol and is as likely a term of the trade.
_ACRONYM = re.compile(r"[A-Z]{2,5}")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "f.eks", "bl.a", "dvs", "d.v.s", "a.k.a", "z.b", "p.ex", "vs"})


class Naming(Enum):
    """How much an operand looks like a symbol: a name, one ordinary word, several words, nothing ("this function")."""

    NAME = auto()
    WORD = auto()
    PHRASE = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Operand:
    """What was named; ``names`` are substrings of the text, most important first, and empty for a phrase or nothing.

    ``alone`` is false when other words stand beside the name.
    """

    naming: Naming
    names: tuple[str, ...] = ()
    alone: bool = True


class OperandReader:
    """Reads operands with the words of all languages."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._around = vocabulary.fillers | vocabulary.kinds | vocabulary.pointers
        self._han_around = sorted((word for word in self._around if _IS_HAN.match(word)), key=len, reverse=True)
        self._han_pointers = [word for word in vocabulary.pointers if _IS_HAN.match(word)]
        self._quoted = quotations(vocabulary.quotes)

    def read(self, text: str) -> Operand:
        """The symbol that ``text`` names. Quotes decide; else what is left without articles, kinds and places."""
        if len(text) > _LONGEST_OPERAND:
            return Operand(Naming.PHRASE)
        quoted = self.quoted(text)
        if quoted:
            return Operand(Naming.NAME, quoted)
        tokens, pointed = self._tokens(text)
        if not tokens:
            return Operand(Naming.NOTHING if pointed else Naming.PHRASE)
        head = self._before_place(tokens)
        if not head:
            return Operand(Naming.PHRASE)
        if len(head) == 1 and not _IS_HAN.match(head[0]):
            return Operand(self._naming(head[0]), _distinct([head[0], *self._structured(tokens[1:])]), alone=not self._is_thing(text))
        if len(head) == 3 and head[1].lower() in self._vocabulary.conjunctions:
            return Operand(self._naming(head[0]), (head[0], head[2]))
        structured = self._structured(tokens)
        if structured:
            return Operand(Naming.NAME, structured, alone=False)
        latin = [token for token in head if not _IS_HAN.match(token)]
        if len(latin) == 1 and len(head) > 1:
            return Operand(self._naming(latin[0]), (latin[0],), alone=False)
        return Operand(Naming.PHRASE)

    def literal(self, text: str) -> str:
        """The words as they are; what begins with a quote ends with it."""
        stripped = text.strip()
        match = self._quoted.match(stripped)
        return next(group for group in match.groups() if group is not None) if match else stripped

    def mentioned(self, text: str) -> tuple[str, ...]:
        """The names within prose: what stands in quotes and what is joined as only code joins it."""
        return _distinct([*self.quoted(text), *self._structured(_split(text))])

    def quoted(self, text: str) -> tuple[str, ...]:
        """What stands between quotes. An apostrophe, which has a letter before it, opens none."""
        found = []
        for match in self._quoted.finditer(text):
            content = next(group for group in match.groups() if group is not None).strip()
            found.append(content.removesuffix("()") if content.count("(") == 1 else content)
        return _distinct([content for content in found if content])

    def _tokens(self, text: str) -> tuple[list[str], bool]:
        """The tokens without the words around an operand; the flag tells that only a pointer ("this function") was left."""
        vocabulary = self._vocabulary
        split = _split(text)
        pointed = any(token.lower() in vocabulary.pointers or self._points(token) for token in split)
        tokens = [token for token in (self._bare(token) for token in split) if token]
        many = len(split) > 1
        while len(tokens) > 1 and tokens[0].lower() in self._around:
            tokens.pop(0)
        while len(tokens) > 1 and tokens[-1] in self._around:
            tokens.pop()
        if len(tokens) == 1 and (tokens[0].lower() in vocabulary.pointers or (many and tokens[0] in self._around)):
            tokens.pop()
        return tokens, pointed

    def _is_thing(self, text: str) -> bool:
        """Whether an article without a kind stands before the word: "the paper" is a thing, "the paper class" a symbol."""
        words = [token.lower() for token in _split(text)]
        return words[0] in self._vocabulary.fillers and not self._vocabulary.kinds.intersection(words)

    def _points(self, token: str) -> bool:
        return bool(_IS_HAN.match(token)) and any(word in token for word in self._han_pointers)

    def _bare(self, token: str) -> str:
        """A run of Han characters without the words around an operand; any other token as it is."""
        if not _IS_HAN.match(token):
            return token
        shorter = True
        while shorter and token:
            shorter = False
            for word in self._han_around:
                if token.startswith(word):
                    token, shorter = token[len(word) :], True
                elif token.endswith(word):
                    token, shorter = token[: -len(word)], True
        return token

    def _before_place(self, tokens: Sequence[str]) -> Sequence[str]:
        for index, token in enumerate(tokens):
            if token.lower() in self._vocabulary.places and len(tokens) > 1:
                return tokens[:index]
        return tokens

    def _naming(self, token: str) -> Naming:
        named = looks_named(token) and not _ACRONYM.fullmatch(token) and token.lower() not in self._vocabulary.proper_nouns
        return Naming.NAME if named else Naming.WORD

    def _structured(self, tokens: Sequence[str]) -> tuple[str, ...]:
        return _distinct([token for token in tokens if is_structured(token) and token.lower() not in self._vocabulary.proper_nouns])


def is_structured(token: str) -> bool:
    """Whether only code joins letters like this: snake_case, camelCase, ``a.b``, ``A::b``, ``A#b``, a path."""
    if token.lower().rstrip(".") in _ABBREVIATIONS:
        return False
    return any(shape.fullmatch(token) for shape in (_STRUCTURED, _JOINED, _PATH))


def looks_named(token: str) -> bool:
    """Whether a token that stands where a symbol is expected is more than an ordinary lower-case word."""
    return is_structured(token) or not token.islower() or any(character.isdigit() for character in token)


def _split(text: str) -> list[str]:
    return [token for token in (_trimmed(match[0]) for match in _TOKEN.finditer(_ARGUMENTS.sub(" ", text))) if token]


def _trimmed(token: str) -> str:
    """A token without quotes and punctuation around it, without call arguments, generics and possessive."""
    token = _POSSESSIVE.sub("", token.lstrip(_EDGES).rstrip(_EDGES + "."))
    for opening in "([<{":
        head, found, _ = token.partition(opening)
        if found and head and (head[-1].isalnum() or head[-1] in "_!?"):
            token = head
    return token if "/" in token else token.rstrip(_TRAILING)


def quotations(quotes: Sequence[tuple[str, str]]) -> re.Pattern[str]:
    """What stands between any of these pairs of quotes, a group for each pair."""
    return re.compile("|".join(_quoted(opening, closing) for opening, closing in quotes) or r"(?!)")


def _quoted(opening: str, closing: str) -> str:
    content = rf"([^{re.escape(closing)}\n]+)"
    if opening.isascii():
        # Code puts its quotes next to brackets and letters; prose leaves a gap, except in scripts without blanks.
        return rf"(?:(?<=[\s{_HAN}，：。])|(?<![\s\S])){re.escape(opening)}{content}{re.escape(closing)}(?![\w(])"
    return f"{re.escape(opening)}{content}{re.escape(closing)}"


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
