"""Reads a question's intent from its shape: an ordered list of rules, the first match wins (1-search.md, "Intent classification").

No model and no I/O. The rules are rows of ``app/intents/*.toml``; ``docs/intents.md`` tells how to write one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import re2

from app.domain.query import Classification, Intent, Relation
from app.search.intent_rules import IntentTables, OperandKind, Pattern, Rule, Scope
from app.search.intent_tables import read_tables
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


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A pattern that matches, with its rule; ``place`` orders candidates as the tables do."""

    place: tuple[int, int]
    rule: Rule
    pattern: Pattern


class Classifier:
    """The compiled tables. Holds no state between calls and may be shared by threads."""

    def __init__(self, tables: IntentTables) -> None:
        self.tables = tables
        self._operands = OperandReader(tables.vocabulary)
        rules = list(enumerate(tables.rules))
        self._sets = {scope: _PatternSet([(place, rule) for place, rule in rules if rule.scope is scope]) for scope in Scope}
        self._opening = _one_of(tables.openings, "^(?:%s)+")
        self._closing = _one_of(tables.closings, "(?:%s)+$")

    def classify(self, query: str) -> Classification:
        """Intent, confidence in (0, 1], the rule that fired, and operands, each a substring of ``query``."""
        text = _Excerpt(_SURROGATES.sub("\ufffd", query[:LONGEST_TEXT]), 0)
        question = self._question(text)
        candidates = [(candidate, text) for candidate in self._sets[Scope.TEXT].matching(text.text)]
        if question.text:
            candidates += [(candidate, question) for candidate in self._sets[Scope.LINE].matching(question.text)]
        for candidate, excerpt in sorted(candidates, key=lambda item: item[0].place):
            found = self._apply(candidate, excerpt, query)
            if found is not None:
                return found
        mentioned = self._operands.mentioned(query[question.start : question.start + len(question.text)])
        return Classification(Intent.UNDERSTAND_CODE, _FALLBACK_CONFIDENCE, FALLBACK, mentioned)

    def warm(self) -> None:
        """Read every rule's examples: RE2 builds its automaton as texts are met, and the first ones wait for it (about 0.3 s in all)."""
        for rule in self.tables.rules:
            for example in rule.examples:
                self.classify(example)

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

    def _apply(self, candidate: _Candidate, excerpt: _Excerpt, query: str) -> Classification | None:
        rule, group = candidate.rule, candidate.pattern.operand_group
        if any(veto.compiled.search(excerpt.text) for veto in rule.unless):
            return None
        match = candidate.pattern.compiled.search(excerpt.text)
        if match is None:
            return None
        start, end = match.span(group) if group else (-1, -1)
        named = start >= 0
        captured = query[excerpt.start + start : excerpt.start + end] if named else query[excerpt.start : excerpt.start + len(excerpt.text)]
        if rule.operand in (OperandKind.LITERAL, OperandKind.TEXT):
            literal = self._operands.literal(captured) if rule.operand is OperandKind.LITERAL else captured.strip()
            return Classification(rule.intent, rule.confidence, rule.name, (literal,)) if literal else None
        operand = self._operands.read(captured) if named else Operand(Naming.NOTHING)
        confidence = _confidence(rule, operand)
        if confidence is None:
            return None
        if rule.operand is OperandKind.NAME and operand.naming is not Naming.NAME:
            operand = Operand(Naming.NOTHING)
        if rule.intent is Intent.UNDERSTAND_CODE:
            line = query[excerpt.start : excerpt.start + len(excerpt.text)]
            names = tuple(dict.fromkeys((*operand.names, *self._operands.mentioned(line))))
            return Classification(rule.intent, confidence, rule.name, names)
        relation = (
            self._relation(excerpt.text, start, end, outgoing=rule.outgoing)
            if rule.intent is Intent.FIND_REFERENCES and operand.names
            else None
        )
        missing = not operand.names
        return Classification(rule.intent, confidence, rule.name, operand.names, missing, relation, rule.outgoing)

    def _relation(self, text: str, start: int, end: int, *, outgoing: bool) -> Relation | None:
        """The one kind of use that the words around the operand ask for; None where they ask for several or for any.

        Who calls a function is also who hands it on.
        """
        words = f"{text[:start]} {text[end:]}" if start >= 0 else text
        said = [relation for relation, patterns in self.tables.relations.items() if any(p.compiled.search(words) for p in patterns)]
        return said[0] if len(said) == 1 and (outgoing or said[0] is not Relation.CALLS) else None


class _PatternSet:
    """All patterns of one scope, matched in one pass over the text; hundreds of single searches would cost a millisecond."""

    def __init__(self, rules: Sequence[tuple[int, Rule]]) -> None:
        self._candidates: list[_Candidate] = []
        options = re2.Options()
        options.max_mem = _AUTOMATON_BYTES
        self._set = re2.Set.SearchSet(options)
        for place, rule in rules:
            for pattern in rule.patterns:
                self._candidates.append(_Candidate((place, self._set.Add(pattern.text)), rule, pattern))
        self._set.Compile()

    def matching(self, text: str) -> list[_Candidate]:
        # The set answers None when nothing matches.
        return [self._candidates[index] for index in self._set.Match(text) or ()]


def _one_of(patterns: Sequence[Pattern], form: str) -> re2._Regexp | None:
    """``form`` with its ``%s`` standing for any of the patterns."""
    return re2.compile(form % "|".join(pattern.text for pattern in patterns)) if patterns else None


def _stripped(excerpt: _Excerpt) -> _Excerpt:
    start = len(excerpt.text) - len(excerpt.text.lstrip())
    return excerpt.part(start, max(start, len(excerpt.text.rstrip())))


def _confidence(rule: Rule, operand: Operand) -> float | None:
    """How far the rule is to be trusted with such an operand; None when it does not apply to it."""
    match operand.naming:
        case Naming.PHRASE if rule.intent is not Intent.UNDERSTAND_CODE:
            return rule.phrase
        case Naming.NAME if operand.alone:
            return rule.confidence
        case Naming.WORD if not operand.alone:
            return rule.word or rule.phrase or rule.confidence
        case Naming.NAME | Naming.WORD:
            return rule.word or rule.confidence
        case _:
            return rule.confidence


@cache
def load_classifier() -> Classifier:
    """The classifier with the tables that ship with the package; raises ConfigurationError when one is not valid."""
    return Classifier(read_tables())


def stop_words() -> frozenset[str]:
    """The function words of questions, lower case, in all languages that have a table."""
    return load_classifier().tables.stop_words
