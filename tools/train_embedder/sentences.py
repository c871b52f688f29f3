"""The words of texts, and what of a documentation can be a question."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from app.embeddings.word_pieces import runs, words

_TAGS: Final = re.compile(r"(?:^|\s)[@!\\]\w+|\s(?::param\b|:return|Args:|Parameters\b|Returns:|Example)|::(?=\s)|>>>")
_BRIEF: Final = re.compile(r"^[@\\](?:brief|desc\w*)\s+")
_MARKUP: Final = re.compile(r":\w+:`~?(?:[\w.]*\.)?([^`<]+)(?:<[^>]*>)?`|\{@\w+\s+([^}]*)\}|\[`?([^\]`]+)`?\](?:\([^)]*\))?")
_SENTENCE: Final = re.compile(r"(.+?[.!?])(?:\s|$)")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_NO_QUESTION: Final = re.compile("see |todo|deprecated|alias|same as|internal|licensed|panics|test|overrid|inherit")
_words_of: Final = lru_cache(1 << 18)(words)


def text_words(text: str) -> list[str]:
    """All words of a text, in order."""
    return [word for run in runs(text) for word in _words_of(run)]


def fingerprint(text: str) -> str:
    """The same for texts that differ in spaces, case and punctuation only."""
    return words_fingerprint(text_words(text))


def words_fingerprint(found: Iterable[str]) -> str:
    """The ``fingerprint`` of a text by its words."""
    return hashlib.sha256(" ".join(found).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def first_sentence(doc: str, name: str) -> tuple[str, str]:
    """The first sentence of a documentation, and what of its prose follows; a leading mention of the name is left out."""
    text = _MARKUP.sub(lambda match: next(filter(None, match.groups()), " "), doc).replace("`", "")
    text = re.sub(rf"^{re.escape(name)}\b[\s:(),-]*", "", text)
    text = _TAGS.split(_BRIEF.sub("", text), maxsplit=1)[0].strip()
    match = _SENTENCE.match(text)
    return (match[1], text[match.end() :]) if match else (text, "")


def is_question(sentence: str) -> bool:
    """Whether a sentence says what a function does, in 3 to 45 words."""
    lowered = sentence.lower()
    return (
        3 <= len(_WORD.findall(sentence)) <= 45 and lowered[0].isalpha() and not _NO_QUESTION.match(lowered) and "copyright" not in lowered
    )
