"""Git-style globs as regular expressions that PostgreSQL and Python read alike.

``*`` and ``?`` stop at a slash, ``**`` does not; a pattern without a slash matches at any depth; a directory matches what is in it
(gitignore(5), "PATTERN FORMAT").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import re2

from app.domain.errors import InvalidRequest


def glob_regex(pattern: str) -> str:
    """An anchored regular expression for one glob; any text is a valid glob."""
    anchored = "/" in pattern.rstrip("/")
    body = pattern.strip("/")
    prefix = "^" if anchored else "^(.*/)?"
    return f"{prefix}{_body_regex(body)}(/.*)?$"


def literal_prefix(pattern: str) -> str:
    """What every path begins with that the glob matches: its text up to the first wildcard, nothing where it matches at any depth."""
    if "/" not in pattern.rstrip("/"):
        return ""
    return re.split(r"[*?\[\\]", pattern.strip("/"), maxsplit=1)[0]


def split_globs(patterns: Iterable[str]) -> tuple[list[str], list[str]]:
    """A regular expression of the globs that include, and one of those that exclude (a leading ``!``); none where there are none."""
    include, exclude = split_excluded(patterns)
    return one_regex(map(glob_regex, include)), one_regex(map(glob_regex, exclude))


def one_regex(patterns: Iterable[str]) -> list[str]:
    """One regular expression in place of several: PostgreSQL keeps the last 32 it has read, and reads further ones anew for every row."""
    each = [f"(?:{pattern})" for pattern in patterns]
    return ["|".join(each)] if each else []


def matches(regexes: Iterable[str], text: str, *, any_case: bool = False) -> bool:
    """Whether one of the regular expressions of globs matches; in linear time, whatever the glob."""
    return any(_compiled(regex, any_case).search(text) is not None for regex in regexes)


@lru_cache(maxsize=256)
def _compiled(regex: str, any_case: bool) -> re2._Regexp:
    options = re2.Options()
    options.case_sensitive = not any_case
    options.never_capture = True
    options.dot_nl = True
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error:
        raise InvalidRequest("the globs are too large together", field="filters.paths") from None


def split_excluded(values: Iterable[str]) -> tuple[list[str], list[str]]:
    """The values that are wanted, and those that a leading ``!`` excludes, without it."""
    wanted: list[str] = []
    excluded: list[str] = []
    for value in values:
        (excluded if value.startswith("!") else wanted).append(value.removeprefix("!"))
    return wanted, excluded


def _body_regex(body: str) -> str:
    out: list[str] = []
    position = 0
    while position < len(body):
        if body.startswith("**/", position):
            out.append("(.*/)?")
            position += 3
        elif body.startswith("**", position):
            out.append(".*")
            position += 2
        elif body[position] == "*":
            out.append("[^/]*")
            position += 1
        elif body[position] == "?":
            out.append("[^/]")
            position += 1
        elif body[position] == "[" and (closing := _class_end(body, position)) > 0:
            inside = body[position + 1 : closing]
            negated = inside[:1] in ("!", "^")
            escaped = re.sub(r"([\\\[\]^])", r"\\\1", inside[1:] if negated else inside)
            out.append(f"[{'^/' if negated else ''}{escaped}]")
            position = closing + 1
        elif body[position] == "\\" and position + 1 < len(body):
            out.append(_escape(body[position + 1]))
            position += 2
        else:
            out.append(_escape(body[position]))
            position += 1
    return "".join(out)


def _class_end(body: str, start: int) -> int:
    """Where the bracket expression ends, -1 when it is a plain bracket or could not be read the same by both engines."""
    end = body.find("]", start + 2)
    inside = body[start + 1 : end] if end > 0 else ""
    return end if end > 0 and re.fullmatch(r"[!^]?(?:\w-\w|[\w.+, -])+", inside) and not _reversed_range(inside) else -1


def _reversed_range(inside: str) -> bool:
    return any(low > high for low, high in re.findall(r"(\w)-(\w)", inside)) or inside.startswith("-") or inside.endswith("-")


def _escape(character: str) -> str:
    return character if character.isalnum() or character in "_/ " or ord(character) > 127 else "\\" + character
