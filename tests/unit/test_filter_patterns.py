"""Each filter is one regular expression to the database, however many values it has: it keeps few of those that it has read."""

from __future__ import annotations

import re
from dataclasses import replace

from app.domain.globs import split_globs
from app.domain.query import Filters
from app.retrievers.scope import scope_arguments

from .search_doubles import retrieval_query


def test_many_values_are_one_pattern() -> None:
    many = tuple(f"a{number}*" for number in range(100))
    filters = Filters(paths=(*many, *(f"!{glob}" for glob in many)), symbols=many, without=many)
    arguments = scope_arguments(replace(retrieval_query(), filters=filters))
    assert [len(patterns) for patterns in arguments if isinstance(patterns, list) and patterns and isinstance(patterns[0], str)] == [1] * 4


def test_one_pattern_means_what_its_parts_do() -> None:
    (include,), (exclude,) = split_globs(["*.py", "/docs/**", "!tests", "!a|b"])
    assert [bool(re.search(include, path)) for path in ("x/y.py", "docs/z.md", "src/docs/z.md", "y.pyc")] == [True, True, False, False]
    assert [bool(re.search(exclude, path)) for path in ("x/tests/y", "a|b", "a", "b")] == [True, True, False, False]
