"""The table of names by which programs reach what they do not name."""

from __future__ import annotations

from app.languages.registry import registry
from app.retrievers.blind_spots import KINDS, dynamic_names


def test_the_table_knows_only_languages_and_kinds_that_there_are() -> None:
    names = dynamic_names()
    assert {language for language, _ in names} <= registry().languages.keys()
    assert set(names.values()) == KINDS


def test_each_language_has_its_own_names() -> None:
    names = dynamic_names()
    assert names["python", "getattr"] == "reflection"
    assert names["python", "import_module"] == "dynamic_import"
    assert names["ruby", "instance_eval"] == "evaluation"
    assert ("go", "getattr") not in names
