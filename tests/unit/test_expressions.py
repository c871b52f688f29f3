"""Expressions of any language as trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.code import Binding, BindingKind
from app.indexing.resolution.expression_parser import parse, parse_target
from app.indexing.resolution.expressions import (
    UNKNOWN,
    Argument,
    Attribute,
    Call,
    Choice,
    Collection,
    Constant,
    Each,
    Expression,
    Name,
    Slice,
    Subscript,
)
from app.storage.packed import pack, unpack

A, B, F = Name("a"), Name("b"), Name("f")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b", Attribute(A, "b")),
        ("a?.b", Attribute(A, "b")),
        ("$a->b", Attribute(Name("$a"), "b")),
        ("a::b", Attribute(A, "b")),
        ("f(a, k=b)", Call(F, (Argument(None, A), Argument("k", B)))),
        ("new f(a)", Call(F, (Argument(None, A),), new=True)),
        ("await f()", Call(F, ())),
        ("f(*a)", Call(F, (Argument(None, A, spread=True),))),
        ("func(a)", Call(Name("func"), (Argument(None, A),))),
        ("&f{x: a}", Call(F, (), new=True)),
        ("a['k']", Subscript(A, Constant("k"))),
        ("a[1:]", Subscript(A, Slice(1))),
        ("a or b", Choice((A, B))),
        ("a if b > 1 else f", Choice((A, F))),
        ("b ? a : f", Choice((A, F))),
        ("a, b", Collection(((Constant(0), A), (Constant(1), B)))),
        ("{'k': a, 'l': b}", Collection(((Constant("k"), A), (Constant("l"), B)))),
        ("{ a, k: b }", Collection(((Constant("a"), A), (Constant("k"), B)))),
        ("[f(a) for a in b]", Each(Call(F, (Argument(None, A),)))),
        ("a = b", B),
        ("a + b", UNKNOWN),
        ("lambda x: a", UNKNOWN),
        ("(x) => a", UNKNOWN),
        ("func(x int) { }", UNKNOWN),
        ("f(a", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_a_text_is_read(text: str, expected: Expression) -> None:
    assert parse(text) == expected


def test_a_target_has_no_defaults() -> None:
    assert parse_target("{ a, k: b = 1 }") == Collection(((Constant("a"), A), (Constant("k"), B)))
    assert parse_target("a, *b") == Collection(((Constant(0), A), (UNKNOWN, B)))


@given(st.text(alphabet="ab.()[]{},:=?*\"'` \n!<>|&newforif", max_size=40))
def test_any_text_is_read_without_error(text: str) -> None:
    assert parse(text) is not None
    assert parse_target(text) is not None


@given(
    st.lists(
        st.builds(Binding, st.sampled_from(BindingKind), st.text(), st.text(), st.integers(1), st.integers(1), st.none() | st.integers(0))
    )
)
def test_packed_bindings_come_back(bindings: list[Binding]) -> None:
    packed = pack(bindings)
    assert "\0" not in packed
    assert unpack(packed) == tuple(bindings)
