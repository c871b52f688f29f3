"""The embedders of providers against servers on loopback that speak their protocols."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from app.config import EmbeddingSettings, OpenAiSettings, Settings, VoyageSettings
from app.domain.errors import ConfigurationError, EmbedderUnavailable
from app.domain.vectors import VectorSet, asymmetric_scores
from app.embeddings import provider as provider_module
from app.embeddings.factory import Embedders
from app.ports import EmbeddingFailed
from tests.providers import KEY, ProviderServer, Reply, always, provider, times, vector, when


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider() as running:
        yield running


_OPEN: list[Embedders] = []


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Waits of half a second are a millisecond here; connections are given up at the end."""
    monkeypatch.setattr("app.embeddings.retry.FIRST_SECONDS", 0.001)
    yield
    while _OPEN:
        _OPEN.pop().close()


def opened(settings: Settings) -> Embedders:
    _OPEN.append(Embedders(settings))
    return _OPEN[-1]


def voyage(server: ProviderServer, *, key: str = KEY, query_ms: int = 2_000, **changes: Any) -> Embedders:
    settings = VoyageSettings(url=server.url, api_key=key, **changes)
    return opened(Settings(embedder="voyage", embedding=EmbeddingSettings(voyage=settings, query_ms=query_ms, answer_seconds=5)))


def openai(server: ProviderServer, *, width: int = 384, key: str | None = None, **changes: Any) -> Embedders:
    settings = OpenAiSettings(url=server.url, model="m", dimensions=width, api_key=key, **changes)
    server.width = width
    return opened(Settings(embedder="openai", embedding=EmbeddingSettings(openai=settings, query_ms=2_000, answer_seconds=5)))


def embedder(embedders: Embedders) -> Any:
    assert embedders.target is not None
    return embedders.target.embedder


def test_voyage_gives_bits_and_the_question_numbers_that_agree(server: ProviderServer) -> None:
    made = embedder(voyage(server))
    texts = ["def open_file(path): pass", "class Socket: pass"]
    packed = made.embed_documents(texts)
    assert packed.shape == (2, 128)
    assert [row.tolist() for row in packed] == [np.packbits(vector(text, "voyage-code-3", 1_024) > 0).tolist() for text in texts]
    query = made.embed_query("open file path")
    assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)
    assert asymmetric_scores(query, packed).argmax() == 0
    first, second = server.requests
    assert {**first, "input": 0} == {
        "model": "voyage-code-3",
        "input": 0,
        "input_type": "document",
        "output_dtype": "ubinary",
        "output_dimension": 1_024,
        "truncation": True,
    }
    assert (second["input_type"], second["output_dtype"]) == ("query", "float")
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert made.name.startswith("voyage/voyage-code-3/ubinary1024/")


def test_offset_binary_is_refused(server: ProviderServer) -> None:
    def offset(answer: dict[str, Any]) -> None:
        for item in answer["data"]:
            item["embedding"] = [byte - 128 for byte in item["embedding"]]

    server.spoil = offset
    with pytest.raises(EmbeddingFailed, match="not ubinary"):
        embedder(voyage(server)).embed_documents(["a", "b"])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda answer: answer["data"].pop(), "returned 2 vectors for 3 texts"),
        (lambda answer: answer["data"].append(answer["data"][0]), "returned 4 vectors"),
        (lambda answer: answer["data"][1].update(embedding=[1, 2, 3]), "3 bytes"),
        (lambda answer: answer["data"][1].update(embedding=[0.5] * 128), "not ubinary"),
        (lambda answer: answer["data"][1].update(embedding=None), "no bytes"),
        (lambda answer: answer.update(data="x"), "no list"),
        (lambda answer: answer["data"][1].update(index=0), "returned 3 vectors"),
    ],
)
def test_an_answer_that_is_none_is_refused(server: ProviderServer, spoil: Any, message: str) -> None:
    server.spoil = spoil
    with pytest.raises(EmbeddingFailed, match=message):
        embedder(voyage(server)).embed_documents(["a", "b", "c"])


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        ([float("nan")] * 384, "NaN"),
        ([0.0] * 384, "zero"),
        ([1.0] * 383, r"shape \(383,\), not of 384"),
        (["x"] * 384, "no vector"),
        ([[1.0]] * 384, "shape"),
    ],
)
def test_numbers_that_are_none_are_refused(server: ProviderServer, embedding: Any, message: str) -> None:
    server.spoil = lambda answer: answer["data"][0].update(embedding=embedding)
    with pytest.raises(EmbeddingFailed, match=message):
        embedder(openai(server)).embed_documents(["a"])


def test_answers_out_of_order_are_put_in_order(server: ProviderServer) -> None:
    made = embedder(voyage(server))
    right = made.embed_documents(["a", "b", "c"])
    server.spoil = lambda answer: answer["data"].reverse()
    assert np.array_equal(made.embed_documents(["a", "b", "c"]), right)


@pytest.mark.parametrize(("width", "kind"), [(384, "hadamard1024"), (1_024, "sign1024"), (1_536, "sign1024")])
def test_numbers_of_any_width_become_1024_bits(server: ProviderServer, width: int, kind: str) -> None:
    made = embedder(openai(server, width=width))
    texts = ["open a file", "close a socket", "parse json text"]
    packed = made.embed_documents(texts)
    assert packed.shape == (3, 128)
    for at, text in enumerate(texts):
        query = made.embed_query(text)
        assert query.shape == (1_024,)
        assert np.linalg.norm(query) == pytest.approx(1, abs=1e-4)
        assert asymmetric_scores(query, packed).argmax() == at
    assert f"/{width}/{kind}/" in made.name
    assert "dimensions" not in server.requests[0]
    assert "Authorization" not in server.headers[0]


def test_prefixes_and_width_are_sent_and_make_another_set(server: ProviderServer) -> None:
    plain, prefixed = openai(server), openai(server, send_dimensions=True, query_prefix="query: ", document_prefix="passage: ", key=KEY)
    embedder(prefixed).embed_documents(["a"])
    embedder(prefixed).embed_query("b")
    assert server.texts == ["passage: a", "query: b"]
    assert server.requests[0]["dimensions"] == 384
    assert embedder(plain).name != embedder(prefixed).name


def test_batches_keep_to_the_limits(server: ProviderServer) -> None:
    server.most_texts, server.most_tokens = 32, 16_000
    texts = [f"alpha{i} " * 200 for i in range(100)]
    packed = embedder(openai(server)).embed_documents(texts)
    assert len(packed) == 100
    assert server.texts == texts
    assert max(len(request["input"]) for request in server.requests) <= 32
    assert len({row.tobytes() for row in packed}) == 100


def test_a_batch_refused_for_its_size_is_halved(server: ProviderServer) -> None:
    server.most_tokens = 60
    texts = [f"text {i} with some words" for i in range(40)]
    made = embedder(voyage(server))
    packed = made.embed_documents(texts)
    server.most_tokens = 120_000
    assert np.array_equal(packed, made.embed_documents(texts))


def test_a_text_longer_than_the_model_reads_is_cut_into_pieces(server: ProviderServer) -> None:
    server.context_tokens = 100
    text = "\n".join(f"line {i} about sockets" for i in range(60))
    packed = embedder(openai(server, text_tokens=100)).embed_documents([text, "line"])
    assert packed.shape == (2, 128)
    assert "".join(server.texts[:-1]) == text
    assert len(server.texts) > 3


def test_a_single_text_refused_for_its_size_is_shortened(server: ProviderServer) -> None:
    server.context_tokens = 100
    assert embedder(voyage(server)).embed_documents(["word " * 2_000]).shape == (1, 128)
    assert len(server.requests[-1]["input"][0]) <= 400


def test_odd_texts_are_sent_as_valid_unicode(server: ProviderServer) -> None:
    assert embedder(voyage(server)).embed_documents(["", "\ud800 half", "🛒"]).shape == (3, 128)
    assert server.texts == [" ", "? half", "🛒"]
    assert embedder(voyage(server)).embed_documents([]).shape == (0, 128)


def test_passing_faults_are_tried_again(server: ProviderServer) -> None:
    server.faults = [times(1, Reply(429)), times(1, Reply(503)), times(1, Reply(200, None)), times(1, Reply(500))]
    made = embedder(voyage(server))
    assert made.embed_documents(["a"]).shape == (1, 128)
    assert len(server.requests) == 5


def test_retry_after_is_kept_by_every_thread(server: ProviderServer) -> None:
    server.faults = [times(1, Reply(429, headers={"Retry-After": "1"}))]
    made = embedder(voyage(server))
    threads = [threading.Thread(target=made.embed_documents, args=([name],)) for name in ("a", "b")]
    threads[0].start()
    while not server.requests:
        time.sleep(0.005)
    time.sleep(0.1)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 3
    assert all(at - server.times[0] > 0.9 for at in server.times[1:])


def test_a_long_wait_is_left_to_the_caller(server: ProviderServer) -> None:
    server.faults = [times(1, Reply(429, headers={"Retry-After": "600"}))]
    made = embedder(voyage(server))
    with pytest.raises(EmbedderUnavailable) as refused:
        made.embed_documents(["a"])
    assert refused.value.retry_after == 600
    with pytest.raises(EmbedderUnavailable, match="rate limit"):
        made.embed_query("a")
    assert len(server.requests) == 1


def test_a_provider_that_is_gone_is_left_alone(server: ProviderServer) -> None:
    server.faults = [always(Reply(500))]
    made = embedder(voyage(server))
    with pytest.raises(EmbedderUnavailable, match="500"):
        made.embed_documents(["a"])
    asked = len(server.requests)
    with pytest.raises(EmbedderUnavailable, match="left alone") as refused:
        made.embed_query("a")
    assert (len(server.requests), asked) == (5, 5)
    assert refused.value.retry_after


def test_a_question_waits_no_longer_than_it_may(server: ProviderServer) -> None:
    server.faults = [always(Reply(200, seconds=3))]
    made = embedder(voyage(server, query_ms=200))
    with pytest.raises(EmbedderUnavailable):  # it would be an answer
        made.embed_query("a")


def test_nobody_listens() -> None:
    with provider() as server:
        made = embedder(voyage(server))
    with pytest.raises(EmbedderUnavailable, match="did not answer"):
        made.embed_query("a")


def test_an_interrupted_wait_ends_at_once(server: ProviderServer) -> None:
    server.faults = [always(Reply(429, headers={"Retry-After": "30"}))]
    embedders = voyage(server)
    seen: list[BaseException] = []

    def run() -> None:
        try:
            embedder(embedders).embed_documents(["a"])
        except EmbedderUnavailable as error:
            seen.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while not server.requests:
        time.sleep(0.005)
    embedders.interrupt()
    thread.join(20)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("status", "error"), [(401, ConfigurationError), (404, ConfigurationError), (301, ConfigurationError), (400, EmbeddingFailed)]
)
def test_what_trying_again_cannot_mend_is_not_tried_again(server: ProviderServer, status: int, error: type[Exception]) -> None:
    server.faults = [always(Reply(status, b'{"detail": "no such thing"}'))]
    with pytest.raises(error):
        embedder(voyage(server)).embed_documents(["a", "b"])
    assert len(server.requests) == 1


def test_a_text_that_is_rejected_names_the_reason(server: ProviderServer) -> None:
    server.faults = [when("poison", Reply(400, b'{"detail": "this content is not allowed"}'))]
    with pytest.raises(EmbeddingFailed, match=r"400: .*not allowed"):
        embedder(voyage(server)).embed_documents(["poison"])


def test_something_else_than_json(server: ProviderServer) -> None:
    server.faults = [always(Reply(200, b"<html>"))]
    with pytest.raises(EmbeddingFailed, match="not JSON"):
        embedder(voyage(server)).embed_documents(["a"])


def test_an_endless_answer_is_not_read(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_module, "LONGEST_ANSWER", 1_000)
    server.faults = [always(Reply(200, b"[" * 100_000))]
    with pytest.raises(EmbedderUnavailable, match="too large"):
        embedder(voyage(server)).embed_query("a")


def test_the_key_is_shown_nowhere(server: ProviderServer, caplog: pytest.LogCaptureFixture) -> None:
    wrong = "pa-wrong-" + "z" * 30
    settings = VoyageSettings(url=server.url, api_key=wrong)
    embedders = opened(Settings(embedder="voyage", embedding=EmbeddingSettings(voyage=settings)))
    server.faults = [times(1, Reply(429)), times(1, Reply(400, json.dumps({"detail": f"bad request with {wrong}"}).encode()))]
    caplog.set_level(logging.DEBUG)
    shown = [repr(settings), repr(embedders.__dict__)]
    with capture_logs() as logs:
        for error in (EmbeddingFailed, ConfigurationError):
            with pytest.raises(error) as raised:
                embedder(embedders).embed_documents(["a"])
            shown.append(str(raised.value))
    shown += [str(logs), caplog.text]
    assert "429" in caplog.text or logs
    assert [text for text in shown if wrong in text] == []


def test_an_embedder_that_lacks_a_setting_says_which() -> None:
    with pytest.raises(ConfigurationError, match="FOURFOLD_EMBEDDING__VOYAGE__API_KEY"):
        Embedders(Settings(embedder="voyage"))
    with pytest.raises(ConfigurationError, match="FOURFOLD_EMBEDDING__OPENAI__MODEL"):
        Embedders(Settings(embedder="openai"))


def test_the_public_server_is_asked_only_with_a_key(server: ProviderServer) -> None:
    """Vectors of a server of one's own may serve on when its address is not set any more; questions must not go elsewhere then."""
    own = VectorSet(7, embedder(openai(server)).name, "openai", "m")
    without_address = EmbeddingSettings(openai=OpenAiSettings(model="m", dimensions=384))
    with pytest.raises(ConfigurationError, match="FOURFOLD_EMBEDDING__OPENAI__URL"):
        Embedders(Settings(embedder="openai", embedding=without_address))
    with pytest.raises(ConfigurationError, match="FOURFOLD_EMBEDDING__OPENAI__URL"):
        opened(Settings(embedder="static", embedding=without_address)).for_set(own)
    assert server.requests == []


def test_the_embedder_of_another_set_is_made_from_what_the_set_says(server: ProviderServer) -> None:
    embedders = voyage(server)
    other = VectorSet(7, embedder(voyage(server, model="voyage-old")).name, "voyage", "voyage-old")
    choice = embedders.for_set(other)
    assert choice is embedders.for_set(other)
    choice.embedder.embed_query("a")
    assert server.requests[-1]["model"] == "voyage-old"
    for unknown in (VectorSet(8, "voyage/voyage-old/float/0", "voyage", "voyage-old"), VectorSet(9, "x", "word2vec", "x")):
        with pytest.raises(ConfigurationError, match="cannot be made"):
            embedders.for_set(unknown)


def test_bits_that_hardly_change_are_told_once(server: ProviderServer) -> None:
    def flat(answer: dict[str, Any]) -> None:
        for item in answer["data"]:
            numbers = np.array(item["embedding"]) * 0.02
            item["embedding"] = (numbers + vector("the same for all", "m", len(numbers))).tolist()

    with capture_logs() as healthy:
        embedder(openai(server)).embed_documents([f"text number {i}" for i in range(200)])
    server.spoil = flat
    with capture_logs() as degenerate:
        made = embedder(openai(server))
        for _ in range(2):
            made.embed_documents([f"text number {i}" for i in range(200)])
    assert [entry["event"] for entry in healthy] == []
    assert [entry["event"] for entry in degenerate] == ["embeddings_degenerate"]
