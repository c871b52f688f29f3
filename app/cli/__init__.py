"""The command line: ``fourfold``."""

from __future__ import annotations

import sys

from app.domain.errors import FourfoldError


def main() -> None:
    """Run a command. An error is one line on stderr and exit status 1; ``--debug`` shows where it came from."""
    from app.cli.commands import cli

    try:
        cli()
    except FourfoldError as error:
        if "--debug" in sys.argv[1:]:
            raise
        from app.cli.printing import safe

        print(f"fourfold: {safe(error.message)}", file=sys.stderr)
        sys.exit(1)
