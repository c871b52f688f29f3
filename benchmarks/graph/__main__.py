"""``python -m benchmarks.graph pycg=FOLDER swarm=FOLDER stack=FOLDER scip=FOLDER``: a line per set, with ``--misses`` what was wrong.

- ``pycg``: ``micro-benchmark`` of https://github.com/vitsalis/PyCG; ``swarm``: a language's folder in ``benchmarks`` of
  https://github.com/secure-software-engineering/SWARM-CG;
- ``stack``: a language's ``test`` folder in https://github.com/github/stack-graphs;
- ``scip``: a checkout with the ``index.scip`` that ``scip-python index`` or ``scip-typescript index --infer-tsconfig`` wrote into it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.graph import callgraphs, positions, scip

SETS = {"pycg": callgraphs.score, "swarm": callgraphs.score, "stack": positions.score, "scip": scip.score}


def main() -> None:
    """Score the sets that are named; they are got by hand and lie outside of the project."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.graph", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", metavar="SET=FOLDER", help=f"SET is one of {', '.join(SETS)}")
    parser.add_argument("--misses", action="store_true", help="also print every edge that is missing or wrong")
    arguments = parser.parse_args()
    print(f"{'set':8} {'cases':>6} {'edges':>6} {'precision':>10} {'recall':>7} {'with possible':>14}")
    for given in arguments.sets:
        name, _, folder = given.partition("=")
        found = SETS[name](Path(folder))
        if arguments.misses:
            print("\n".join(found.misses))
        print(f"{name:8} {found.cases:6} {found.wanted:6} {found.precision:10.3f} {found.recall:7.3f} {found.recall_possible:14.3f}")


if __name__ == "__main__":
    main()
