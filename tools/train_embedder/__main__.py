"""``python -m tools.train_embedder``: from the registries' packages to the model that ships. README.md beside this file says how."""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from tools.train_embedder import check, cosqa, fetch, judged, pairs, records, snippets
from tools.train_embedder.packages import HERE

STEPS = ("fetch", "records", "judged", "pairs", "train")


def main() -> None:
    """Run the steps that are named, else all of them in order."""
    parser = argparse.ArgumentParser(prog="python -m tools.train_embedder", description="Train the static embedder.")
    parser.add_argument(
        "steps", nargs="*", choices=[*STEPS, "check", []], metavar="STEP", help=f"{', '.join(STEPS)} (default: all of these), or check"
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for packages, records, pairs and the trained model (a few gigabytes)"
    )
    parser.add_argument(
        "--cosqa", type=Path, help="folder with CoSQA's dev questions and code_idx_map.txt: to be evaluated on, not trained on"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    for step in arguments.steps or STEPS:
        if step == "fetch":
            fetch.fetch(work / "packages")
        elif step == "records":
            records.write(work / "packages", work)
            records.write_list(work, HERE / "data.tsv")
        elif step == "judged":
            judged.write(work / "records", work / "judged")
            if arguments.cosqa:
                cosqa.write(arguments.cosqa, work / "judged")
        elif step == "pairs":
            forbidden = [*judged.texts(work / "judged"), *(cosqa.texts(arguments.cosqa) if arguments.cosqa else ())]
            pairs.write(work / "records", work, forbidden, snippets.pairs(work / "packages"))
        elif step == "train":
            _train(work, arguments.seed)
        else:
            rank = check.run()
            if rank < check.LEAST:
                sys.exit(f"training does not learn: reciprocal rank {rank:.3f}, at least {check.LEAST} is expected")
            print(f"training learns: reciprocal rank {rank:.3f}")


def _train(work: Path, seed: int) -> None:
    from tools.train_embedder import artefact, train  # torch is needed for nothing else

    model = train.train(work / "pairs.npz", (work / "vocabulary.txt").read_text("utf-8").split("\n"), train.Recipe(seed=seed))
    path = work / "static.npz"
    artefact.write(artefact.quantized(model), path)
    print(f"{path}: {path.stat().st_size} bytes, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
