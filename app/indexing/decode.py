"""Bytes to text: every file that is text becomes text, whole.

A wrong guess costs a few letters; a lost file or a truncated identifier costs answers. So nothing is replaced or dropped: when no
encoding fits, each byte becomes the character of that number.

Text of the project has ``\\n`` line ends only (CRLF and CR are turned into it), so that lines are numbered as editors number them,
and no NUL, which PostgreSQL cannot hold (it becomes U+2400, its visible picture).
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from charset_normalizer import from_bytes

SAMPLE: Final = 8_192
"""Bytes from the beginning that are looked at when telling text from binary data."""

_LEGACY_SAMPLE: Final = 16_384
_BOMS: Final = (  # UTF-32 first: its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE: Final = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_DETECTED: Final = ("cp932", "euc_jp", "gb18030", "big5", "cp949", "cp1251", "koi8_r", "cp1252")
_DECLARABLE: Final = frozenset(
    {"shift_jis", "cp932", "euc_jp", "iso2022_jp", "gbk", "gb2312", "gb18030", "big5", "big5hkscs", "euc_kr", "cp949", "koi8-r", "koi8-u"}
    | {"cp437", "cp850", "cp852", "cp866", "tis-620", "mac-roman"}
    | {f"cp125{number}" for number in range(9)}
    | {f"iso8859-{number}" for number in range(1, 17)}
)
_DECLARATION: Final = re.compile(rb"(?:coding|charset)[:=]\s*[\"']?([A-Za-z0-9][\w.:-]*)", re.IGNORECASE)
_LINE_END: Final = re.compile(r"\r\n?")
_FOREIGN_LINE: Final = re.compile(rb"[^\n\x80-\xff]{0,200}[\x80-\xff][^\n]{0,400}")
_FOREIGN_RUN: Final = re.compile(rb"[\x80-\xff]+")
_STRAY: Final = re.compile("[\udc80-\udcff]")
_UNREADABLE: Final = frozenset({"Cc", "Cn", "Co", "Cs"})
_MOST_UNREADABLE: Final = 0.03


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and the encoding it was read in, as a name of Python's codecs (``utf-8``, ``utf-16-le``, ``cp932``, ``latin-1`` …).

    ``utf-8+cp1252`` is UTF-8 with a few bytes that are not, read one by one.
    """

    text: str
    encoding: str


def decode(data: bytes) -> Decoded:
    """The text of a file that is not binary (see ``sniff``). Never fails, never loses a byte's information."""
    text, encoding = _decode(data)
    return Decoded(_LINE_END.sub("\n", text).replace("\0", "␀"), encoding)


def wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32 without a byte order mark, when the beginning of a file reads sensibly in it; else None."""
    if b"\0" not in head:
        return None
    best, most_blanks = None, 0
    for encoding in _WIDE:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(head)
        except UnicodeDecodeError:
            continue
        blanks = text.count(" ") + text.count("\n")
        if blanks > most_blanks and _is_readable(text):
            best, most_blanks = encoding, blanks
    return best


def is_utf8(head: bytes) -> bool:
    """Whether the beginning of a file is UTF-8; its last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def has_byte_order_mark(data: bytes) -> bool:
    return data.startswith(tuple(mark for mark, _ in _BOMS))


def _decode(data: bytes) -> tuple[str, str]:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            data = data[len(mark) :]
            if encoding != "utf-8":
                return data.decode(encoding, "backslashreplace"), encoding
            break
    return (
        _strictly(data, [wide_encoding(data[:SAMPLE]), "utf-8"])
        or _mostly_utf8(data)
        or _strictly(data, [_declared(data), _detected(data), "cp1252"])
        or (data.decode("latin-1"), "latin-1")
    )


def _strictly(data: bytes, encodings: Iterable[str | None]) -> tuple[str, str] | None:
    """The text in the first encoding that all of it fits."""
    for encoding in filter(None, encodings):
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return None


def _mostly_utf8(data: bytes) -> tuple[str, str] | None:
    """UTF-8 with a few stray bytes; in any other encoding hardly any sequence is valid UTF-8 by chance."""
    text = data.decode("utf-8", "surrogateescape")
    strays = len(_STRAY.findall(text))
    others = sum(1 for character in text if character > "\x7f") - strays
    if others < 4 * strays:
        return None
    return _STRAY.sub(lambda match: _stray_byte(match.group()), text), "utf-8+cp1252"


def _stray_byte(escaped: str) -> str:
    byte = bytes([ord(escaped) - 0xDC00])
    try:
        return byte.decode("cp1252")
    except UnicodeDecodeError:
        return byte.decode("latin-1")


def _declared(data: bytes) -> str | None:
    """The encoding that the file names itself: ``coding:`` as Python and Emacs have it, ``encoding=`` of XML, ``charset=`` of HTML."""
    match = _DECLARATION.search(data[:1_024])
    if match is None:
        return None
    try:
        name = codecs.lookup(match.group(1).decode("ascii")).name
    except LookupError:
        return None
    return name if name in _DECLARABLE else None


def _detected(data: bytes) -> str | None:
    """The most plausible legacy encoding, judged by the lines that hold anything but ASCII: the rest tells nothing.

    Letters that stand alone among ASCII are western accents, which detectors take for Cyrillic or Chinese when there are few.
    """
    sample = b"\n".join(islice((match.group() for match in _FOREIGN_LINE.finditer(data)), 200))[:_LEGACY_SAMPLE]
    runs = [len(match.group()) for match in _FOREIGN_RUN.finditer(sample)]
    if sum(runs) < 1.5 * len(runs):
        return None
    best = from_bytes(sample, cp_isolation=list(_DETECTED)).best()
    return best.encoding if best else None


def _is_readable(text: str) -> bool:
    """Whether hardly any character is one that texts have not; binary data shows it after a few hundred."""
    unreadable = (character for character in text if character not in "\t\n\r\f" and unicodedata.category(character) in _UNREADABLE)
    tolerated = int(len(text) * _MOST_UNREADABLE)
    return next(islice(unreadable, tolerated, None), None) is None
