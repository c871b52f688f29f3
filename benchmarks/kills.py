"""``python -m benchmarks.kills``: kill -9 at random moments of index runs of a real service.

Sources of every kind, full and incremental runs; the service, its worker, a parser process or PostgreSQL is hit. Meanwhile a reader
must see the old index or the new one, whole; in the end the index must be row by row that of a clean build. Whatever is otherwise is
printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

from tests.integration.kills import RUNS, SOURCES, VICTIMS, Moment, Running, processes_of, survive


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--moments", type=int, default=20, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of sources, runs, victims and times (default: %(default)s)")
    parser.add_argument("--files", type=int, default=300, help="files of a tree (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=6.0, help="a moment is at most so long after the request (default: %(default)s)")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fourfold-kills-"))
    folder.chmod(0o711)
    try:
        sys.exit(1 if _faults(arguments, folder) else 0)
    finally:
        for process in processes_of(folder / "state"):
            process.kill()
        shutil.rmtree(folder)


def _faults(arguments: argparse.Namespace, folder: Path) -> int:
    source = random.Random(arguments.seed)  # noqa: S311
    kinds = [kind for _ in range(arguments.moments) for kind in source.sample(list(product(SOURCES, RUNS, VICTIMS)), 24)]
    running = Running(folder / "state")
    failed, stages = 0, Counter[str]()
    for number, kind in enumerate(kinds[: arguments.moments], 1):
        moment = Moment(*kind, source.uniform(0.0, arguments.seconds))
        own = folder / str(number)
        own.mkdir()
        survived = survive(running, moment, own, arguments.files, source)
        shutil.rmtree(own)
        failed += bool(survived.faults)
        stages[survived.stage or "outside of the run"] += 1
        outcome = "; ".join(dict.fromkeys(survived.faults)) or "equal"
        seen = ", ".join(f"{shown} {count}" for shown, count in survived.answers.items())
        print(
            f"{number}/{arguments.moments} {moment.source}, {moment.run}: {moment.victim} after {moment.seconds:.1f} s "
            f"({survived.stage or 'outside of the run'}); readers saw {seen}: {outcome}",
            flush=True,
        )
    running.stop()
    running.wait_until(lambda: not processes_of(folder / "state"))
    told = ", ".join(f"{stage} {count}" for stage, count in stages.items())
    print(f"{arguments.moments - failed} of {arguments.moments} moments survived; hit during {told}")
    return failed


if __name__ == "__main__":
    main()
