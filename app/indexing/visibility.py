"""Whether a definition can be seen from outside its file, by the language's own rule."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from app.domain.code import Symbol, SymbolKind
from app.indexing.definition_text import begins_its_line
from app.indexing.pattern_matches import PatternMatches
from app.indexing.source_text import SourceText
from app.languages.registry import ExtractionRules, PatternRole

_WORD: Final = re.compile(r"\w+")
_OPEN: Final = frozenset({SymbolKind.INTERFACE, SymbolKind.TRAIT, SymbolKind.ENUM})
_OUTER: Final = frozenset({SymbolKind.NAMESPACE, SymbolKind.MODULE})
_HEADER_BYTES: Final = 400


class Visibility:
    """The export statements and access sections of one file, and the rule that reads them."""

    def __init__(self, rules: ExtractionRules, text: SourceText, matches: PatternMatches) -> None:
        self._rules = rules
        self._text = text
        self._names = {text.of(captures["exported"][0]) for captures in matches.marks("exported")}
        spans = sorted((node.start_byte, node.end_byte) for captures in matches.marks("export") for node in captures["export"])
        self._export_starts = [start for start, _ in spans]
        self._export_ends = [end for _, end in spans]
        self._sections: dict[int | None, str] = {}
        self._open: set[int] = set()
        self._words_decide = bool(rules.exported_words or rules.hidden_words or rules.hidden_words_outside_types)

    def begin_section(self, container: int | None, word: str) -> None:
        """``private``, ``protected`` or ``public`` on a line of its own: it holds for the members that follow."""
        self._sections[container] = word

    def exported(
        self,
        name: str,
        qualified: str,
        name_start: int,
        start: int,
        role: PatternRole,
        index: int,
        parent: Symbol | None,
        container: int | None,
    ) -> bool:
        """Exported itself and in nothing that is hidden; what a callable defines stays inside it."""
        if "members_exported" in role.settings:
            self._open.add(index)
        if parent and (parent.kind.is_callable or not parent.exported):
            return False
        if "exported" in role.settings:
            return True
        if "hidden" in role.settings:
            return False
        rules = self._rules
        if any(name.startswith(prefix) for prefix in rules.hidden_prefixes) and not (name.startswith("__") and name.endswith("__")):
            return False
        if rules.exported_capitals:
            return name[:1].isupper()
        if rules.exported_by_statement and (parent is None or parent.kind in _OUTER):
            if rules.exported_without_statement and not self._export_starts:
                return True
            return name in self._names or qualified.partition(".")[0] in self._names or self._in_export(start)
        return self._by_words(name_start, start, parent, container)

    def _in_export(self, position: int) -> bool:
        index = bisect_right(self._export_starts, position) - 1
        return index >= 0 and position < self._export_ends[index]

    def _by_words(self, name_start: int, start: int, parent: Symbol | None, container: int | None) -> bool:
        rules, text = self._rules, self._text
        words: set[str] = set()
        if self._words_decide:
            if begins_its_line(text, start):
                start = text.line_starts[text.row(start)]
            words.update(_WORD.findall(text.slice(max(start, name_start - _HEADER_BYTES), name_start)))
        if not words.isdisjoint(rules.exported_words):
            return True
        if not words.isdisjoint(rules.hidden_words):
            return False
        in_type = parent is not None and parent.kind.is_type and parent.kind not in _OUTER
        if not in_type and not words.isdisjoint(rules.hidden_words_outside_types):
            return False
        if parent is not None and (section := self._sections.get(container)):
            return section == "public"
        if parent is not None and (parent.kind in _OPEN or container in self._open):
            return True
        return rules.exported and not (parent is not None and parent.kind.value in rules.members_hidden_in)
