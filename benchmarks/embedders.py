"""How well embedders find a function by what its documentation says, beside BM25: mean reciprocal rank in the first ten.

    python -m benchmarks.embedders FOLDER... [--minilm]

A set is a file ``<language>.json`` of a folder: ``documents`` (``name``, ``path``, ``code``) and ``questions`` (``text``, ``answer``, the
answer being a document's number). ``python -m tools.train_embedder judged`` makes such sets of packages that nothing was trained on.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.domain.words import body_terms
from app.embeddings.document import document_text
from app.embeddings.minilm import MiniLmEmbedder
from app.embeddings.static import StaticEmbedder
from app.ports import Embedder

DEPTH: Final = 10
_K1, _B = 1.2, 0.75
_HEADER_COPIES: Final = 3

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DocumentedSet:
    """Functions without their documentation, and questions taken from it; ``answers[i]`` is the document of question i."""

    language: str
    documents: tuple[tuple[str, str, str], ...]
    questions: tuple[str, ...]
    answers: tuple[int, ...]

    def texts(self) -> list[str]:
        """What is embedded of each document."""
        return [document_text(path, name, code) for name, path, code in self.documents]


def load(folder: Path) -> list[DocumentedSet]:
    """Every set of a folder, by language."""
    return [_load(path) for path in sorted(folder.glob("*.json"))]


def _load(path: Path) -> DocumentedSet:
    raw: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return DocumentedSet(
        path.stem,
        tuple((item["name"], item["path"], item["code"]) for item in raw["documents"]),
        tuple(item["text"] for item in raw["questions"]),
        tuple(item["answer"] for item in raw["questions"]),
    )


def reciprocal_rank(scores: Scores, answers: Sequence[int]) -> float:
    """Mean reciprocal rank of the answers in the first ten; ``scores`` has shape (questions, documents). Ties count half."""
    own = scores[np.arange(len(answers)), list(answers)][:, None]
    ranks = 1 + (scores > own).sum(axis=1) + ((scores == own).sum(axis=1) - 1) / 2
    return float(np.where(ranks <= DEPTH, 1 / ranks, 0.0).mean())


def bit_scores(questions: NDArray[np.float32], packed: NDArray[np.uint8]) -> Scores:
    """Float questions, shape (n, bits), against packed bits, as the service compares them."""
    signs = np.unpackbits(packed, axis=1).astype(np.float32) * 2 - 1
    scores: Scores = questions @ signs.T
    return scores


def bm25_scores(judged: DocumentedSet) -> Scores:
    """Okapi BM25 over stemmed words, the header counted three times."""
    counts = [Counter(body_terms(f"{name} {path} " * _HEADER_COPIES + code)) for name, path, code in judged.documents]
    lengths = np.array([sum(count.values()) for count in counts], np.float32)
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for document, count in enumerate(counts):
        for term, frequency in count.items():
            postings[term].append((document, frequency))
    scores = np.zeros((len(judged.questions), len(counts)), np.float32)
    for question, text in enumerate(judged.questions):
        for term in set(body_terms(text)):
            found = postings.get(term)
            if found:
                documents, frequencies = (np.array(column) for column in zip(*found, strict=True))
                idf = math.log(1 + (len(counts) - len(found) + 0.5) / (len(found) + 0.5))
                norm = _K1 * (1 - _B + _B * lengths[documents] / lengths.mean())
                scores[question, documents] += idf * frequencies * (_K1 + 1) / (frequencies + norm)
    return scores


@dataclass(frozen=True, slots=True)
class Measured:
    """One row: reciprocal ranks by measure, documents per CPU second, CPU milliseconds per question."""

    ranks: Mapping[str, float]
    documents_per_second: float
    question_ms: float


def measure(embedder: Embedder, judged: DocumentedSet) -> Measured:
    """Embed a set; ``bits`` is what the service does, ``signs`` the bits on both sides."""
    began = time.process_time()
    packed = embedder.embed_documents(judged.texts())
    documents = time.process_time() - began
    questions = np.stack([embedder.embed_query(text) for text in judged.questions])
    asked = time.process_time() - began - documents
    signs = np.where(questions > 0, 1, -1).astype(np.float32)
    ranks = {name: reciprocal_rank(bit_scores(side, packed), judged.answers) for name, side in (("bits", questions), ("signs", signs))}
    return Measured(ranks, len(judged.documents) / documents, 1_000 * asked / len(judged.questions))


def main() -> None:
    """Print a table of every set in the folders."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedders", description="Compare embedders on documented functions.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--minilm", action="store_true", help="MiniLM too, at about ten documents a second")
    arguments = parser.parse_args()
    embedders: dict[str, Embedder] = {"static": StaticEmbedder()} | ({"MiniLM": MiniLmEmbedder()} if arguments.minilm else {})
    for embedder in embedders.values():
        embedder.embed_query("load the model")
    print("| set | questions | documents | BM25 | embedder | bits | bits on both sides | documents a CPU second | ms a question |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for judged in [judged for folder in arguments.folders for judged in load(folder)]:
        words = f"{reciprocal_rank(bm25_scores(judged), judged.answers):.3f}"
        for name, embedder in embedders.items():
            row = measure(embedder, judged)
            ranks = " | ".join(f"{row.ranks[key]:.3f}" for key in ("bits", "signs"))
            counts = f"{judged.language} | {len(judged.questions)} | {len(judged.documents)}"
            print(f"| {counts} | {words} | {name} | {ranks} | {row.documents_per_second:,.0f} | {row.question_ms:.2f} |", flush=True)


if __name__ == "__main__":
    main()
