from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.config import SearchSettings, Settings
from app.domain.index import Coverage, Repository, RepositorySource
from app.http.app import create_app
from app.observability import logging

from .twins import NOW, MemoryService, factory, memory_service


@pytest.fixture(autouse=True)
def _logs() -> None:
    logging.configure("info", "json")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(allowed_roots=(tmp_path / "allowed",), search=SearchSettings(concurrency=2, admission_ms=50))


@pytest.fixture
def service(tmp_path: Path) -> MemoryService:
    """``api`` is indexed and stale, ``fresh`` was never indexed."""
    service = memory_service()
    fresh = Repository(2, "fresh", RepositorySource(str(tmp_path)), NOW, 0, None, None, None, Coverage())
    indexed = replace(fresh, id=1, name="api", generation=12, revision="9f2c", known_revision="a000", indexed_at=NOW)
    service.repositories.stored |= {"api": indexed, "fresh": fresh}
    return service


@pytest.fixture
def app(service: MemoryService, settings: Settings) -> FastAPI:
    return create_app(factory(service), settings)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


@pytest.fixture
async def async_client(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """For requests that overlap; the application runs in the test's own loop."""
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        yield client
