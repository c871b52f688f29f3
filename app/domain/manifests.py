"""The names of project files that say how imports are written."""

from __future__ import annotations

import re
from typing import Final

_COMPILER_OPTIONS: Final = re.compile(r"(?:ts|js)config(?:\.[\w.-]+)?\.json")


def is_compiler_options(filename: str) -> bool:
    """Whether a file holds TypeScript's settings: ``tsconfig.json``, ``tsconfig.base.json``, ``jsconfig.json``."""
    return _COMPILER_OPTIONS.fullmatch(filename) is not None


def is_manifest(filename: str) -> bool:
    """Whether a file says how imports of its folder are written."""
    return filename in ("package.json", "go.mod") or is_compiler_options(filename)
