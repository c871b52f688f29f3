"""Reads a question's intent from its shape: an ordered list of rules, the first match wins (1-search.md, "Intent classification").

No model and no I/O. The rules are rows of ``app/intents/*.toml``; ``docs/intents.md`` tells how to write one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import re2

from app.domain.query import Classification, Intent
from app.search.intent_rules import IntentTables, OperandKind, Rule, Scope, read_tables
from app.search.operand import Naming, Operand, OperandReader

# A question is short; what is longer is pasted text, which only the rules of scope "text" look at.
LONGEST_QUESTION = 500
LONGEST_TEXT = 10_000
FALLBACK = "fallback"
_FALLBACK_CONFIDENCE = 0.40
# RE2 refuses lone surrogates; the stand-in keeps every offset.
_SURROGATES = re.compile("[\ud800-\udfff]")
_FINAL_PUNCTUATION = " \t\n\r?？!！.。…,，、~～\u3000\u00a0"
# All patterns of a scope share one automaton, whose states are kept up to this many bytes.
_AUTOMATON_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Excerpt:
    """A part of the query that rules look at; offsets into ``text`` are offsets into the query from ``start`` on."""

    text: str
    start: int

    def part(self, start: int, end: int) -> _Excerpt:
        return _Excerpt(self.text[start:end], self.start + start)


class Classifier:
    """The compiled tables. Holds no state between calls and may be shared by threads."""

    def __init__(self, tables: IntentTables) -> None:
        self.tables = tables
        self._operands = OperandReader(tables.vocabulary)
        self._scopes = {scope: _PatternSet([rule for rule in tables.rules if rule.scope is scope]) for scope in Scope}
        self._order = {rule.name: index for index, rule in enumerate(tables.rules)}
        self._unless = {rule.name: [_compiled(pattern) for pattern in rule.unless] for rule in tables.rules if rule.unless}
        self._opening = _compiled(rf"^(?:(?:{'|'.join(tables.openings)}))+") if tables.openings else None
        self._closing = _compiled(rf"(?:(?:{'|'.join(tables.closings)}))+$") if tables.closings else None

    def classify(self, query: str) -> Classification:
        """Intent, confidence in (0, 1], the rule that fired, and operands, each a substring of ``query``."""
        text = _Excerpt(_SURROGATES.sub("\ufffd", query[:LONGEST_TEXT]), 0)
        question = self._question(text)
        candidates = [(index, text) for index in self._scopes[Scope.TEXT].matching(text.text)]
        if question.text:
            candidates += [(index, question) for index in self._scopes[Scope.LINE].matching(question.text)]
        for pattern, excerpt in sorted(candidates, key=lambda item: (self._order[item[0].rule.name], item[0].index)):
            found = self._apply(pattern, excerpt, query)
            if found is not None:
                return found
        mentioned = self._operands.mentioned(query[question.start : question.start + len(question.text)])
        return Classification(Intent.UNDERSTAND_CODE, _FALLBACK_CONFIDENCE, FALLBACK, mentioned)

    def _question(self, text: _Excerpt) -> _Excerpt:
        """The question on one line, without courtesy and final punctuation; empty when the text is too long for one."""
        whole = _stripped(text)
        if len(whole.text) > LONGEST_QUESTION:
            first_line = whole.text.split("\n", 1)[0]
            if len(first_line) > LONGEST_QUESTION:
                return _Excerpt("", 0)
            whole = _stripped(whole.part(0, len(first_line)))
        line = _Excerpt(whole.text.replace("\n", " ").replace("\r", " "), whole.start)
        line = line.part(0, len(line.text.rstrip(_FINAL_PUNCTUATION)))
        if self._opening is not None and (match := self._opening.search(line.text)):
            line = line.part(match.end(), len(line.text))
        if self._closing is not None and (match := self._closing.search(line.text)) and match.start():
            line = line.part(0, match.start())
        return line.part(0, len(line.text.rstrip(_FINAL_PUNCTUATION)))

    def _apply(self, pattern: _Pattern, excerpt: _Excerpt, query: str) -> Classification | None:
        rule = pattern.rule
        if any(veto.search(excerpt.text) for veto in self._unless.get(rule.name, ())):
            return None
        match = pattern.compiled.search(excerpt.text)
        if match is None:
            return None
        start, end = match.span(pattern.operand_group) if pattern.operand_group else (-1, -1)
        named = start >= 0
        captured = query[excerpt.start + start : excerpt.start + end] if named else query[excerpt.start : excerpt.start + len(excerpt.text)]
        if rule.operand is OperandKind.LITERAL:
            return Classification(rule.intent, rule.confidence, rule.name, (self._literal(captured),))
        operand = self._operands.read(captured) if named else Operand(Naming.NOTHING)
        confidence = _confidence(rule, operand)
        if confidence is None:
            return None
        if rule.intent is Intent.UNDERSTAND_CODE:
            return Classification(rule.intent, confidence, rule.name, operand.names or self._operands.mentioned(captured))
        return Classification(rule.intent, confidence, rule.name, operand.names, operand_missing=not operand.names)

    def _literal(self, text: str) -> str:
        return self._operands.literal(text) if len(text) <= LONGEST_QUESTION else text.strip()


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One pattern of a rule; ``index`` is its place among all patterns of its scope."""

    rule: Rule
    index: int
    compiled: re2._Regexp
    operand_group: int


class _PatternSet:
    """All patterns of one scope, matched in one pass over the text; hundreds of single searches would cost a millisecond."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._patterns: list[_Pattern] = []
        options = re2.Options()
        options.max_mem = _AUTOMATON_BYTES
        self._set = re2.Set.SearchSet(options)
        for rule in rules:
            for text in rule.patterns:
                compiled = _compiled(text)
                self._patterns.append(_Pattern(rule, self._set.Add(text), compiled, compiled.groupindex.get("operand", 0)))
        self._set.Compile()

    def matching(self, text: str) -> Iterable[_Pattern]:
        # The set answers None when nothing matches.
        return [self._patterns[index] for index in self._set.Match(text) or ()]


def _compiled(pattern: str) -> re2._Regexp:
    return re2.compile(pattern)


def _stripped(excerpt: _Excerpt) -> _Excerpt:
    start = len(excerpt.text) - len(excerpt.text.lstrip())
    return excerpt.part(start, max(start, len(excerpt.text.rstrip())))


def _confidence(rule: Rule, operand: Operand) -> float | None:
    """How far the rule is to be trusted with such an operand; None when it does not apply to it."""
    if operand.naming is Naming.PHRASE and rule.intent is not Intent.UNDERSTAND_CODE:
        return rule.phrase
    if operand.naming is Naming.WORD and rule.word is not None:
        return rule.word
    return rule.confidence


@cache
def load_classifier() -> Classifier:
    """The classifier with the tables that ship with the package; raises ConfigurationError when one is not valid."""
    return Classifier(read_tables())


def stop_words() -> frozenset[str]:
    """The function words of questions, lower case, in all languages that have a table."""
    return load_classifier().tables.stop_words
