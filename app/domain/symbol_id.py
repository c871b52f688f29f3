"""Symbol ids: signed 64-bit numbers that stay the same when a file is indexed again."""

from __future__ import annotations

from hashlib import blake2b

_MASK = (1 << 64) - 1
_SIGN = 1 << 63


def symbol_id(path: str, kind: str, qualified: str, ordinal: int) -> int:
    """The id of a definition. ``ordinal`` counts the symbols of equal kind and qualified name before it in the file.

    Lines take no part, so that an edit above a symbol leaves its id alone.
    """
    return _hashed("symbol", path, kind, qualified, str(ordinal))


def file_symbol_id(path: str) -> int:
    """The id of a file's module node: the source of what stands at the file's top level."""
    return _hashed("file", path)


def external_id(language: str, name: str) -> int:
    """The id of something outside the repository, by the name that its users import it by (``requests.get``).

    ``language`` stands for all languages that can import from each other (``javascript`` for TypeScript too).
    """
    return _hashed("external", language, name)


def format_id(identifier: int) -> str:
    """16 lower-case hexadecimal digits, the two's complement of the number."""
    return f"{identifier & _MASK:016x}"


def parse_id(text: str) -> int:
    """The number behind ``format_id``'s text; raises ValueError for anything else."""
    if len(text) != 16 or any(digit not in "0123456789abcdef" for digit in text):
        raise ValueError(f"not a symbol id: {text!r}")
    return _signed(int(text, 16))


def _hashed(*parts: str) -> int:
    digest = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _signed(number: int) -> int:
    return number - (1 << 64) if number & _SIGN else number
