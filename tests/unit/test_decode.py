from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.indexing.decode import decode, wide_encoding

JAPANESE = "# 日本語のコメントです\ndef f():\n    print('こんにちは、世界')\n"
CHINESE = "# 这是一个中文注释，说明如何解析配置文件\ndef f():\n    return '找不到文件'\n"
TRADITIONAL = "# 這是一個中文註釋，說明如何解析配置文件\ndef f():\n    return '找不到文件'\n"
KOREAN = "# 설정 파일을 읽는 함수입니다\ndef f():\n    return '파일을 찾을 수 없습니다'\n"
RUSSIAN = "# Функция читает файл настроек и возвращает словарь\ndef f():\n    return 'Файл не найден'\n"
GERMAN = "# größe der Datei in Überschrift – naïve café\nname = 'Müller'\n"
ASCII_CODE = "import os\n\n\ndef load(path):\n    return open(path).read()\n" * 200


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (CHINESE, "gb18030"),
        (TRADITIONAL, "big5"),
        (KOREAN, "cp949"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (GERMAN, "cp1252"),
    ],
)
@pytest.mark.parametrize("before", ["", ASCII_CODE])
def test_legacy_encodings_are_recognised(text: str, encoding: str, before: str) -> None:
    """Also when all but a few lines of the file are ASCII."""
    decoded = decode((before + text).encode(encoding))
    assert decoded.text == before + text
    assert decoded.encoding == encoding


@pytest.mark.parametrize("text", ["café", "// © 2010 A", "20°C", "price = '£5'", "Jürgen", "Ærø Århus", "señor ¿qué?", '"é","è"'])
def test_a_few_western_letters_are_western(text: str) -> None:
    assert decode(text.encode("latin-1")).text == text


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_byte_order_marks_decide_and_are_no_text(mark: bytes, encoding: str) -> None:
    decoded = decode(mark + JAPANESE.encode(encoding))
    assert (decoded.text, decoded.encoding) == (JAPANESE, encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", [ASCII_CODE, JAPANESE, CHINESE])
def test_wide_encodings_without_a_mark(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert wide_encoding(data[:8_191]) == encoding, "a character cut in two is no objection"
    assert decode(data).text == text


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 4, b"\0" * 1_000, b"\1\0\2\0\3\0 \0\n\0", b"text\0text", b"\x7fELF\2\1\1\0" + b"\0" * 90]
)
def test_binary_data_is_no_wide_text(data: bytes) -> None:
    assert wide_encoding(data) is None


def test_a_damaged_wide_file_keeps_what_it_says() -> None:
    decoded = decode(codecs.BOM_UTF16_LE + "name = 1\n".encode("utf-16-le") + b"\x00\xd8" + "end".encode("utf-16-le") + b"x")
    assert decoded.text.startswith("name = 1\n\\x00\\xd8")
    assert "end" in decoded.text


def test_a_stray_byte_costs_one_character() -> None:
    decoded = decode((CHINESE * 3).encode() + b"name_\xe9t\xe9 = 1\n")
    assert decoded.text == CHINESE * 3 + "name_été = 1\n"
    assert decoded.encoding == "utf-8+cp1252"


def test_a_byte_that_is_in_no_encoding_is_kept() -> None:
    assert decode(b"a\x81 \x8d = 1\n").text == "a\x81 \x8d = 1\n"


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("# -*- coding: iso-8859-2 -*-\n", "iso8859-2"),
        ('<?xml version="1.0" encoding="koi8-r"?>\n', "koi8_r"),
        ("<meta charset=gbk>\n", "gbk"),
    ],
)
def test_a_declared_encoding_is_believed(head: str, encoding: str) -> None:
    letters = {"iso8859-2": "žluťoučký", "koi8_r": "да", "gbk": "中"}[encoding]
    assert decode((head + letters).encode(encoding)).text == head + letters


@pytest.mark.parametrize("name", ["utf-7", "unicode_escape", "rot13", "hex", "punycode", "nonsense", "utf-16"])
def test_a_declaration_that_would_change_the_text_is_not(name: str) -> None:
    text = f"# coding: {name}\ns = '\\u0041 +AGE-'\n"
    assert decode(text.encode()).text == text
    assert decode(text.encode() + b"\xe9").text == text + "é"


def test_line_ends_become_line_feeds() -> None:
    assert decode(b"a\r\nb\rc\nd\r\r\n").text == "a\nb\nc\nd\n\n"
    assert decode("a\x0bb\x0cc\x85d\u2028e".encode()).text == "a\x0bb\x0cc\x85d\u2028e"


def test_nul_is_made_visible() -> None:
    assert decode(b"a\0b").text == "a␀b"


def test_nothing_is_cut() -> None:
    data = b"x" * 5_000_000 + "é".encode()
    assert len(decode(data).text) == 5_000_001
    assert decode(b"").text == ""


@given(st.binary(max_size=400))
def test_any_bytes_become_storable_text(data: bytes) -> None:
    text = decode(data).text
    text.encode("utf-8")
    assert "\0" not in text
    assert "\r" not in text
    assert "\ufffd" not in text or "\ufffd".encode() in data or b"\xfd\xff" in data or b"\xff\xfd" in data


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=300))
def test_utf8_is_read_as_it_is(text: str) -> None:
    assert decode(text.encode()).text == text.removeprefix("\ufeff")
