"""Reads and validates the classifier's tables (``app/intents/*.toml``): every mistake in them is found at start, not by a query."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from importlib.resources import files
from typing import Any, TypeVar

import re2

from app.domain.errors import ConfigurationError
from app.domain.query import Intent, Relation
from app.search.intent_rules import Group, IntentTables, OperandKind, Pattern, Rule, Scope, Vocabulary


@dataclass(slots=True)
class _Table:
    """One file, its patterns expanded."""

    name: str
    rules: list[Rule] = field(default_factory=list)
    openings: list[Pattern] = field(default_factory=list)
    closings: list[Pattern] = field(default_factory=list)
    words: dict[str, list[str]] = field(default_factory=dict)
    quotes: list[tuple[str, str]] = field(default_factory=list)
    stop_words: list[str] = field(default_factory=list)
    relations: dict[Relation | None, Pattern] = field(default_factory=dict)


_E = TypeVar("_E", bound=StrEnum)
_WORD_LISTS = ("fillers", "kinds", "pointers", "places", "conjunctions", "proper_nouns")
_KEYS = {"language", "stop_words", "openings", "closings", "quotes", "words", "phrases", "relations", "rule"}
_ANY_RELATION = "any"
_RULE_KEYS = {item.name for item in fields(Rule)} | {"case_sensitive"}
_REFERENCE = re.compile(r"<([a-z_]+)>")
_SHARED = "any"
# Unicode's full classes make a pattern's program twenty times as large, and the start seconds slower; these ranges hold the
# letters of the scripts that code and questions are written in. They stand inside brackets.
_CLASSES = {
    r"\pL": r"A-Za-z\x{AA}-\x{24F}\x{370}-\x{1FFF}\x{3040}-\x{30FF}\x{3400}-\x{9FFF}\x{AC00}-\x{D7AF}",
    r"\p{Lu}": r"A-Z\x{C0}-\x{DE}\x{391}-\x{3A9}\x{400}-\x{42F}",
    r"\p{Ll}": r"a-z\x{DF}-\x{FF}\x{3B1}-\x{3C9}\x{430}-\x{45F}",
    r"\pN": "0-9",
    r"\p{Han}": r"\x{3400}-\x{9FFF}",
}


def read_tables() -> IntentTables:
    """Read the tables that ship with the package; raises ConfigurationError naming file, rule and fault."""
    sources = {
        entry.name.removesuffix(".toml"): entry.read_text(encoding="utf-8")
        for entry in files("app.intents").iterdir()
        if entry.name.endswith(".toml")
    }
    return parse_tables(sources)


def parse_tables(sources: Mapping[str, str]) -> IntentTables:
    """The tables in ``sources`` (language → TOML text) as one; raises ConfigurationError naming file, rule and fault."""
    # The required languages come first: where two tables claim the same words, theirs decide.
    first = (_SHARED, "en", "da", "zh")
    names = sorted(sources, key=lambda name: (first.index(name) if name in first else len(first), name))
    tables: list[_Table] = []
    shared_phrases: dict[str, str] = {}
    for name in names:
        table, phrases = _parse_table(name, sources[name], shared_phrases)
        if name == _SHARED:
            shared_phrases = phrases
        tables.append(table)
    rules = [rule for table in tables for rule in table.rules]
    _reject_duplicates(rules)
    order = list(Group)
    words = {key: frozenset(word.lower() for table in tables for word in table.words.get(key, [])) for key in _WORD_LISTS}
    return IntentTables(
        rules=tuple(sorted(rules, key=lambda rule: order.index(rule.group))),
        openings=tuple(pattern for table in tables for pattern in table.openings),
        closings=tuple(pattern for table in tables for pattern in table.closings),
        vocabulary=Vocabulary(**words, quotes=tuple(pair for table in tables for pair in table.quotes)),
        relations={
            relation: tuple(table.relations[relation] for table in tables if relation in table.relations) for relation in (None, *Relation)
        },
        stop_words_of={table.name: frozenset(word.lower() for word in table.stop_words) for table in tables},
    )


def _parse_table(name: str, source: str, shared: Mapping[str, str]) -> tuple[_Table, dict[str, str]]:
    try:
        data = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"intents/{name}.toml: {error}") from error
    _reject_unknown(f"intents/{name}.toml", data, _KEYS)
    if data.get("language") != name:
        raise ConfigurationError(f"intents/{name}.toml: language must be {name!r}, as the file's name says, not {data.get('language')!r}")
    phrases = dict(shared)
    for key, pattern in data.get("phrases", {}).items():
        phrases[key] = f"(?:{_expand(f'intents/{name}.toml, phrase {key}', pattern, phrases)})"
    _reject_unknown(f"intents/{name}.toml, words", data.get("words", {}), set(_WORD_LISTS))
    where = f"intents/{name}.toml"
    table = _Table(
        name=name,
        openings=[_pattern(f"{where}, openings", text, phrases, ignore_case=True) for text in data.get("openings", [])],
        closings=[_pattern(f"{where}, closings", text, phrases, ignore_case=True) for text in data.get("closings", [])],
        words=data.get("words", {}),
        quotes=[(pair[0], pair[1]) for pair in data.get("quotes", [])],
        stop_words=data.get("stop_words", []),
        relations={
            None if key == _ANY_RELATION else _member(f"{where}, relations", "relation", Relation, key): _pattern(
                f"{where}, relations", text, phrases, ignore_case=True
            )
            for key, text in data.get("relations", {}).items()
        },
        rules=[_parse_rule(where, row, phrases) for row in data.get("rule", [])],
    )
    return table, phrases


def _parse_rule(where: str, row: Mapping[str, Any], phrases: Mapping[str, str]) -> Rule:
    where = f"{where}, rule {row.get('name', '(without a name)')}"
    _reject_unknown(where, row, _RULE_KEYS)
    missing = {"name", "group", "intent", "confidence", "patterns", "examples"} - set(row)
    if missing:
        raise ConfigurationError(f"{where}: {', '.join(sorted(missing))} missing")
    ignore_case = not row.get("case_sensitive", False)
    return Rule(
        name=row["name"],
        group=_member(where, "group", Group, row["group"]),
        intent=_member(where, "intent", Intent, row["intent"]),
        confidence=_confidence(where, "confidence", row["confidence"]),
        patterns=_texts(where, "patterns", row["patterns"], phrases, ignore_case),
        unless=_texts(where, "unless", row["unless"], phrases, ignore_case) if "unless" in row else (),
        examples=tuple(row["examples"]),
        word=_confidence(where, "word", row["word"]) if "word" in row else None,
        phrase=_confidence(where, "phrase", row["phrase"]) if "phrase" in row else None,
        operand=_member(where, "operand", OperandKind, row.get("operand", OperandKind.SYMBOL)),
        scope=_member(where, "scope", Scope, row.get("scope", Scope.LINE)),
        outgoing=bool(row.get("outgoing", False)),
    )


def _texts(where: str, key: str, value: object, phrases: Mapping[str, str], ignore_case: bool) -> tuple[Pattern, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise ConfigurationError(f"{where}: {key} must be a list of patterns with at least one in it")
    return tuple(_pattern(where, text, phrases, ignore_case=ignore_case) for text in value)


def _pattern(where: str, text: str, phrases: Mapping[str, str], *, ignore_case: bool) -> Pattern:
    expanded = ("(?i)" if ignore_case else "") + _expand(where, text, phrases)
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(expanded, options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise ConfigurationError(f"{where}: {text!r} is no RE2 pattern: {reason}") from error
    return Pattern(expanded, compiled, compiled.groupindex.get("operand", 0))


def _expand(where: str, text: str, phrases: Mapping[str, str]) -> str:
    """Put phrases in the place of ``<name>`` and ranges in that of letter classes; ``<X>`` is the operand. ``(?P<…>…)`` stays."""

    def phrase(match: re.Match[str]) -> str:
        if text[: match.start()].endswith("(?P"):
            return match[0]
        if match[1] not in phrases:
            raise ConfigurationError(f"{where}: <{match[1]}> is not among the phrases")
        return phrases[match[1]]

    expanded = _REFERENCE.sub(phrase, text).replace("<X>", "(?P<operand>.+?)")
    for name, ranges in _CLASSES.items():
        expanded = expanded.replace(name, ranges)
    return expanded


def _member(where: str, key: str, kind: type[_E], value: object) -> _E:
    try:
        return kind(str(value))
    except ValueError as error:
        raise ConfigurationError(f"{where}: {key} {value!r} is none of {', '.join(kind)}") from error


def _confidence(where: str, key: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise ConfigurationError(f"{where}: {key} must be a number above 0 and up to 1, not {value!r}")
    return float(value)


def _reject_unknown(where: str, row: Mapping[str, Any], known: set[str]) -> None:
    unknown = set(row) - known
    if unknown:
        raise ConfigurationError(f"{where}: unknown key {', '.join(sorted(unknown))}")


def _reject_duplicates(rules: Iterable[Rule]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.name in seen:
            raise ConfigurationError(f"intents: two rules are called {rule.name!r}")
        seen.add(rule.name)
