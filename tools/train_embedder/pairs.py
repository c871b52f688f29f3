"""Makes training pairs of function records: what would be asked, and the function that answers it, both as rows of one vector table."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.embeddings.word_pieces import WordPieces
from tools.train_embedder.packages import HERE
from tools.train_embedder.sentences import fingerprint, first_sentence, is_question, text_words, words_fingerprint

VOCABULARY: Final = 38_000
BUCKETS: Final = 2_000
_FEWEST_DOCUMENTS: Final = 3
_MOST_WORDS: Final = 256
_SAME_QUESTION: Final = 8  # "Returns the name." may answer so many functions; more would only teach its words to be nothing
_EXTENSION: Final = re.compile(r"\.\w+$")


@dataclass(slots=True)
class Bags:
    """Many bags of rows, one after another."""

    rows: list[NDArray[np.int32]] = field(default_factory=list)
    weights: list[NDArray[np.float32]] = field(default_factory=list)

    def add(self, bag: tuple[NDArray[np.int32], NDArray[np.float32]]) -> int:
        self.rows.append(bag[0])
        self.weights.append(bag[1])
        return len(self.rows) - 1

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """``name_rows``, ``name_weights`` and ``name_offsets`` (one more than there are bags)."""
        ends = np.cumsum([0, *map(len, self.rows)], dtype=np.int64)
        return {f"{name}_rows": np.concatenate(self.rows), f"{name}_weights": np.concatenate(self.weights), f"{name}_offsets": ends}


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the four parts of its answer, as words."""

    kind: str
    package: str
    language: str
    question: list[str]
    code: list[str]
    name: list[str]
    path: list[str]
    rest: list[str]


def write(records: Path, target: Path, forbidden: Iterable[str], extra: Iterable[Pair] = ()) -> None:
    """``pairs.npz`` and ``vocabulary.txt`` in the folder ``target``; what says the same as a text of ``forbidden`` is left out."""
    pairs = [*_pairs(_read(records), {fingerprint(text) for text in forbidden}), *extra]
    languages = sorted({pair.language for pair in pairs})
    frames = [text_words(line) for line in _frames(languages)]
    vocabulary, idf = _vocabulary(pairs, {word for frame in frames for word in frame})
    rows_of = lru_cache(1 << 20)(WordPieces(vocabulary, BUCKETS).rows)
    packages = sorted({pair.package for pair in pairs})
    number = {package: index for index, package in enumerate(packages)}
    bags = {part: Bags() for part in ("question", "code", "name", "path", "rest", "frame")}
    for pair in pairs:
        bags["question"].add(bag(pair.question, rows_of))
        bags["code"].add(bag(pair.code, rows_of, dampen=True))
        bags["name"].add(bag(pair.name, rows_of))
        bags["path"].add(bag(pair.path, rows_of))
        bags["rest"].add(bag(pair.rest, rows_of))
    for frame in frames:
        bags["frame"].add(bag(frame, rows_of))
    arrays: dict[str, Any] = {key: value for part, found in bags.items() for key, value in found.arrays(part).items()}
    np.savez(
        target / "pairs.npz",
        package=np.array([number[pair.package] for pair in pairs], np.int32),
        language=np.array([languages.index(pair.language) for pair in pairs], np.int32),
        is_name=np.array([pair.kind == "name" for pair in pairs]),
        idf=np.concatenate([idf, np.full(BUCKETS, idf.max(), np.float32)]),
        **arrays,
    )
    (target / "vocabulary.txt").write_text("\n".join(vocabulary), "utf-8")
    print(f"{len(pairs)} pairs of {len(packages)} packages: {dict(Counter(pair.kind for pair in pairs))}; {len(vocabulary)} words")


def bag(
    found: Sequence[str], rows_of: Callable[[str], list[int]], *, dampen: bool = False
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Rows and weights of words: the count of each, dampened to 1 + ln(count) if so; a word in pieces shares its weight among them."""
    rows: list[int] = []
    weights: list[float] = []
    for word, count in list(Counter(found).items())[:_MOST_WORDS]:
        own = rows_of(word)
        rows += own
        weights += [(1 + float(np.log(count)) if dampen else count) / len(own)] * len(own)
    return np.array(rows, np.int32), np.array(weights, np.float32)


def _read(records: Path) -> Iterator[dict[str, str]]:
    for file in sorted(records.glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                record: dict[str, str] = json.loads(line)
                if record["role"] == "training":
                    yield record


def _pairs(records: Iterable[dict[str, str]], forbidden: set[str]) -> Iterator[Pair]:
    seen: set[str] = set()
    asked: Counter[tuple[str, ...]] = Counter()
    for record in records:
        code = text_words(record["code"])
        body = words_fingerprint(code)
        first, rest = first_sentence(record["doc"], record["name"].rpartition(".")[2])
        if body in seen or body in forbidden or fingerprint(first) in forbidden or not is_question(first):
            continue
        seen.add(body)
        question = text_words(first)[:48]
        name, path = text_words(record["name"])[-12:], text_words(_EXTENSION.sub("", record["path"]))[-8:]
        own = text_words(record["name"].rpartition(".")[2])[:16]
        asked[tuple(question)] += 1
        if len(question) >= 2 and asked[tuple(question)] <= _SAME_QUESTION:
            yield Pair("documentation", record["package"], record["language"], question, code, name, path, text_words(rest)[:150])
        asked["", *own] += 1
        if len(own) >= 2 and asked["", *own] <= 2:
            yield Pair("name", record["package"], record["language"], own, [*question, *text_words(rest)[:100]], [], [], [])


def _frames(languages: Sequence[str]) -> Iterator[str]:
    """What is put around questions: of each language as many, in the order of the languages."""
    lines = (HERE / "frames.txt").read_text("utf-8").splitlines()
    frames = [line for line in lines if line and not line.startswith("#")]
    return (frame.replace("{language}", language) for language in languages for frame in frames)


def _vocabulary(pairs: Sequence[Pair], needed: set[str]) -> tuple[list[str], NDArray[np.float32]]:
    """The words of most documents and those that are needed, and their inverse document frequencies."""
    documents: Counter[str] = Counter()
    for pair in pairs:
        documents.update({*pair.code, *pair.question})
    common = [word for word, count in documents.items() if count >= _FEWEST_DOCUMENTS and word not in needed]
    kept = sorted(needed) + sorted(common, key=lambda word: (-documents[word], word))[: VOCABULARY - len(needed)]
    counts = np.array([documents[word] for word in kept], np.float32)
    idf = np.log(1 + (len(pairs) - counts + 0.5) / (counts + 0.5)).astype(np.float32)
    return kept, idf
