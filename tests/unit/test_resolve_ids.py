"""Symbol ids: stable over edits, distinct, and the same as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.symbol_id import external_id, file_symbol_id, format_id, parse_id, symbol_id
from tests.unit.resolve_cases import facts


def test_ids_survive_an_edit_above_and_tell_namesakes_apart() -> None:
    source = "def f(): pass\nclass A:\n    def f(self): pass\ndef f(): pass\n"
    before, after = facts({"a.py": source})[0], facts({"a.py": "import os\n\n" + source})[0]
    assert list(before.symbol_ids) == list(after.symbol_ids)
    assert len(set(before.symbol_ids)) == 4


def test_the_scheme_is_fixed() -> None:
    assert symbol_id("src/a.py", "function", "f", 0) == parse_id("f2445a741ca231ca")
    assert len({symbol_id("a", "b", "c", 0), symbol_id("a", "b", "c", 1), file_symbol_id("a"), external_id("python", "a")}) == 4


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_text_form_goes_there_and_back(identifier: int) -> None:
    assert parse_id(format_id(identifier)) == identifier


@pytest.mark.parametrize("text", ["", "12", "g" * 16, "A" * 16, "-" + "1" * 15])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="symbol id"):
        parse_id(text)
