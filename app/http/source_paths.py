"""Which directories a caller may have indexed."""

from __future__ import annotations

import os
from pathlib import Path

from app.config import Settings
from app.domain.errors import InvalidRequest
from app.sources.address import is_loopback

_FIELD = "source.path"


def checked_directory(path: str, settings: Settings) -> str:
    """The directory behind ``path``, symlinks resolved; raises InvalidRequest.

    Roots are compared before anything is looked up, so that a refused caller does not learn what exists.
    """
    given = Path(path)
    if not given.is_absolute():
        raise InvalidRequest("the path must be absolute", field=_FIELD)
    try:
        resolved = given.resolve()
    except (OSError, RuntimeError):
        raise InvalidRequest("the path cannot be resolved", field=_FIELD) from None
    if not _allowed(resolved, settings):
        raise InvalidRequest("the path is outside the allowed roots (FOURFOLD_ALLOWED_ROOTS)", field=_FIELD)
    try:
        is_directory = resolved.is_dir()
    except OSError:
        is_directory = False
    if not is_directory:
        raise InvalidRequest("there is no such directory", field=_FIELD)
    if not os.access(resolved, os.R_OK | os.X_OK):
        raise InvalidRequest("the directory cannot be read by the service", field=_FIELD)
    return str(resolved)


def _allowed(resolved: Path, settings: Settings) -> bool:
    if settings.allowed_roots:
        return any(resolved.is_relative_to(root.resolve()) for root in settings.allowed_roots)
    return is_loopback(settings.host)
