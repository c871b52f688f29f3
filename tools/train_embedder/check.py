"""Checks that training learns: a made-up language in which every word of a question has another word for it in code.

No word is on both sides, so that only what was learned can rank the functions of the questions that were kept back.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from app.embeddings.static_model import StaticModel, TextVectors
from benchmarks.embedders import reciprocal_rank
from tools.train_embedder import pairs

LEAST: Final = 0.8
_WORDS: Final = 60
_FUNCTIONS: Final = 3_000
_KEPT_BACK: Final = 200
_SYLLABLES: Final = ("ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu")


def run() -> float:
    """Train on the made-up language; the mean reciprocal rank among the functions kept back: .03 by chance, ``LEAST`` if learned."""
    from tools.train_embedder import train  # torch is needed for nothing else

    drawn = random.Random(1)  # noqa: S311 - the same language every time
    said = [f"{first}{second}" for first in _SYLLABLES for second in _SYLLABLES][:_WORDS]
    called = [f"x{word[::-1]}" for word in said]
    functions = [drawn.sample(range(_WORDS), 5) for _ in range(_FUNCTIONS)]
    questions = [" ".join(said[word] for word in words) for words in functions]
    codes = ["; ".join(f"{called[word]}(q)" for word in words) for words in functions]
    with TemporaryDirectory() as folder:
        _write_records(Path(folder), questions[_KEPT_BACK:], codes[_KEPT_BACK:])
        pairs.write(Path(folder) / "records", Path(folder), forbidden=())
        vocabulary = (Path(folder) / "vocabulary.txt").read_text("utf-8").split("\n")
        recipe = train.Recipe(dimensions=32, steps=60, batch=512, warm_up=10, keep_name=0, keep_path=0)
        model = train.train(Path(folder) / "pairs.npz", vocabulary, recipe)
    return _rank(model, questions[:_KEPT_BACK], codes[:_KEPT_BACK])


def _write_records(folder: Path, questions: list[str], codes: list[str]) -> None:
    (folder / "records").mkdir()
    fields = {"package": "made-up", "role": "training", "language": "python", "path": "a.py", "kind": "function", "name": "x"}
    lines = [json.dumps(fields | {"doc": question, "code": code}) for question, code in zip(questions, codes, strict=True)]
    (folder / "records" / "made-up.jsonl").write_text("\n".join(lines), "utf-8")


def _rank(model: StaticModel, questions: list[str], codes: list[str]) -> float:
    vectors = TextVectors(model)
    asked = np.stack([vectors.question(question) for question in questions])
    found = np.stack([vectors.document("", "", code) for code in codes])
    return reciprocal_rank(asked @ found.T, range(len(questions)))
