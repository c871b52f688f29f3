"""What is embedded of a chunk, and the cache of query vectors."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from app.embeddings.cached import QueryVectorCache
from app.embeddings.document import document_parts, document_text, text_hash


def test_header_has_the_words_of_name_and_path() -> None:
    text = document_text("src/http_client/HTTPSConnection.py", "HTTPSConnection.sendAll_v2", "    return 1\n")
    assert text == "https connection send all v 2\nsrc http client https connection\n    return 1\n"


def test_words_are_not_stemmed() -> None:
    assert document_text("caches/parsing.rs", "", "x").splitlines()[1] == "caches parsing"


def test_code_stands_unchanged_after_the_header() -> None:
    code = "\tif (a) {\r\n\t}\r\n\ufeff"
    assert document_text("a.c", "", code).split("\n", 2)[2] == code


@pytest.mark.parametrize("code", ["", "x", "\n", "a\nb\n\nc\n"])
def test_parts_are_what_the_text_was_made_of(code: str) -> None:
    assert document_parts(document_text("shop/cart.py", "Cart.add", code)) == ("cart add", "shop cart", code)


def test_another_text_is_code_alone() -> None:
    assert document_parts("return 1") == ("", "", "return 1")


@pytest.mark.parametrize("path", ["", ".env", "Makefile", "a/.gitignore", "…/日本/файл.py", "a/b.tar.gz"])
def test_any_path(path: str) -> None:
    assert document_text(path, "", "code").endswith("\ncode")


def test_long_names_and_paths_keep_their_last_words() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = document_text("/".join(f"folder{a}" for a in letters), ".".join(f"name{a}" for a in letters), "").split()
    assert (len(words), words[0], words[11], words[12], words[19]) == (20, "nameo", "namez", "folders", "folderz")


def test_hash_tells_texts_apart_and_takes_any_string() -> None:
    texts = ["", "a", "a\n", "\ud800", "\0", document_text("a.py", "", "x"), document_text("b.py", "", "x")]
    assert len({text_hash(text) for text in texts}) == len(texts)
    assert all(len(text_hash(text)) == 32 for text in texts)


class CountingEmbedder:
    """The vector of a text is its length; counts the calls."""

    name = "counting"
    bits = 1_024

    def __init__(self) -> None:
        self.calls = 0

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        return np.zeros((len(texts), 128), np.uint8)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.calls += 1
        return np.full(1_024, len(text), np.float32)


def test_cache_answers_again_without_the_model() -> None:
    embedder = CountingEmbedder()
    cache = QueryVectorCache(embedder, size=2)
    assert cache.embed_query("one") is cache.embed_query("one")
    assert embedder.calls == 1


def test_cache_forgets_the_least_recently_used() -> None:
    embedder = CountingEmbedder()
    cache = QueryVectorCache(embedder, size=2)
    for text in ("a", "bb", "a", "ccc", "a"):
        assert cache.embed_query(text)[0] == len(text)
    assert embedder.calls == 3
    cache.embed_query("bb")
    assert embedder.calls == 4


def test_cached_vector_cannot_be_changed_by_a_caller() -> None:
    cache = QueryVectorCache(CountingEmbedder())
    with pytest.raises(ValueError, match="read-only"):
        cache.embed_query("a")[0] = 5


@pytest.mark.anyio
async def test_query_vector_runs_the_model_beside_the_event_loop() -> None:
    threads: list[int] = []

    class Noting(CountingEmbedder):
        def embed_query(self, text: str) -> NDArray[np.float32]:
            threads.append(threading.get_ident())
            return super().embed_query(text)

    cache = QueryVectorCache(Noting())
    first, second = await cache.query_vector("q"), await cache.query_vector("q")
    assert first is second
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


def test_cache_stays_bounded_and_right_under_threads() -> None:
    cache = QueryVectorCache(CountingEmbedder(), size=8)
    wrong: list[str] = []

    def ask(offset: int) -> None:
        for i in range(500):
            text = "x" * ((i * 7 + offset) % 20)
            if cache.embed_query(text)[0] != len(text):
                wrong.append(text)

    threads = [threading.Thread(target=ask, args=(offset,)) for offset in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(cache._vectors) <= 8
