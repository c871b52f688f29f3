"""The trained model as the file that ships: int8 rows, float32 weights, the vocabulary; the same numbers make the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app.embeddings.static_model import StaticModel


def quantized(model: StaticModel) -> StaticModel:
    """Rows as int8, each row's scale moved into its word's two weights."""
    scale = np.maximum(np.abs(model.table).max(axis=1), 1e-9) / 127
    table = np.round(model.table / scale[:, None]).astype(np.int8)
    question, document = ((weights * scale).astype(np.float32) for weights in (model.question_weights, model.document_weights))
    return StaticModel(table, question, document, model.gains, model.vocabulary)


def write(model: StaticModel, path: Path) -> None:
    """Write an .npz that ``app.embeddings.static`` reads."""
    with path.open("wb") as out:
        np.savez(
            out,
            table=model.table,
            question_weights=model.question_weights,
            document_weights=model.document_weights,
            gains=np.array(model.gains, np.float32),
            vocabulary=np.frombuffer("\n".join(model.vocabulary).encode(), np.uint8),
        )
