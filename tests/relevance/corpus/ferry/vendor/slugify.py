"""Turns text into a slug for URLs; kept here unchanged so that nothing has to be installed."""

import re
import unicodedata

_SEPARATORS = re.compile(r"[^a-z0-9]+")


def slugify(text: str, limit: int = 60) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _SEPARATORS.sub("-", plain.lower()).strip("-")[:limit]
