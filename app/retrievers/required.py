"""The literals that must occur in a text for a pattern to match in it: what the trigram index can be asked.

RE2 has compiled the pattern before, so this reads its syntax only as far as needed and takes what it does not know for "anything". The
rules are those of RE2's own prefilter: a part of a pattern either is one of a few strings, or has a condition; neighbours multiply their
strings while these are few, and after something unknown a new string begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

MOST_STRINGS: Final = 16
LONGEST_STRING: Final = 60
"""Code points of a literal that the index is asked for; the rest is checked with the whole anyway."""

_MOST_REPEATS: Final = 40
_DEEPEST: Final = 150

_CONTROLS: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_REPEAT: Final = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_NAMED_GROUP: Final = re.compile(r"\?P?<[^>]*>")
_FLAGS: Final = re.compile(r"\?([imsU]*)(?:-([imsU]*))?([:)])")
_HEX: Final = re.compile(r"x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_OCTAL: Final = re.compile(r"[0-7]{1,3}")
_PROPERTY: Final = re.compile(r"[pP](?:\{[^}]*\}|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Atom:
    """A string that must occur; with ``any_case`` in any case."""

    text: str
    any_case: bool = False


@dataclass(frozen=True, slots=True)
class InOrder:
    """Strings that must occur one behind the other, none overlapping the next: one question where ``AllOf`` has several."""

    parts: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Condition, ...]


Condition: TypeAlias = Atom | InOrder | AllOf | AnyOf

ALWAYS: Final = AllOf(())
NEVER: Final = AnyOf(())


def literal_condition(literal: str, *, any_case: bool) -> Condition:
    """What texts must hold so that the literal occurs in them; of a literal of several lines, a part of each."""
    return all_of(Atom(line[:LONGEST_STRING], any_case) for line in literal.split("\n"))


def pattern_condition(pattern: str, *, any_case: bool) -> Condition:
    """What a text must hold for the valid ``pattern`` to match in it; NEVER when it needs a line end, which no line has."""
    try:
        return _Reader(pattern).read(any_case)
    except _Unsure:
        return ALWAYS


def all_of(conditions: Iterable[Condition]) -> Condition:
    parts: dict[Condition, None] = {}
    for condition in conditions:
        if condition == NEVER:
            return NEVER
        if isinstance(condition, AllOf):
            parts.update(dict.fromkeys(condition.parts))
        elif not (isinstance(condition, Atom) and not condition.text):
            parts[condition] = None
    return next(iter(parts)) if len(parts) == 1 else AllOf(tuple(parts))


def in_order(conditions: Iterable[Condition]) -> Condition:
    """What holds for a text in which a match of each condition stands behind that of the one before."""
    pieces = [piece for condition in conditions for piece in (condition.parts if isinstance(condition, AllOf) else (condition,))]
    atoms: dict[bool, list[Atom]] = {}
    for piece in pieces:
        for atom in piece.parts if isinstance(piece, InOrder) else (piece,) if isinstance(piece, Atom) and piece.text else ():
            atoms.setdefault(atom.any_case, []).append(atom)
    lines = (InOrder(tuple(line)) if len(line) > 1 else line[0] for line in atoms.values())
    return all_of([*lines, *(piece for piece in pieces if not isinstance(piece, Atom | InOrder))])


def any_of(conditions: Iterable[Condition]) -> Condition:
    parts: dict[Condition, None] = {}
    for condition in conditions:
        if condition == ALWAYS or (isinstance(condition, Atom) and not condition.text):
            return ALWAYS
        parts.update(dict.fromkeys(condition.parts if isinstance(condition, AnyOf) else (condition,)))
    kept = [part for part in parts if not _holds_another(part, parts)]
    return kept[0] if len(kept) == 1 else AnyOf(tuple(kept))


def _holds_another(part: Condition, others: Iterable[Condition]) -> bool:
    """Whether another of the strings is part of this one: then asking for the shorter is enough."""
    return isinstance(part, Atom) and any(
        isinstance(other, Atom) and other != part and other.any_case == part.any_case and other.text in part.text for other in others
    )


class _Unsure(Exception):
    """Nested too deep, or a repetition of who knows what."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part of the pattern matches: one of ``strings``, or, when that is None, something in a text of this ``condition``."""

    condition: Condition = ALWAYS
    strings: frozenset[str] | None = None
    any_case: bool = False

    def needed(self) -> Condition:
        if self.strings is None:
            return self.condition
        return any_of(Atom(text[:LONGEST_STRING], self.any_case) for text in sorted(self.strings))


_ANYTHING: Final = _Part()
_NOTHING: Final = _Part(strings=frozenset({""}))


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def read(self, any_case: bool) -> Condition:
        return self._alternatives(any_case).needed()

    def _alternatives(self, any_case: bool) -> _Part:
        """Up to the end of the group. A flag that is set in one alternative holds for the next ones too."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Unsure
        branches: list[_Part] = []
        while not branches or self._take("|"):
            part, any_case = self._sequence(any_case)
            branches.append(part)
        self._depth -= 1
        return _either(branches)

    def _sequence(self, any_case: bool) -> tuple[_Part, bool]:
        conditions: list[Condition] = []
        run = _NOTHING
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            flags = _FLAGS.match(self._pattern, self._at + 1) if self._pattern[self._at] == "(" else None
            if flags and flags[3] == ")":
                self._at = flags.end()
                any_case = _with_flags(any_case, flags)
                continue
            part = self._quoted(any_case) if self._take(r"\Q") else self._repeated(self._one(any_case))
            joined = _joined(run, part)
            if joined is not None:
                run = joined
                continue
            conditions.append(run.needed())
            run = part
            if part.strings is None:
                conditions.append(part.condition)
                run = _NOTHING
        return (_Part(in_order([*conditions, run.needed()])) if conditions else run), any_case

    def _quoted(self, any_case: bool) -> _Part:
        """The text between \\Q and \\E, or the pattern's end. A repetition behind it is one of its last character."""
        text, _, _ = self._pattern[self._at :].partition(r"\E")
        self._at += len(text) + len(r"\E")
        if not text and self._pattern[self._at : self._at + 1] in ("*", "+", "?", "{"):
            raise _Unsure
        last = self._repeated(_Part(strings=frozenset({text[-1:]}), any_case=any_case))
        return _joined(_Part(strings=frozenset({text[:-1]}), any_case=any_case), last) or _Part(
            in_order([Atom(text[:-1], any_case), last.needed()])
        )

    def _one(self, any_case: bool) -> _Part:
        character = self._next()
        if character == "(":
            return self._group(any_case)
        if character == "[":
            return self._class(any_case)
        if character == ".":
            return _ANYTHING
        if character in "^$":
            return _NOTHING
        if character in "*+?" or _REPEAT.match(self._pattern, self._at - 1):
            raise _Unsure
        if character != "\\":
            return _character(character, any_case)
        if self._take("b") or self._take("B") or self._take("A") or self._take("z"):
            return _NOTHING
        escaped = self._escaped()
        return _ANYTHING if escaped is None else _character(escaped, any_case)

    def _group(self, any_case: bool) -> _Part:
        if flags := _FLAGS.match(self._pattern, self._at):
            self._at = flags.end()
            any_case = _with_flags(any_case, flags)
        elif named := _NAMED_GROUP.match(self._pattern, self._at):
            self._at = named.end()
        part = self._alternatives(any_case)
        self._take(")")
        return part

    def _repeated(self, part: _Part) -> _Part:
        while self._at < len(self._pattern):
            repeat = _REPEAT.match(self._pattern, self._at)
            if self._take("*"):
                part = _ANYTHING
            elif self._take("?"):
                part = _either([part, _NOTHING])
            elif self._take("+"):
                part = _Part(part.needed())
            elif repeat:
                self._at = repeat.end()
                part = _times(part, int(repeat[1]), exactly=repeat[2] is None or repeat[3] == repeat[1])
            else:
                break
            self._take("?")
        return part

    def _class(self, any_case: bool) -> _Part:
        """A class of few characters is as good as so many strings; others are anything."""
        unknown = self._take("^")
        characters: set[str] = set()
        first = True
        while self._at < len(self._pattern) and (first or self._pattern[self._at] != "]"):
            first = False
            if self._pattern.startswith("[:", self._at) and (end := self._pattern.find(":]", self._at)) >= 0:
                self._at, unknown = end + 2, True
                continue
            low = self._class_character()
            high = low
            if self._pattern.startswith("-", self._at) and not self._pattern.startswith("-]", self._at):
                self._at += 1
                high = self._class_character()
            if low is None or high is None or ord(high) - ord(low) >= MOST_STRINGS:
                unknown = True
            else:
                characters.update(map(chr, range(ord(low), ord(high) + 1)))
        self._take("]")
        characters.discard("\n")
        if unknown or not 0 < len(characters) <= MOST_STRINGS:
            return _ANYTHING
        return _either([_character(character, any_case) for character in sorted(characters)])

    def _class_character(self) -> str | None:
        character = self._next()
        return self._escaped() if character == "\\" else character

    def _escaped(self) -> str | None:
        """The character that stands behind a backslash; None for a class of characters, or whatever else it may be."""
        if (octal := _OCTAL.match(self._pattern, self._at)) or (octal := _HEX.match(self._pattern, self._at)):
            self._at = octal.end()
            groups = octal.groups()
            code = int(groups[0] or groups[1], 16) if groups else int(octal[0], 8)
            return chr(code) if code <= 0x10FFFF else None
        if known := _PROPERTY.match(self._pattern, self._at):
            self._at = known.end()
            return None
        character = self._next()
        if character.isascii() and character.isalnum():
            return _CONTROLS.get(character)
        return character or None

    def _next(self) -> str:
        character = self._pattern[self._at : self._at + 1]
        self._at += 1
        return character

    def _take(self, text: str) -> bool:
        if not self._pattern.startswith(text, self._at):
            return False
        self._at += len(text)
        return True


def _with_flags(any_case: bool, flags: re.Match[str]) -> bool:
    if "i" in flags[1]:
        return True
    return any_case and "i" not in (flags[2] or "")


def _character(character: str, any_case: bool) -> _Part:
    if character == "\n":
        return _Part(strings=frozenset())
    return _Part(strings=frozenset({character}), any_case=any_case and character.lower() != character.upper())


def _joined(first: _Part, second: _Part) -> _Part | None:
    """The strings of two neighbours as one part; None when one has none or there would be too many."""
    if first.strings is None or second.strings is None or len(first.strings) * len(second.strings) > MOST_STRINGS:
        return None
    strings = frozenset(before + after for before, after in product(first.strings, second.strings))
    return _Part(strings=strings, any_case=first.any_case or second.any_case)


def _either(parts: list[_Part]) -> _Part:
    if len(parts) == 1:
        return parts[0]
    strings: frozenset[str] = frozenset()
    for part in parts:
        if part.strings is None:
            return _Part(any_of(each.needed() for each in parts))
        strings |= part.strings
    if len(strings) > MOST_STRINGS:
        return _Part(any_of(each.needed() for each in parts))
    return _Part(strings=strings, any_case=any(part.any_case for part in parts))


def _times(part: _Part, least: int, *, exactly: bool) -> _Part:
    """``part`` that stands ``least`` times, or more often when not ``exactly``."""
    if least == 0:
        return _either([part, _NOTHING]) if exactly else _ANYTHING
    repeated = part
    for _ in range(min(least, _MOST_REPEATS) - 1):
        joined = _joined(repeated, part)
        if joined is None:
            return _Part(part.needed())
        repeated = joined
    return repeated if exactly and least <= _MOST_REPEATS else _Part(repeated.needed())
