"""Log lines as JSON or for people, on stderr, for this program and the libraries under it alike."""

from __future__ import annotations

import io
import logging
import sys
from typing import Literal, TextIO

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

_FOREIGN = ("uvicorn", "uvicorn.error", "uvicorn.access", "sqlalchemy", "asyncio", "alembic", "httpx2", "httpcore2")


def configure(level: Literal["debug", "info", "warning", "error"], log_format: Literal["json", "console"]) -> None:
    """Send structlog's and the standard library's records through one formatter; may be called again."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _printable,
    ]
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=_final(log_format)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _FOREIGN:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(max(logging.getLevelName(level.upper()), logging.WARNING))


def _final(log_format: Literal["json", "console"]) -> list[Processor]:
    remove = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    if log_format == "json":
        return [remove, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    return [remove, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_traceback)]


def _traceback(stream: TextIO, error: ExcInfo) -> None:
    """A traceback in which the message of an exception, which may quote what came from outside, is no line of the log and no command."""
    plain = io.StringIO()
    structlog.dev.plain_traceback(plain, error)
    for line in plain.getvalue().splitlines():
        stream.write(f"\n  | {_escaped(line)}")


def _printable(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """A value that came from outside can neither forge a second line nor steer the terminal."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[key] = _escaped(value)
    return event


def _escaped(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
