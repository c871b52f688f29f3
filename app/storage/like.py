"""Texts in patterns of LIKE."""

from __future__ import annotations


def containing(*texts: str) -> str:
    """A pattern that matches what contains exactly these texts, one behind the other."""
    return f"%{'%'.join(map(escaped, texts))}%"


def escaped(text: str) -> str:
    """A pattern that matches this text alone."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
