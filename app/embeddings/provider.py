"""A provider of embeddings over HTTP: one request at its pace, tried again while that helps, never without end.

EmbedderUnavailable   it does not answer, is overloaded or asks to wait: the text is not to blame and may be sent later
TooLarge              it refuses the request for its size: fewer or shorter texts may pass
EmbeddingFailed       it refuses this request for another reason
ConfigurationError    it refuses every request: key, address or model are wrong
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import structlog

from app.domain.errors import ConfigurationError, EmbedderUnavailable
from app.embeddings.breaker import Breaker
from app.embeddings.pace import Pace
from app.embeddings.retry import backoff, retry_after
from app.ports import EmbeddingFailed

CONNECT_SECONDS: Final = 5.0
MOST_ATTEMPTS: Final = 5
LONGEST_ANSWER: Final = 64_000_000
"""Bytes: 1,000 vectors of 4,096 numbers written out have about 50 million."""
_KEYS: Final = "FOURFOLD_EMBEDDING__VOYAGE__API_KEY or FOURFOLD_EMBEDDING__OPENAI__API_KEY"
_DETAIL: Final = 200  # characters of a provider's message that are shown

_ABOUT_SIZE: Final = re.compile(r"token|context|too (?:large|long|many)|length|batch|maximum|max(?:imal)? ", re.IGNORECASE)

_log = structlog.get_logger(__name__)


class TooLarge(EmbeddingFailed):
    """The provider refuses a request for its size."""


@dataclass(frozen=True, slots=True)
class Patience:
    """``seconds`` that a call may take in all, waiting included; ``answer_seconds`` that the provider has for each attempt."""

    seconds: float
    answer_seconds: float


class Provider:
    """Posts JSON to one address. Safe to call from several threads, which share pace and breaker."""

    def __init__(self, url: str, key: str | None, pace: Pace, breaker: Breaker | None = None) -> None:
        """The key is sent in a header and shown nowhere."""
        self._url = url
        self._key = key
        self._pace = pace
        self._breaker = breaker or Breaker()
        self._stopped = threading.Event()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx2.Client(headers=headers, follow_redirects=False)

    def interrupt(self) -> None:
        """Waste no more time: whoever waits before an attempt gets EmbedderUnavailable, and so does every later call."""
        self._stopped.set()

    def close(self) -> None:
        """Give the connections up."""
        self._stopped.set()
        self._client.close()

    def post(self, body: Mapping[str, object], tokens: int, patience: Patience) -> Any:
        """The JSON of the answer; raises as the module says."""
        deadline = time.monotonic() + patience.seconds
        for attempt in range(1, MOST_ATTEMPTS + 1):
            self._breaker.admit()
            self._wait_for_pace(tokens, deadline)
            try:
                return self._attempt(body, min(patience.answer_seconds, deadline - time.monotonic()))
            except EmbedderUnavailable as error:
                wait = backoff(attempt) if error.retry_after is None else error.retry_after
                if attempt == MOST_ATTEMPTS or time.monotonic() + wait >= deadline:
                    raise
                _log.info("embedder_retry", reason=error.message, attempt=attempt, seconds=round(wait, 2))
                self._sleep(wait)
        raise AssertionError("unreachable")

    def _wait_for_pace(self, tokens: int, deadline: float) -> None:
        left = deadline - time.monotonic()
        wait = self._pace.reserve(tokens, left) if left > 0 else None
        if wait is None:
            raise EmbedderUnavailable("the provider's rate limit leaves no room for this request in time", retry_after=1)
        self._sleep(wait)

    def _sleep(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            raise EmbedderUnavailable("embedding was stopped")

    def _attempt(self, body: Mapping[str, object], seconds: float) -> Any:
        if seconds <= 0:
            raise EmbedderUnavailable("there was no time left to ask the provider")
        timeout = httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
        try:
            with self._client.stream("POST", self._url, json=body, timeout=timeout) as response:
                content = self._read(response, time.monotonic() + seconds)
        except (httpx2.TransportError, OSError) as error:
            self._breaker.failed()
            raise EmbedderUnavailable(
                f"the provider of embeddings did not answer: {type(error).__name__} {self._shown(str(error))}"
            ) from error
        return self._judge(response, content)

    def _read(self, response: httpx2.Response, deadline: float) -> bytes:
        """The whole body; a provider that dribbles or never ends is as bad as one that is silent."""
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if time.monotonic() > deadline or len(content) > LONGEST_ANSWER:
                raise httpx2.ReadTimeout("the answer took too long or was too large")
        return bytes(content)

    def _judge(self, response: httpx2.Response, content: bytes) -> Any:
        status = response.status_code
        if status == 429:
            self._breaker.succeeded()  # it lives
            wait = retry_after(response.headers.get("Retry-After"))
            if wait is not None:
                self._pace.pause(wait)
            raise EmbedderUnavailable("the provider's rate limit is reached", retry_after=None if wait is None else math.ceil(wait))
        if status >= 500 or status == 408:
            self._breaker.failed()
            wait = retry_after(response.headers.get("Retry-After"))
            raise EmbedderUnavailable(
                f"the provider of embeddings answered {status}", retry_after=None if wait is None else math.ceil(wait)
            )
        self._breaker.succeeded()
        if status in (401, 403):
            raise ConfigurationError(f"the provider of embeddings refused the key ({status}): see {_KEYS}")
        detail = self._shown(content.decode("utf-8", "replace"))
        if 300 <= status < 400 or status in (404, 405):
            raise ConfigurationError(f"no embeddings are served at {self._url} ({status}): {detail}")
        if status == 413 or (status in (400, 422) and _ABOUT_SIZE.search(detail)):
            raise TooLarge(f"the provider of embeddings answered {status}: {detail}")
        if status >= 400:
            raise EmbeddingFailed(f"the provider of embeddings answered {status}: {detail}")
        try:
            return json.loads(content)
        except ValueError as error:
            raise EmbeddingFailed("the provider of embeddings answered with something that is not JSON") from error

    def _shown(self, text: str) -> str:
        """The beginning of a provider's words, without the key, should they repeat it."""
        if self._key:
            text = text.replace(self._key, "…")
        return " ".join(text.split())[:_DETAIL]
