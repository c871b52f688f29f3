"""Definitions by their names: columns beside the plain way."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from app.domain.code import SymbolKind
from app.domain.words import folded, symbol_words
from app.storage.name_memory import NameWords
from app.storage.name_table import EXPORTED, KINDS, TOP_LEVEL, NameGroup, NameTable, packed

NAMES = st.sampled_from(["add_tax", "addTax", "_add_tax", "ADD", "tax", "Tax", "total", "x", "加税", "$"])
DEFINITIONS = st.lists(
    st.tuples(NAMES, st.integers(1, 5), st.integers(1, 1 << 30), st.integers(1, 90_000), st.sampled_from(SymbolKind), st.booleans()),
    max_size=30,
)


def table_of(definitions: list[tuple[str, int, int, int, SymbolKind, bool]]) -> NameTable:
    by_name: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for name, file_id, chunk_id, line, kind, outer in definitions:
        by_name[name].append((file_id, chunk_id, line, KINDS.index(kind), EXPORTED if outer else TOP_LEVEL))
    return NameTable(
        NameGroup(name, folded(name), symbol_words(name), packed(rows), [f"{name}#{row[1]}" for row in rows])
        for name, rows in by_name.items()
    )


@given(DEFINITIONS, st.sets(st.sampled_from(["add_tax", "addtax", "tax", "x", "none"])), st.sets(st.sampled_from(["add", "tax", "no"])))
def test_definitions_are_found_by_names_and_by_words(
    definitions: list[tuple[str, int, int, int, SymbolKind, bool]], names: set[str], words: set[str]
) -> None:
    table = table_of(definitions)
    assert len(table) == len(definitions)
    assert {table.names[number] for number in table.bearing(names)} == {row[0] for row in definitions if folded(row[0]) in names}
    assert {table.names[number] for number in table.sharing(words)} == {row[0] for row in definitions if words & {*symbol_words(row[0])}}
    numbers = table.sharing(words)
    found, at = table.definitions(numbers)
    rows = [
        (table.names[numbers[place]], int(table.files[i]), int(table.chunks[i]), int(table.lines[i]), KINDS[table.kinds[i]], bool(e))
        for i, place, e in zip(found.tolist(), at.tolist(), table.exported[found], strict=True)
    ]
    assert sorted(rows) == sorted(row for row in definitions if words & {*symbol_words(row[0])})
    assert all(table.exported[i] != table.top_level[i] for i in found.tolist())
    said = {table.qualified(numbers[place], i) for i, place in zip(found.tolist(), at.tolist(), strict=True)}
    assert said == {f"{row[0]}#{row[2]}" for row in rows}


@given(st.dictionaries(st.text("abæ购", min_size=1, max_size=4), st.integers(1, 9)), st.sets(st.text("abæ购", max_size=3)))
def test_words_are_counted_by_themselves_and_by_how_they_begin(counts: dict[str, int], asked: set[str]) -> None:
    words = NameWords(sorted(counts), [counts[word] for word in sorted(counts)])
    assert words.counted(asked, ()) == {word: count for word, count in counts.items() if word in asked}
    prefixes = [word for word in asked if word]
    assert words.counted((), prefixes) == {word: count for word, count in counts.items() if word.startswith(tuple(prefixes))}
