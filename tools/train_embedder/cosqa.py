"""CoSQA (Huang et al., 2021): real web questions with Python functions that answer them. Evaluated on, never trained on.

Read are two files of its authors' repository: ``cosqa-retrieval-dev-500.json`` and ``code_idx_map.txt``.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tools.train_embedder.sentences import first_sentence

_DOCUMENTS: Final = 1_000
_DEFINED: Final = re.compile(r"def\s+(\w+)")
_DOCSTRING: Final = re.compile(r"(\"\"\"|''')(.*?)\1", re.DOTALL)


def write(source: Path, target: Path) -> None:
    """``cosqa.json`` in ``target``: the 500 dev questions, their functions with docstrings, and others to make 1,000."""
    codes, questions = _codes(source), _questions(source)
    answers = sorted({question["retrieval_idx"] for question in questions})
    others = [number for number in range(len(codes)) if number not in set(answers)]
    random.Random(0).shuffle(others)  # noqa: S311 - the same set every time, not a secret
    kept = [*answers, *others[: _DOCUMENTS - len(answers)]]
    place = {number: index for index, number in enumerate(kept)}
    judged = {
        "documents": [{"name": _name(codes[number]), "path": "", "code": codes[number]} for number in kept],
        "questions": [{"text": question["doc"], "answer": place[question["retrieval_idx"]]} for question in questions],
    }
    target.mkdir(parents=True, exist_ok=True)
    (target / "cosqa.json").write_text(json.dumps(judged), "utf-8")


def texts(source: Path) -> Iterator[str]:
    """All that must not be trained on: questions, functions with and without their docstrings, and those docstrings' first sentences."""
    yield from (question["doc"] for question in _questions(source))
    for code in _codes(source):
        yield code
        yield _DOCSTRING.sub("", code)
        documentation = _DOCSTRING.search(code)
        if documentation and len(documentation[2].split()) >= 4:
            yield first_sentence(" ".join(documentation[2].split()), _name(code))[0]


def _codes(source: Path) -> list[str]:
    numbers: dict[str, int] = json.loads((source / "code_idx_map.txt").read_text("utf-8"))
    return sorted(numbers, key=lambda code: numbers[code])


def _questions(source: Path) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = json.loads((source / "cosqa-retrieval-dev-500.json").read_text("utf-8"))
    return questions


def _name(code: str) -> str:
    found = _DEFINED.search(code)
    return found[1] if found else ""
