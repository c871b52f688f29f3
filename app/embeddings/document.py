"""The exact text that is embedded for a chunk: a line that says what and where it is, then the code.

A chunk seldom names the file or the class it belongs to; the header's words let a question find it by them.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from app.domain.words import name_parts

DOCUMENT_FORMAT: Final = 1
"""Part of every local embedder's name: change it with ``document_text``, or old and new vectors would be mixed."""

_EXTENSION = re.compile(r"(?<=[^/])\.[A-Za-z0-9]+$")
_NAME_WORDS = 12
_PATH_WORDS = 8


def document_text(path: str, qualified_name: str, chunk_text: str) -> str:
    """Header and code. The last words of a long name or path are kept, so that the header never displaces the code."""
    name = name_parts(qualified_name)[-_NAME_WORDS:]
    place = name_parts(_EXTENSION.sub("", path))[-_PATH_WORDS:]
    return f"{' '.join((*name, *place))}\n{chunk_text}"


def text_hash(text: str) -> bytes:
    """SHA-256 of the text, the key of its vector in the cache."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
