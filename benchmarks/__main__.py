"""``python -m benchmarks``: measures, and writes down what was measured."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from app.config import load_settings
from app.domain.errors import FourfoldError
from app.observability import logging
from benchmarks import ctags, index, latency, relevance, report, vectors
from benchmarks.corpora import Missing
from benchmarks.tables import markdown

COMMANDS = {"relevance": relevance.run, "latency": latency.run, "index": index.run, "vectors": vectors.run, "ctags": ctags.run}


def main() -> None:
    """Run the commands that are named, else all of them."""
    arguments = _parser().parse_args()
    settings = load_settings()
    if arguments.embedder:
        settings = settings.model_copy(update={"embedder": arguments.embedder})
    logging.configure("warning", settings.log_format)
    try:
        for command in arguments.commands or [*COMMANDS, "report"]:
            if command == "report":
                kinds = [name for name in arguments.commands if name != "report"] or [*COMMANDS]
                print(f"written: {', '.join(str(path) for path in report.write(arguments.name, kinds))}")
            else:
                measured = asyncio.run(COMMANDS[command](settings, arguments))
                report.keep(measured)
                print(markdown([measured]))
    except (Missing, FourfoldError) as error:
        sys.exit(f"benchmarks: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure the service and other tools. The store is kept in benchmarks/work, or where FOURFOLD_STATE_DIR or "
        "DATABASE_URL say. What is measured is kept in benchmarks/work until `report` writes it, or the kinds named beside it, to "
        "benchmarks/results.",
    )
    parser.add_argument(
        "commands", nargs="*", metavar="COMMAND", type=_command, help="relevance, latency, index, vectors, ctags, report (default: all)"
    )
    parser.add_argument(
        "--embedder", choices=["static", "minilm", "voyage", "openai", "none"], help="the embedder (default: FOURFOLD_EMBEDDER)"
    )
    parser.add_argument("--fresh", action="store_true", help="index anew even what is up to date")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave the other tools out")

    judged = parser.add_argument_group("relevance")
    judged.add_argument("--data", type=Path, help="folder of the judged set (default: see relevance.toml)")
    judged.add_argument("--repos", type=lambda text: text.split(","), default=[], metavar="A,B", help="only these repositories")
    judged.add_argument("--whole", action="store_true", help="index whole repositories, not only the folder that counts")
    judged.add_argument("--no-variants", dest="variants", action="store_false", help="the service as it is, without ablations")
    judged.add_argument("--misses", action="store_true", help="show every query below 1 with what was answered")

    tree = parser.add_argument_group("latency, index")
    tree.add_argument("--tree", type=Path, help="the tree to measure on (default: benchmarks/corpora/django)")
    tree.add_argument("--requests", type=int, default=200, help="requests per route and number of clients (default: %(default)s)")

    read = parser.add_argument_group("ctags")
    read.add_argument(
        "--trees", type=Path, nargs="+", default=[], metavar="TREE", help="trees to read (default: all in benchmarks/corpora)"
    )
    read.add_argument("--languages", type=lambda text: text.split(","), default=[], metavar="A,B", help="only these languages")

    written = parser.add_argument_group("report")
    written.add_argument("--name", default="report", help="the report is written to results/<date>-<name>.{md,json,svg}")
    return parser


def _command(name: str) -> str:
    if name not in (*COMMANDS, "report"):
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(COMMANDS)}, report")
    return name


if __name__ == "__main__":
    main()
