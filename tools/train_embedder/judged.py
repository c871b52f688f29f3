"""Makes the sets that embedders are compared on, of the evaluation packages: documentation as the question, its function as the answer."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from tools.train_embedder.sentences import fingerprint, first_sentence, is_question

_DOCUMENTS: Final = 600
_QUESTIONS: Final = 112


def write(records: Path, target: Path) -> None:
    """``<language>.json`` in ``target``: at most 600 functions of a language, 112 of which are asked for."""
    target.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for file in sorted(records.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            record = json.loads(line)
            if record["role"] == "evaluation":
                found[record["language"]].setdefault(fingerprint(record["code"]), record)
    for language, functions in found.items():
        judged = _judged(language, list(functions.values()))
        if len(judged["questions"]) >= _QUESTIONS // 2:
            (target / f"{language}.json").write_text(json.dumps(judged), "utf-8")
            print(f"{language}: {len(judged['questions'])} questions, {len(judged['documents'])} documents")


def _judged(language: str, functions: list[dict[str, str]]) -> dict[str, Any]:
    drawn = random.Random(language)  # noqa: S311 - the same set every time, not a secret
    drawn.shuffle(functions)
    asked: dict[str, tuple[str, dict[str, str]]] = {}
    for function in functions:
        sentence, _ = first_sentence(function["doc"], function["name"].rpartition(".")[2])
        if is_question(sentence) and len(asked) < _QUESTIONS:
            asked.setdefault(fingerprint(sentence), (sentence, function))
    answers = [function for _, function in asked.values()]
    ids = {id(function) for function in answers}
    others = [function for function in functions if id(function) not in ids]
    documents = answers + others[: max(0, _DOCUMENTS - len(answers))]
    return {
        "documents": [{"name": item["name"], "path": item["path"], "code": item["code"]} for item in documents],
        "questions": [{"text": sentence, "answer": number} for number, (sentence, _) in enumerate(asked.values())],
    }


def texts(folder: Path) -> list[str]:
    """Every code and question of the sets in a folder."""
    found: list[str] = []
    for file in sorted(folder.glob("*.json")):
        judged = json.loads(file.read_text("utf-8"))
        found += [document["code"] for document in judged["documents"]] + [question["text"] for question in judged["questions"]]
    return found
