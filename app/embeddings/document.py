"""The exact text that is embedded for a chunk: a line that says what it is, a line that says where, then the code.

A chunk seldom names the file or the class it belongs to; the header's words let a question find it by them. They stand on lines of
their own for the embedders that weigh them apart.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Final

from app.domain.words import name_parts

DOCUMENT_FORMAT: Final = 2
"""Part of every local embedder's name: change it with ``document_text``, or old and new vectors would be mixed."""

_EXTENSION = re.compile(r"(?<=[^/])\.[A-Za-z0-9]+$")
_NAME_WORDS = 12
_PATH_WORDS = 8


def document_text(path: str, qualified_name: str, chunk_text: str) -> str:
    """Header and code. The last words of a long name or path are kept, so that the header never displaces the code."""
    name = name_parts(qualified_name)[-_NAME_WORDS:]
    return f"{' '.join(name)}\n{_place(path)}\n{chunk_text}"


@lru_cache(maxsize=1_024)
def _place(path: str) -> str:
    """The words of a path; the chunks of a file follow each other."""
    return " ".join(name_parts(_EXTENSION.sub("", path))[-_PATH_WORDS:])


def document_parts(text: str) -> tuple[str, str, str]:
    """The words of the name, those of the path, and the code of a ``document_text``; any other text is code alone."""
    lines = text.split("\n", 2)
    name, place, code = lines if len(lines) == 3 else ("", "", text)
    return name, place, code


def text_hash(text: str) -> bytes:
    """SHA-256 of the text, the key of its vector in the cache."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
