"""The words of identifiers and questions, and the rows they have in a vector table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.embeddings.word_pieces import WordPieces, runs, words


def every_word(text: str) -> list[str]:
    return [word for run in runs(text) for word in words(run)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["get", "user", "name"]),
        ("HTTPServer_v2 = parseXML(buf)", ["http", "server", "parse", "xml", "buf"]),
        ("utf8 sha256 2024 12345678", ["utf", "sha", "256", "2024"]),
        ("snake_case__and-kebab.case", ["snake", "case", "and", "kebab", "case"]),
        ("a b_c (x) {}", []),
        ("hvor læses indstillingerne", ["hvor", "læses", "indstillingerne"]),
        ("ÆndretFil", ["ændretfil"]),
        ("查找用户name", ["查找", "找用", "用户", "name"]),
        ("見", ["見"]),
        ("e\u0301tat", ["état"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert every_word(text) == expected


def test_blobs_are_no_words() -> None:
    assert every_word("a" * 41) == []
    assert every_word("é" * 41) == []


@given(st.text())
def test_any_text_has_words_in_lower_case_without_spaces(text: str) -> None:
    for word in every_word(text):
        assert word
        assert word == word.lower()
        assert not any(character.isspace() for character in word)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_is_read_as_any_other_text(text: str) -> None:
    """The fast path finds what the slow one does: a letter of another script far away changes nothing."""
    assert every_word(text) == every_word(f"{text} \u00e9")[:-1]


VOCABULARY = ["parse", "config", "uration", "file", "net"]


def test_known_words_have_their_own_row() -> None:
    pieces = WordPieces(VOCABULARY, buckets=8)
    assert [pieces.rows(word) for word in VOCABULARY] == [[0], [1], [2], [3], [4]]


def test_an_unknown_word_has_a_bucket_and_its_longest_known_pieces() -> None:
    bucket, *rows = WordPieces(VOCABULARY, buckets=8).rows("netxconfiguration")
    assert 5 <= bucket < 13
    assert rows == [4, 1, 2]


def test_a_word_without_known_pieces_still_finds_itself() -> None:
    pieces = WordPieces(VOCABULARY, buckets=1_000)
    assert pieces.rows("查找") == pieces.rows("查找") != pieces.rows("用户")
    assert len(pieces.rows("zzz")) == 1


@given(st.text(max_size=60))
def test_rows_are_rows_of_the_table(word: str) -> None:
    rows = WordPieces(VOCABULARY, buckets=8).rows(word)
    assert rows
    assert all(0 <= row < len(VOCABULARY) + 8 for row in rows)
