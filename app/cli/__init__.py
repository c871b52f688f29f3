"""The command line: ``fourfold``."""

from __future__ import annotations

import sys
from typing import NoReturn

from app.domain.errors import FourfoldError


def main() -> None:
    """Run a command. An error is one line on stderr and exit status 1; ``--debug`` shows where it came from."""
    from app.cli.commands import cli

    debug = "--debug" in sys.argv[1:]
    try:
        cli()
    except FourfoldError as error:
        if debug:
            raise
        _fail(error.message)
    except Exception as error:
        if debug:
            raise
        _fail(f"internal error, {type(error).__name__}: {error} (--debug shows where)")


def _fail(message: str) -> NoReturn:
    from app.cli.printing import safe

    print(f"fourfold: {safe(message)}", file=sys.stderr)
    sys.exit(1)
