"""What is read once and kept."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from app.domain.once import Once
from app.storage.kept import Kept

pytestmark = pytest.mark.anyio


class Reader:
    def __init__(self) -> None:
        self.read: list[str] = []
        self.gate = asyncio.Event()

    async def __call__(self, key: str) -> str:
        self.read.append(key)
        await self.gate.wait()
        if key == "bad":
            raise OSError(key)
        return key * 3


async def test_those_who_ask_at_the_same_time_wait_for_one_reading() -> None:
    reader, kept = Reader(), Kept[str, str](len, 100)
    asked = [asyncio.ensure_future(kept.get("a", lambda: reader("a"))) for _ in range(3)]
    await asyncio.sleep(0)
    reader.gate.set()
    assert await asyncio.gather(*asked) == ["aaa"] * 3
    assert await kept.get("a", lambda: reader("a")) == "aaa"
    assert reader.read == ["a"]


async def test_who_gives_up_does_not_stop_the_reading() -> None:
    reader, kept = Reader(), Kept[str, str](len, 100)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await kept.get("a", lambda: reader("a"))
    reader.gate.set()
    assert await kept.get("a", lambda: reader("a")) == "aaa"
    assert reader.read == ["a"]


async def test_who_does_not_wait_has_it_when_it_was_read() -> None:
    reader, kept = Reader(), Kept[str, str](len, 100)
    assert [kept.ready("a", lambda: reader("a")) for _ in range(2)] == [None, None]
    reader.gate.set()
    assert await kept.get("a", lambda: reader("a")) == "aaa"
    assert kept.ready("a", lambda: reader("a")) == "aaa"
    assert reader.read == ["a"]


async def test_a_failure_that_nobody_waits_for_is_logged_and_read_anew() -> None:
    reader, kept = Reader(), Kept[str, str](len, 100)
    reader.gate.set()
    with capture_logs() as logged:
        for _ in range(2):
            assert kept.ready("bad", lambda: reader("bad")) is None
            await asyncio.sleep(0.01)
    assert [entry["event"] for entry in logged] == ["not_kept_in_memory"] * 2
    assert reader.read == ["bad", "bad"]


async def test_a_failure_is_told_and_read_anew() -> None:
    reader, kept = Reader(), Kept[str, str](len, 100)
    reader.gate.set()
    for _ in range(2):
        with pytest.raises(OSError, match="bad"):
            await kept.get("bad", lambda: reader("bad"))
    assert reader.read == ["bad", "bad"]


async def test_the_least_recently_used_goes_first_and_the_last_stays_whatever_its_size() -> None:
    reader, kept = Reader(), Kept[str, str](len, 7)
    reader.gate.set()
    for key in ("a", "b", "a", "c", "a", "b", "large", "large"):
        await kept.get(key, lambda key=key: reader(key))  # type: ignore[misc]
    assert reader.read == ["a", "b", "c", "b", "large"]


async def test_work_is_done_once_and_again_after_a_failure() -> None:
    once, calls = Once(), 0

    async def work() -> int:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        if calls == 1:
            raise OSError("first")
        return calls

    with pytest.raises(OSError, match="first"):
        await once.result("n", work)
    assert await asyncio.gather(*(once.result("n", work) for _ in range(3))) == [2, 2, 2]
    assert await once.result("other", work) == 3
