"""What is left out, shared or let go so that a repository of any size can be resolved, and that nothing else changes by it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from app.domain.code import SymbolKind
from app.domain.facts import ResolvedEdge
from app.indexing.edges import BATCH_CHUNKS, BATCH_FILES, _batches
from app.indexing.resolve import DefinitionIndex, resolve_module
from tests.unit.resolve_cases import facts

SOURCES = {
    "include/regs.h": "#define REG_CTRL 0x10\n#define REG_STAT 0x14\nstruct dev { int id; };\nint dev_open(struct dev *d);\n",
    "src/dev.c": '#include "regs.h"\nstatic int last;\nint dev_open(struct dev *d)\n{\n\tlast = d->id;\n\treturn REG_CTRL;\n}\n',
    "src/main.c": '#include "regs.h"\nint main(void)\n{\n\tstruct dev d;\n\treturn dev_open(&d) + REG_STAT;\n}\n',
    "src/ops.c": "enum m { FAST };\nint ops_run(enum m m)\n{\n\treturn m == FAST;\n}\nint slow(void)\n{\n\treturn ops_run(1);\n}\n",
}
SPARED = {SymbolKind.FIELD, SymbolKind.ENUM_MEMBER, SymbolKind.MACRO, SymbolKind.CONSTANT, SymbolKind.VARIABLE}


def index(*, sparse: bool) -> DefinitionIndex:
    made = DefinitionIndex()
    for file in facts(SOURCES):
        made.add(file, sparse=sparse)
    return made


def edges(of: DefinitionIndex) -> dict[str, list[ResolvedEdge]]:
    references = {file.path: file.references for file in facts(SOURCES)}
    return {path: resolve_module(module, references[path], of)[0] for path, module in of.modules.items()}


def kinds() -> dict[int, SymbolKind]:
    return {identifier: symbol.kind for file in facts(SOURCES) for identifier, symbol in zip(file.symbol_ids, file.symbols, strict=True)}


def test_without_fields_values_and_macros_every_other_edge_is_found() -> None:
    known = kinds()
    whole = {path: [edge for edge in found if known.get(edge.target) not in SPARED] for path, found in edges(index(sparse=False)).items()}
    assert any(known.get(edge.target) is SymbolKind.FUNCTION for found in whole.values() for edge in found)
    assert edges(index(sparse=True)) == whole


def test_what_is_left_out_has_neither_definition_nor_name() -> None:
    module = index(sparse=True).modules["include/regs.h"]
    symbols = next(file.symbols for file in facts(SOURCES) if file.path == "include/regs.h")
    for ordinal, symbol in enumerate(symbols):
        found = module.at(ordinal)
        assert (found is None) == (symbol.kind in SPARED)
        assert found is None or (found.ordinal, found.name) == (ordinal, symbol.name)
        assert (symbol.name in module.names) == (symbol.kind not in SPARED)
    assert module.at(None) is None
    assert module.at(len(symbols)) is None


@pytest.mark.parametrize("sparse", [False, True])
def test_what_was_derived_is_found_anew(sparse: bool) -> None:
    made = index(sparse=sparse)
    first = edges(made)
    made.forget_derived_at(SOURCES)
    assert edges(made) == first
    made.forget_derived()
    assert edges(made) == first


def test_portions_are_bounded_by_files_and_by_chunks() -> None:
    sizes = {number: (number * 37) % 900 for number in range(3_000)} | {3_000: 3 * BATCH_CHUNKS}
    batches = list(_batches(sizes, sizes))
    assert [number for batch in batches for number in batch] == list(sizes)
    for batch in batches:
        assert len(batch) <= BATCH_FILES
        assert len(batch) == 1 or sum(sizes[number] for number in batch) <= BATCH_CHUNKS
    for batch, following in pairwise(batches):
        assert len(batch) == BATCH_FILES or sum(sizes[number] for number in [*batch, following[0]]) > BATCH_CHUNKS
