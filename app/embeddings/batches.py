"""Batches within a provider's limits: so many texts, so many tokens, no text longer than the model reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_BYTES_PER_TOKEN: Final = 3  # code has 3 to 4; too many tokens are rejected, too few only make smaller batches
MOST_PIECES: Final = 8
"""Of one text; what a longer one says after that is not embedded."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one request: texts, tokens of all of them, tokens of each."""

    texts: int
    tokens: int
    text_tokens: int


def tokens_of(text: str) -> int:
    """An estimate on the safe side; the provider's tokenizer is not here."""
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + 1


def pieces(text: str, limits: Limits) -> list[str]:
    """A text that the model can read, or the parts of one that is too long, cut at line ends where there are any."""
    if tokens_of(text) <= limits.text_tokens:
        return [text]
    longest = max(1, limits.text_tokens * _BYTES_PER_TOKEN // 4)  # characters: four bytes at most
    if text.isascii():
        longest = max(1, (limits.text_tokens - 1) * _BYTES_PER_TOKEN)
    parts: list[str] = []
    start = 0
    while start < len(text) and len(parts) < MOST_PIECES:
        end = min(len(text), start + longest)
        line_end = text.rfind("\n", start + longest // 2, end) + 1
        end = line_end if line_end and end < len(text) else end
        parts.append(text[start:end])
        start = end
    return parts


def batches(texts: Sequence[str], limits: Limits) -> Iterator[Sequence[str]]:
    """Runs of texts, in order, that fit into a request."""
    start, tokens = 0, 0
    for at, text in enumerate(texts):
        needed = tokens_of(text)
        if at > start and (at - start == limits.texts or tokens + needed > limits.tokens):
            yield texts[start:at]
            start, tokens = at, 0
        tokens += needed
    if start < len(texts):
        yield texts[start:]
