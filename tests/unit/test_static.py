"""The static embedder: with the model that ships, and with one small enough to be computed by hand."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from app.domain.errors import ConfigurationError
from app.domain.vectors import asymmetric_scores
from app.embeddings.document import document_text
from app.embeddings.frame import BITS
from app.embeddings.static import MODEL, StaticEmbedder
from app.embeddings.static_model import StaticModel, TextVectors

DOCUMENTS = {
    "teardown": document_text(
        "src/app.py", "App.do_teardown", "def do_teardown(self, exc):\n    for f in reversed(self.teardown_funcs):\n        f(exc)"
    ),
    "json": document_text("provider.py", "dumps", "def dumps(obj, **kwargs):\n    return json.dumps(obj, **kwargs)"),
    "password": document_text(
        "security.py", "check", "def check(pwhash, password):\n    return hmac.compare_digest(digest(password), pwhash)"
    ),
    "sort": document_text(
        "list.go", "quickSort", "func quickSort(items []int) {\n\tif len(items) < 2 { return }\n\tpivot := partition(items)\n}"
    ),
    "socket": document_text(
        "net.c", "open_peer", "int open_peer(const char *host) {\n  int fd = socket(AF_INET, 0);\n  connect(fd, addr);\n}"
    ),
    "template": document_text(
        "view.rb", "render", "def render(name)\n  template = @templates.fetch(name)\n  template.result(binding)\nend"
    ),
}
QUESTIONS = {
    "run cleanup callbacks in reverse order": "teardown",
    "serialize an object to a JSON string": "json",
    "how is a password compared with its hash": "password",
    "sort a slice of integers": "sort",
    "establish a TCP connection to a host": "socket",
    "fill a template with values": "template",
}


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder()


def ranking(embedder: StaticEmbedder, question: str) -> list[str]:
    scores = asymmetric_scores(embedder.embed_query(question), embedder.embed_documents(list(DOCUMENTS.values())))
    return [list(DOCUMENTS)[index] for index in np.argsort(-scores, kind="stable")]


@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items())
def test_the_nearest_document_answers(embedder: StaticEmbedder, question: str, answer: str) -> None:
    assert ranking(embedder, question)[0] == answer


def test_words_of_name_and_path_count(embedder: StaticEmbedder) -> None:
    code = "def run(self):\n    return self.inner(1)"
    texts = [
        document_text("a.py", "run", code),
        document_text("a.py", "Invoice.run", code),
        document_text("billing/invoice.py", "run", code),
    ]
    plain, named, placed = asymmetric_scores(embedder.embed_query("where are invoices made"), embedder.embed_documents(texts))
    assert plain < placed
    assert plain < named


def test_rare_names_and_other_scripts_find_themselves(embedder: StaticEmbedder) -> None:
    codes = [f"def {name}(x):\n    return x" for name in ("zyqxwv", "größe_ändern", "用户登录", "opretFaktura")]
    packed = embedder.embed_documents(codes)
    for index, question in enumerate(("zyqxwv", "größe ändern", "用户登录", "hvor er opretFaktura")):
        assert int(np.argmax(asymmetric_scores(embedder.embed_query(question), packed))) == index


def test_name_says_which_model(embedder: StaticEmbedder) -> None:
    assert embedder.name == f"static-{MODEL.sha256[:12]}/hadamard1024/2"
    assert embedder.bits == BITS


def test_vectors_do_not_depend_on_the_batch_or_the_thread(embedder: StaticEmbedder) -> None:
    texts = list(DOCUMENTS.values()) * 10
    whole = embedder.embed_documents(texts)
    found: dict[int, NDArray[np.uint8]] = {}

    def embed(part: int) -> None:
        found[part] = StaticEmbedder().embed_documents([texts[part]]) if part == 0 else embedder.embed_documents([texts[part]])

    threads = [threading.Thread(target=embed, args=(part,)) for part in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for part, packed in found.items():
        np.testing.assert_array_equal(packed[0], whole[part])


@pytest.mark.parametrize("text", ["", "\n\n", "   ", "a b ( ) {}", "\ud800", "\0" * 10, "x" * 100_000, "名", "1234567890123"])
def test_any_text_has_a_vector(embedder: StaticEmbedder, text: str) -> None:
    query = embedder.embed_query(text)
    assert query.dtype == np.float32
    assert np.linalg.norm(query) == pytest.approx(1.0, abs=1e-5)
    packed = embedder.embed_documents([text, text])
    assert packed.shape == (2, BITS // 8)
    np.testing.assert_array_equal(packed[0], packed[1])


def test_no_texts(embedder: StaticEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, BITS // 8)


def test_another_file_is_refused(tmp_path: Path) -> None:
    changed = bytearray(MODEL.path.read_bytes())
    changed[len(changed) // 2] ^= 1
    (tmp_path / "static.npz").write_bytes(changed)
    with pytest.raises(ConfigurationError, match="is not the model this version was made for"):
        StaticEmbedder(replace(MODEL, path=tmp_path / "static.npz")).embed_query("x")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read the model absent\.npz"):
        StaticEmbedder(replace(MODEL, path=tmp_path / "absent.npz")).verify()


def test_the_model_is_small_and_whole() -> None:
    model = MODEL.load()
    assert MODEL.path.stat().st_size <= 22_000_000
    assert model.table.dtype == np.int8
    assert (
        len(model.table) == len(model.question_weights) == len(model.document_weights) > len(set(model.vocabulary)) == len(model.vocabulary)
    )
    assert np.isfinite(model.question_weights).all()
    assert np.isfinite(model.document_weights).all()


BY_HAND = StaticModel(
    table=np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [3, 3, 3]], np.int8),
    question_weights=np.array([1, 2, 1, 1], np.float32),
    document_weights=np.array([1, 1, 4, 1], np.float32),
    gains=(2.0, 0.5),
    vocabulary=["parse", "file", "name"],
)


def test_a_question_is_the_weighted_sum_of_its_words() -> None:
    expected = np.array([2, 2, 0]) / np.sqrt(8)
    np.testing.assert_allclose(TextVectors(BY_HAND).question("parse parse file"), expected, atol=1e-6)


def test_a_document_dampens_what_it_repeats_and_gains_by_name_and_path() -> None:
    expected = np.array([1 + np.log(2) + 2, 0.5, 4])
    found = TextVectors(BY_HAND).document("parse", "file", "parse(name, parse)")
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-6)


def test_an_unknown_word_shares_its_weight_among_its_pieces() -> None:
    expected = np.array([3 + 1, 3, 3]) / 2 + np.array([0, 2, 0])
    np.testing.assert_allclose(TextVectors(BY_HAND).question("parsexx file"), expected / np.linalg.norm(expected), atol=1e-6)


def test_texts_without_words_are_one_vector() -> None:
    vectors = TextVectors(BY_HAND)
    np.testing.assert_array_equal(vectors.question(""), vectors.document("", "", "( ) {}"))
    assert np.linalg.norm(vectors.question("")) == pytest.approx(1.0)
