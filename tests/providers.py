"""Providers of embeddings on loopback: they speak the protocols of Voyage AI and OpenAI, with their limits, errors and delays.

The providers themselves cannot be reached from tests. A vector is the sum of one random vector per word, so that texts with words in
common are alike; the model's name takes part, so that models differ.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEY = "pa-test-key-0123456789"


@dataclass(frozen=True)
class Reply:
    """What is sent instead of the right answer; ``body`` None: the connection is cut."""

    status: int
    body: bytes | None = b'{"detail": "told to fail"}'
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


Fault = Callable[[dict[str, Any]], Reply | None]
"""Looks at a request and says what goes wrong, or None."""


class ProviderServer(ThreadingHTTPServer):
    """``faults`` are asked in turn for each request, the first that has one decides; ``spoil`` changes right answers."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.faults: list[Fault] = []
        self.spoil: Callable[[dict[str, Any]], None] = lambda answer: None
        self.most_texts = 1_000
        self.most_tokens = 120_000
        self.context_tokens = 32_000
        self.width = 1_024
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/embeddings"

    @property
    def texts(self) -> list[str]:
        """Every text that was sent, in order."""
        return [text for request in self.requests for text in request["input"]]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the tests."""

    def answer(self, body: dict[str, Any], key: str | None) -> Reply:
        if key not in (None, KEY):
            return Reply(401, json.dumps({"detail": f"Provided API key {key} is invalid."}).encode())
        texts = body["input"]
        tokens = [len(text) // 4 + 1 for text in texts]
        if len(texts) > self.most_texts:
            return Reply(400, b'{"detail": "The batch size limit is exceeded: too many texts."}')
        if sum(tokens) > self.most_tokens:
            return Reply(400, b'{"detail": "The max allowed tokens per submitted batch is exceeded."}')
        if max(tokens) > self.context_tokens:
            return Reply(400, b'{"detail": "An input is longer than the context length of the model."}')
        if any(not text for text in texts):
            return Reply(400, b'{"detail": "Input cannot contain empty strings"}')
        answer = {
            "object": "list",
            "data": [{"object": "embedding", "index": at, "embedding": self.embedding(text, body)} for at, text in enumerate(texts)],
            "model": body["model"],
            "usage": {"total_tokens": sum(tokens)},
        }
        self.spoil(answer)
        return Reply(200, json.dumps(answer).encode())

    def embedding(self, text: str, body: dict[str, Any]) -> Sequence[float]:
        numbers = vector(text, body["model"], body.get("output_dimension") or body.get("dimensions") or self.width)
        dtype = body.get("output_dtype", "float")
        if dtype == "ubinary":
            packed: Sequence[int] = np.packbits(numbers > 0).tolist()
            return packed
        if dtype == "binary":
            offset: Sequence[int] = (np.packbits(numbers > 0).astype(int) - 128).tolist()
            return offset
        floats: Sequence[float] = numbers.tolist()
        return floats


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ProviderServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append(body)
            self.server.headers.append(dict(self.headers))
            self.server.times.append(time.monotonic())
            reply = next((reply for fault in self.server.faults if (reply := fault(body)) is not None), None)
        authorization = self.headers.get("Authorization")
        reply = reply or self.server.answer(body, authorization and authorization.removeprefix("Bearer "))
        time.sleep(reply.seconds)
        if reply.body is None:
            self.close_connection = True
            self.connection.shutdown(2)
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Not to the terminal."""


@contextmanager
def provider() -> Iterator[ProviderServer]:
    """A provider that answers until the end of the block."""
    with ProviderServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def vector(text: str, model: str, width: int) -> NDArray[np.float32]:
    """Unit length, shape (width,)."""
    words = [*re.findall(r"[a-z0-9]+", text.lower()), ""]
    total: NDArray[np.float32] = np.sum([_word(word, model, width) for word in words], axis=0, dtype=np.float32)
    unit: NDArray[np.float32] = total / np.linalg.norm(total)
    return unit


@lru_cache(maxsize=10_000)
def _word(word: str, model: str, width: int) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(f"{model}/{word}".encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(width).astype(np.float32)


def times(count: int, reply: Reply) -> Fault:
    """The same fault for so many requests."""
    left = [count]

    def fault(_body: dict[str, Any]) -> Reply | None:
        left[0] -= 1
        return reply if left[0] >= 0 else None

    return fault


def always(reply: Reply) -> Fault:
    return lambda _body: reply


def when(word: str, reply: Reply) -> Fault:
    """For every request with a text that has this word."""
    return lambda body: reply if any(word in text for text in _texts(body)) else None


def _texts(body: dict[str, Any]) -> Sequence[str]:
    texts: Sequence[str] = body["input"]
    return texts
