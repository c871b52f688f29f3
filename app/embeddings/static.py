"""The default embedder: a bag-of-words model trained by this project, as a file of the package. Needs numpy alone."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import ConfigurationError
from app.embeddings.document import DOCUMENT_FORMAT, document_parts
from app.embeddings.frame import BITS, pack_bits, project, unit
from app.embeddings.static_model import StaticModel, TextVectors

_MOST_CHARACTERS: Final = 16_384  # a chunk is a tenth of it, save for a single line without end


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A trained model and the SHA-256 that its file must have."""

    path: Path
    sha256: str

    def load(self) -> StaticModel:
        """The model; raises ConfigurationError when the file is not there or is another one."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"cannot read the model {self.path.name}: {error.strerror}; install fourfold anew") from error
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise ConfigurationError(
                f"{self.path.name} is not the model this version was made for: sha256 {found}, expected {self.sha256}; "
                "install fourfold anew"
            )
        with np.load(io.BytesIO(content)) as arrays:
            name_gain, path_gain = arrays["gains"].tolist()
            return StaticModel(
                table=arrays["table"],
                question_weights=arrays["question_weights"],
                document_weights=arrays["document_weights"],
                gains=(name_gain, path_gain),
                vocabulary=arrays["vocabulary"].tobytes().decode("utf-8").split("\n"),
            )


MODEL: Final = ModelFile(Path(__file__).parent / "data" / "static.npz", "e77ebe18b262e75114ca93deaa718f3f987f67dfa1755a299baaaf2442f60968")


class StaticEmbedder:
    """The Embedder of the package's own model, which is loaded at first use."""

    def __init__(self, file: ModelFile = MODEL) -> None:
        self._file = file
        self._vectors: TextVectors | None = None
        self._loading = threading.Lock()

    @property
    def name(self) -> str:
        return f"static-{self._file.sha256[:12]}/hadamard{BITS}/{DOCUMENT_FORMAT}"

    @property
    def bits(self) -> int:
        return BITS

    def verify(self) -> None:
        """Load the model; raises ConfigurationError with what to do."""
        self._loaded()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        """See ports.Embedder; the texts are those of ``document_text``. Raises ConfigurationError when the model cannot be loaded."""
        if not texts:
            return np.empty((0, BITS // 8), np.uint8)
        vectors = self._loaded()
        return pack_bits(project(np.stack([vectors.document(*document_parts(text[:_MOST_CHARACTERS])) for text in texts])))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See ports.Embedder; raises ConfigurationError when the model cannot be loaded."""
        return unit(project(self._loaded().question(text[:_MOST_CHARACTERS])[None, :])).reshape(BITS)

    def _loaded(self) -> TextVectors:
        with self._loading:
            if self._vectors is None:
                self._vectors = TextVectors(self._file.load())
            return self._vectors
