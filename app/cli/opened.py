"""Opens what a command works on: the settings of the environment, and the service in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from app.config import Settings, load_settings

if TYPE_CHECKING:
    from app.cli.service import LocalService

T = TypeVar("T")


def settings_of(*, logs: bool = False, **changes: object) -> Settings:
    """The environment's settings with what the command line says instead, and logging set up by them."""
    from app.observability import logging

    settings = load_settings()
    settings = settings.model_copy(update={key: value for key, value in changes.items() if value is not None})
    logging.configure(settings.log_level if logs else "warning", settings.log_format)
    return settings


def with_service(work: Callable[[LocalService], Coroutine[Any, Any, T]]) -> T:
    """Open the service in this process for one piece of work."""
    from app import bootstrap

    settings = settings_of()

    async def run() -> T:
        async with bootstrap.service(settings) as service:
            return await work(service)

    return asyncio.run(run())
