"""Makes embedders from settings: the one that is set, and those whose vectors still serve."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Final

from app.config import OpenAiSettings, Settings, VoyageSettings
from app.domain.errors import ConfigurationError
from app.domain.vectors import VectorSet
from app.embeddings import openai, voyage
from app.embeddings.batches import Limits
from app.embeddings.cached import QueryVectorCache
from app.embeddings.choice import Choice
from app.embeddings.minilm import MiniLmEmbedder
from app.embeddings.pace import Pace
from app.embeddings.provider import Patience, Provider
from app.embeddings.remote import RemoteTexts
from app.embeddings.static import StaticEmbedder
from app.ports import Embedder

_THREADS: Final = min(4, os.cpu_count() or 1)
_VOYAGE_LIMITS: Final = Limits(texts=1_000, tokens=120_000, text_tokens=32_000)  # voyage-code-3's own
_DOCUMENT_SECONDS: Final = 90.0  # a call with its retries; longer waits are the worker's, which can be told to stop


class Embedders:
    """The embedders of this process, each made once."""

    def __init__(self, settings: Settings) -> None:
        """Raises ConfigurationError when the embedder that is set lacks a setting."""
        self._settings = settings
        self._lock = threading.Lock()
        self._providers: list[Provider] = []
        self._made: dict[str, Choice] = {}
        self.target: Final[Choice | None] = self._make(settings.embedder, None)

    def for_set(self, vector_set: VectorSet) -> Choice:
        """The embedder of these vectors; raises ConfigurationError when this version and these settings cannot make it."""
        with self._lock:
            known = self._made.get(vector_set.name)
            if known is not None:
                return known
            choice = self._make(vector_set.kind, vector_set.model)
        if choice is None or choice.embedder.name != vector_set.name:
            raise ConfigurationError(f"the embedder of the vector set {vector_set.name} cannot be made with these settings")
        return choice

    def interrupt(self) -> None:
        """End what waits for a provider."""
        for provider in self._providers:
            provider.interrupt()

    def close(self) -> None:
        """Give up the connections to providers."""
        for provider in self._providers:
            provider.close()

    def _make(self, kind: str, model: str | None) -> Choice | None:
        maker = _MAKERS.get(kind)
        choice = maker(self, model) if maker else None
        if choice is not None:
            self._made[choice.embedder.name] = choice
        return choice

    def _static(self, _model: str | None) -> Choice:
        return Choice("static", "static", QueryVectorCache(StaticEmbedder(), in_place=True), batch=256, cached=False)

    def _minilm(self, _model: str | None) -> Choice:
        return Choice("minilm", "all-MiniLM-L6-v2", QueryVectorCache(MiniLmEmbedder(threads=_THREADS)), batch=8)

    def _voyage(self, model: str | None) -> Choice:
        settings = self._settings.embedding.voyage
        if settings.api_key is None:
            raise ConfigurationError("the embedder 'voyage' needs a key: set FOURFOLD_EMBEDDING__VOYAGE__API_KEY")
        name = model or settings.model
        texts = self._texts(settings.url or voyage.URL, settings, _VOYAGE_LIMITS)
        return self._remote("voyage", name, voyage.VoyageEmbedder(texts, name, *self._patience()), batch=128)

    def _openai(self, model: str | None) -> Choice:
        settings = self._settings.embedding.openai
        name = model or settings.model
        if name is None:
            raise ConfigurationError("the embedder 'openai' needs a model: set FOURFOLD_EMBEDDING__OPENAI__MODEL")
        # A set of a server that is no longer configured must not turn to the public one: that would send it code it was not meant to see.
        if settings.url is None and settings.api_key is None:
            raise ConfigurationError(
                "the embedder 'openai' needs an address or, for OpenAI's own, a key: set FOURFOLD_EMBEDDING__OPENAI__URL "
                "or FOURFOLD_EMBEDDING__OPENAI__API_KEY"
            )
        served = openai.ServedModel(name, settings.dimensions, settings.send_dimensions, settings.query_prefix, settings.document_prefix)
        limits = Limits(settings.batch_texts, settings.batch_tokens, settings.text_tokens)
        texts = self._texts(settings.url or openai.URL, settings, limits)
        return self._remote("openai", name, openai.OpenAiEmbedder(texts, served, *self._patience()), batch=64)

    def _remote(self, kind: str, model: str, embedder: Embedder, batch: int) -> Choice:
        return Choice(kind, model, QueryVectorCache(embedder), batch=batch, remote=True)

    def _texts(self, url: str, settings: VoyageSettings | OpenAiSettings, limits: Limits) -> RemoteTexts:
        key = settings.api_key.get_secret_value() if settings.api_key else None
        provider = Provider(url, key, Pace(settings.requests_per_minute, settings.tokens_per_minute))
        self._providers.append(provider)
        return RemoteTexts(provider, limits)

    def _patience(self) -> tuple[Patience, Patience]:
        """With documents, and with a question that somebody waits for."""
        settings = self._settings.embedding
        seconds = settings.query_ms / 1_000
        return Patience(_DOCUMENT_SECONDS, settings.answer_seconds), Patience(seconds, seconds)


_MAKERS: Final[Mapping[str, Callable[[Embedders, str | None], Choice]]] = {
    "static": Embedders._static,
    "minilm": Embedders._minilm,
    "voyage": Embedders._voyage,
    "openai": Embedders._openai,
}
