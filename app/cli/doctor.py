"""Checks everything the service stands on and says what is wrong."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, Protocol

from app.config import Settings, load_settings
from app.domain.errors import FourfoldError
from app.ports import Readiness

_LEAST_FREE_BYTES: Final = 1_000_000_000
_OLDEST_PYTHON: Final = (3, 11)


class Examined(Protocol):
    """The part of the open service that can be looked at closely."""

    @property
    def health(self) -> Examination: ...


class Examination(Protocol):
    async def examine(self) -> Sequence[Readiness]: ...


OpenService = Callable[[Settings], AbstractAsyncContextManager[Examined]]


async def examine(open_service: OpenService, state_dir: Callable[[Settings], Path], load_grammars: Callable[[], int]) -> list[Readiness]:
    """One finding per check, in order; later checks run even when earlier ones fail, as far as they can."""
    findings = [_python(), _grammars(load_grammars)]
    try:
        settings = load_settings()
    except FourfoldError as error:
        return [*findings, Readiness("settings", False, error.message)]
    findings += [Readiness("settings", True, "valid"), _disk(state_dir(settings))]
    try:
        async with open_service(settings) as service:
            return [*findings, *await service.health.examine()]
    except FourfoldError as error:
        return [*findings, Readiness("service", False, error.message)]


def _python() -> Readiness:
    ok = sys.version_info[:2] >= _OLDEST_PYTHON
    return Readiness("python", ok, f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}")


def _disk(state_dir: Path) -> Readiness:
    """Free space where the state lies, or will lie."""
    existing = next(path for path in (state_dir, *state_dir.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    return Readiness("disk", free >= _LEAST_FREE_BYTES, f"{free / 1e9:.1f} GB free at {existing}")


def _grammars(load_grammars: Callable[[], int]) -> Readiness:
    try:
        return Readiness("grammars", True, f"{load_grammars()} languages are parsed")
    except (FourfoldError, ImportError, OSError) as error:
        return Readiness("grammars", False, str(error))
