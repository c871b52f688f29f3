"""Texts in patterns of LIKE."""

from __future__ import annotations


def escaped(text: str) -> str:
    """A pattern that matches this text alone."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
