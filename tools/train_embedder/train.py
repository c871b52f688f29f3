"""Trains the vector table: in-batch contrastive learning on bags of words. Needs torch (requirements.txt beside this file).

A document is Σ weight · exp(document weight of the word) · row over its code, name and path; a question the same with question
weights. Both share one table. The loss is the symmetric InfoNCE of cosines; every question's other candidates are the batch, drawn in
groups of one package each, so that what tells neighbours apart is learned rather than what tells projects apart.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from app.embeddings.static_model import StaticModel

Arrays = Mapping[str, NDArray[Any]]
_SCALE: Final = 3.0  # how much faster than rows the words' weights learn


@dataclass(frozen=True, slots=True)
class Recipe:
    """Every number of the training; the defaults made the artefact."""

    seed: int = 0
    dimensions: int = 512
    steps: int = 170
    batch: int = 2_048
    group: int = 64  # pairs of one package that follow each other
    rate: float = 1e-2
    warm_up: int = 30
    temperature: float = 0.05
    word_dropout: float = 0.1
    keep_name: float = 0.85
    keep_path: float = 0.5
    keep_rest: float = 0.35
    name_share: float = 0.6  # of the pairs whose question is a name
    frame_share: float = 0.5  # of the questions that are put as people put them


class _Model:
    def __init__(self, arrays: Arrays, recipe: Recipe) -> None:
        idf = arrays["idf"]
        generator = np.random.default_rng(recipe.seed)
        table = generator.standard_normal((len(idf), recipe.dimensions)).astype(np.float32) / math.sqrt(recipe.dimensions)
        start = np.log(np.maximum(idf, 0.5) / idf.mean()).astype(np.float32)
        self.table = torch.nn.Parameter(torch.from_numpy(table))
        self.question = torch.nn.Parameter(torch.from_numpy(start.copy()))
        self.document = torch.nn.Parameter(torch.from_numpy(start.copy()))
        self.gains = torch.nn.Parameter(torch.tensor([0.7, 0.0]))
        self._arrays = arrays

    def parameters(self) -> list[dict[str, Any]]:
        return [{"params": [self.table], "scale": 1.0}, {"params": [self.question, self.document, self.gains], "scale": _SCALE}]

    def questions(self, pairs: NDArray[np.int64], dropout: float, generator: np.random.Generator) -> torch.Tensor:
        rows, weights, offsets, _ = self._take("question", pairs)
        kept = weights * (generator.random(len(weights)) >= dropout)
        return self._sum(rows, kept.astype(np.float32), offsets, self.question)

    def frames(self, pairs: NDArray[np.int64], share: float, generator: np.random.Generator) -> torch.Tensor:
        """The vectors of random frames in the language of each pair, zero for those that get none."""
        every = np.arange(len(self._arrays["frame_offsets"]) - 1)
        rows, weights, offsets, _ = self._take("frame", every)
        vectors = self._sum(rows, weights, offsets, self.question)
        languages = self._arrays["language"]
        per_language = len(every) // (int(languages.max()) + 1)
        chosen = languages[pairs] * per_language + generator.integers(per_language, size=len(pairs))
        framed = torch.from_numpy((generator.random(len(pairs)) < share).astype(np.float32))
        return vectors[torch.from_numpy(chosen.astype(np.int64))] * framed[:, None]

    def documents(self, pairs: NDArray[np.int64], keep: Mapping[str, NDArray[np.bool_]]) -> torch.Tensor:
        rows, weights, offsets, _ = self._take("code", pairs)
        total = self._sum(rows, weights, offsets, self.document)
        for part, gain in (("name", self.gains[0]), ("path", self.gains[1]), ("rest", None)):
            rows, weights, offsets, counts = self._take(part, pairs)
            kept = weights * np.repeat(keep[part], counts)
            summed = self._sum(rows, kept.astype(np.float32), offsets, self.document)
            total = total + (summed if gain is None else summed * torch.exp(gain))
        return total

    def trained(self, vocabulary: Sequence[str]) -> StaticModel:
        question, document = torch.exp(self.question).detach().numpy(), torch.exp(self.document).detach().numpy()
        name, path = torch.exp(self.gains).tolist()
        return StaticModel(self.table.detach().numpy(), question, document, (name, path), vocabulary)

    def _sum(self, rows: NDArray[Any], weights: NDArray[Any], offsets: NDArray[Any], scales: torch.Tensor) -> torch.Tensor:
        index = torch.from_numpy(rows.astype(np.int64))
        scaled = torch.from_numpy(weights) * torch.exp(scales[index])
        return functional.embedding_bag(index, self.table, torch.from_numpy(offsets), mode="sum", per_sample_weights=scaled)

    def _take(self, part: str, pairs: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The bags of some pairs: rows, weights, where each begins, how long it is."""
        ends = self._arrays[f"{part}_offsets"]
        counts = ends[pairs + 1] - ends[pairs]
        begins = np.cumsum(counts) - counts
        place = np.arange(int(counts.sum())) - np.repeat(begins - ends[pairs], counts)
        return self._arrays[f"{part}_rows"][place], self._arrays[f"{part}_weights"][place], begins, counts


def train(pairs: Path, vocabulary: Sequence[str], recipe: Recipe) -> StaticModel:
    """Train on ``pairs.npz`` with one thread. The same seed gives nearly, not exactly, the same numbers: sums are reordered."""
    torch.set_num_threads(1)
    torch.manual_seed(recipe.seed)
    with np.load(pairs) as stored:
        arrays = {key: stored[key] for key in stored.files}
    generator = np.random.default_rng(recipe.seed)
    model = _Model(arrays, recipe)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.rate, betas=(0.9, 0.99), fused=True)
    same = _question_keys(arrays)
    losses: list[float] = []
    began = time.monotonic()
    for step, batch in zip(range(recipe.steps), _batches(arrays, recipe, generator), strict=False):
        rate = recipe.rate * min(1.0, (step + 1) / recipe.warm_up) * max(0.02, 1 - step / recipe.steps)
        for group in optimizer.param_groups:
            group["lr"] = rate * group["scale"]
        named = arrays["is_name"][batch]
        chances = {"name": recipe.keep_name, "path": recipe.keep_path, "rest": recipe.keep_rest}
        keep = {part: ~named & (generator.random(len(batch)) < chance) for part, chance in chances.items()}
        asked = model.questions(batch, recipe.word_dropout, generator) + model.frames(batch, recipe.frame_share, generator)
        questions = functional.normalize(asked, dim=1)
        documents = functional.normalize(model.documents(batch, keep), dim=1)
        loss = _info_nce(questions @ documents.T / recipe.temperature, torch.from_numpy(same[batch]))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        if (step + 1) % 30 == 0:
            print(f"step {step + 1}: loss {np.mean(losses[-30:]):.3f}, {time.monotonic() - began:.0f} s", flush=True)
    return model.trained(vocabulary)


def _info_nce(scores: torch.Tensor, question: torch.Tensor) -> torch.Tensor:
    """Cross entropy in both directions; another pair with the same question is neither right nor wrong."""
    alike = (question[:, None] == question[None]).fill_diagonal_(False)
    scores = scores.masked_fill(alike, -1e4)
    right = torch.arange(len(scores))
    return 0.5 * (functional.cross_entropy(scores, right) + functional.cross_entropy(scores.T, right))


def _question_keys(arrays: Arrays) -> NDArray[np.int64]:
    """The same number for pairs whose questions have the same words."""
    rows, ends = arrays["question_rows"], arrays["question_offsets"].tolist()
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(rows[start:end].tobytes(), len(seen)) for start, end in pairwise(ends)], np.int64)


def _batches(arrays: Arrays, recipe: Recipe, generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Pair numbers in batches of groups, epoch after epoch."""
    while True:
        order = generator.permutation(len(arrays["package"]))
        order = order[~arrays["is_name"][order] | (generator.random(len(order)) < recipe.name_share)]
        order = order[np.argsort(arrays["package"][order], kind="stable")][int(generator.integers(recipe.group)) :]
        groups = order[: len(order) // recipe.group * recipe.group].reshape(-1, recipe.group)
        groups = groups[generator.permutation(len(groups))]
        size = recipe.batch // recipe.group
        yield from (groups[start : start + size].reshape(-1) for start in range(0, len(groups) - size + 1, size))
