"""Calls of one kind do not take the places of another."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.config import HttpSettings, SearchSettings, Settings
from app.http.admission import NoPlace, Places
from app.http.app import create_app
from app.observability import metrics

from .test_search import problem_of
from .twins import MemoryService, factory

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings() -> Settings:
    return Settings(search=SearchSettings(concurrency=1, admission_ms=50), http=HttpSettings(lookups=1, waiting=1, uploads=1))


def counted(sample: str) -> float:
    for line in metrics.render()[0].decode().splitlines():
        if line.startswith(sample):
            return float(line.rpartition(" ")[2])
    return 0.0


def refused(place: str) -> float:
    return counted(f'fourfold_calls_refused_total{{place="{place}"}}')


async def known_to_be_held_for_a_moment(places: Places) -> None:
    """Before, nobody knows how long to wait, and a whole second is waited."""
    async with places.place():
        pass


async def test_other_calls_have_places_of_their_own(app: FastAPI, async_client: httpx2.AsyncClient, service: MemoryService) -> None:
    gates = app.state.gates
    calls = {
        "lookups": [
            ("GET", "/v1/repositories"),
            ("GET", "/v1/repositories/api"),
            ("DELETE", "/v1/repositories/api"),
            ("POST", "/v1/repositories/api/index"),
            ("GET", "/v1/repositories/api/coverage"),
            ("GET", "/v1/jobs"),
            ("GET", "/v1/scopes"),
        ],
        "waiting": [
            ("GET", "/v1/jobs/00000000-0000-4000-8000-000000000000/events"),
            ("GET", "/v1/search?q=x&repositories=api&min_revision=ffff&wait=1"),
        ],
        "uploads": [("PUT", "/v1/repositories/up/archive?revision=1")],
    }
    for kind, requests in calls.items():
        before = refused(kind)
        await known_to_be_held_for_a_moment(getattr(gates, kind))
        async with getattr(gates, kind).place():
            for method, path in requests:
                answer = await async_client.request(method, path)
                problem_of(answer, 503, "overloaded")
                assert answer.headers["retry-after"] == "1"
            assert (await async_client.get("/v1/search?q=x&repositories=api")).status_code == 200
            assert (await async_client.get("/livez")).status_code == 200
        assert refused(kind) == before + len(requests)
    assert "api" in service.repositories.stored


async def test_searches_take_no_place_of_the_others(async_client: httpx2.AsyncClient, service: MemoryService) -> None:
    assert (await async_client.get("/v1/search?q=x&repositories=api")).status_code == 200
    service.search.block = asyncio.Event()
    service.search.entered.clear()
    held = asyncio.create_task(async_client.get("/v1/search?q=x&repositories=api"))
    await service.search.entered.wait()
    problem_of(await async_client.get("/v1/search?q=x&repositories=api"), 503, "overloaded")
    assert (await async_client.get("/v1/repositories")).status_code == 200
    service.search.block.set()
    assert (await held).status_code == 200


async def test_nobody_waits_for_what_cannot_come_in_time() -> None:
    places = Places("searches", 1, wait_ms=100)
    for _ in range(20):
        async with places.place():
            await asyncio.sleep(0.2)
    async with places.place():
        places.check()
        first, second = (asyncio.create_task(places.place().__aenter__()) for _ in range(2))
        await asyncio.sleep(0)
        assert 0.29 < places.longest_wait < 0.6
        with pytest.raises(NoPlace):
            places.check()
        with pytest.raises(NoPlace):
            await places.place().__aenter__()
        assert not first.done()
        assert not second.done()
        for waiting in (first, second):
            with pytest.raises(NoPlace):
                await waiting


async def test_nobody_waits_for_more_than_a_second_or_so_however_long_calls_take() -> None:
    places = Places("searches", 1, wait_ms=100)
    places._learn(20.0, beside=1)
    assert places.longest_wait == 1.0


async def test_while_nobody_knows_how_long_a_place_is_held_a_second_is_waited() -> None:
    places = Places("searches", 1, wait_ms=100)
    assert places.longest_wait == 1.0
    await known_to_be_held_for_a_moment(places)
    assert places.longest_wait == 0.1


async def test_a_burst_after_single_calls_is_served() -> None:
    """Eight at a time take eight times as long as one: what was learnt from single calls must not send the other eight away."""
    places = Places("searches", 8, wait_ms=20)
    processor = asyncio.Lock()

    async def call() -> None:
        async with places.place():
            for _ in range(4):
                async with processor:
                    await asyncio.sleep(0.01)

    for _ in range(10):
        await call()
    await asyncio.gather(*(call() for _ in range(16)))


async def test_who_comes_before_the_time_is_over_is_kept_until_then(async_client: httpx2.AsyncClient, service: MemoryService) -> None:
    path, clock = "/v1/search?q=x&repositories=api", asyncio.get_running_loop().time
    assert (await async_client.get(path)).status_code == 200
    service.search.entered.clear()
    service.search.block = asyncio.Event()
    held = asyncio.create_task(async_client.get(path))
    await service.search.entered.wait()
    problem_of(await async_client.get(path), 503, "overloaded")
    sent_away, asked, early = clock(), len(service.search.asked), counted("fourfold_early_requests_total")
    kept = await async_client.get(path)
    problem_of(kept, 503, "overloaded")
    assert clock() - sent_away > 0.9
    assert kept.headers["retry-after"] == "1"
    assert len(service.search.asked) == asked
    assert counted("fourfold_early_requests_total") == early + 1
    problem_of(await async_client.get(path), 503, "overloaded")
    service.search.block.set()
    assert (await held).status_code == 200
    sent_away = clock()
    assert (await async_client.get(path)).status_code == 200
    assert clock() - sent_away < 0.9, "there was a place"


def test_a_stream_frees_its_place(service: MemoryService, settings: Settings) -> None:
    with TestClient(create_app(factory(service), settings)) as client:
        job = client.post("/v1/repositories/api/index").json()["id"]
        client.delete(f"/v1/jobs/{job}")
        for _ in range(3):
            assert client.get(f"/v1/jobs/{job}/events").status_code == 200
