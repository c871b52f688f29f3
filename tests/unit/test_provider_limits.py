"""Pace, breaker, retries and batches, on a clock of their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import EmbedderUnavailable
from app.embeddings.batches import MOST_PIECES, Limits, batches, pieces, tokens_of
from app.embeddings.breaker import Breaker
from app.embeddings.pace import Pace
from app.embeddings.retry import LONGEST_SECONDS, backoff, retry_after


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_pace_lets_a_burst_through_and_then_keeps_the_rate() -> None:
    clock = Clock()
    pace = Pace(requests_per_minute=60, tokens_per_minute=1_000_000, clock=clock)
    sent = 0
    for _ in range(60_000):
        wait = pace.reserve(1, 0.0)
        if wait is None:
            clock.now += 0.01
        else:
            sent += 1
    minutes = (clock.now - 100) / 60
    assert 60 * minutes <= sent <= 60 * minutes + 7


def test_pace_counts_tokens() -> None:
    clock = Clock()
    pace = Pace(requests_per_minute=100_000, tokens_per_minute=6_000, clock=clock)
    assert pace.reserve(600, 0) == 0
    assert pace.reserve(100, 0.5) is None
    assert pace.reserve(100, 2) == pytest.approx(1)
    clock.now += 60
    assert pace.reserve(50_000, 0) == 0, "a request larger than the bucket passes when it is full"
    assert (pace.reserve(1, 1_000) or 0) > 400, "and is made up for"


def test_a_pause_holds_everything() -> None:
    clock = Clock()
    pace = Pace(6_000, 6_000_000, clock)
    pace.pause(10)
    pace.pause(3)
    assert pace.reserve(1, 9) is None
    assert pace.reserve(1, 20) == pytest.approx(10)
    clock.now += 11
    assert pace.reserve(1, 0) == 0


def test_breaker() -> None:
    clock = Clock()
    breaker = Breaker(failures=3, seconds=10, clock=clock)
    for _ in range(3):
        breaker.admit()
        breaker.failed()
    with pytest.raises(EmbedderUnavailable) as refused:
        breaker.admit()
    assert refused.value.retry_after == 10
    clock.now += 10
    breaker.admit()
    with pytest.raises(EmbedderUnavailable):
        breaker.admit()  # one tries, the others wait for what it finds
    breaker.failed()
    clock.now += 9
    with pytest.raises(EmbedderUnavailable):
        breaker.admit()
    clock.now += 1
    breaker.admit()
    breaker.succeeded()
    for _ in range(5):
        breaker.admit()
    breaker.failed()
    breaker.admit()


def test_backoff_doubles_within_bounds() -> None:
    for attempt in range(1, 20):
        longest = min(LONGEST_SECONDS, 0.5 * 2 ** (attempt - 1))
        waits = {backoff(attempt) for _ in range(50)}
        assert longest / 2 <= min(waits) <= max(waits) <= longest
        assert len(waits) > 40


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), (None, None), ("soon", None), ("", None), ("inf", None), ("nan", None)]
)
def test_retry_after_in_seconds(value: str | None, seconds: float | None) -> None:
    assert retry_after(value) == seconds


def test_retry_after_as_a_date() -> None:
    at = datetime.now(UTC) + timedelta(seconds=30)
    assert retry_after(format_datetime(at, usegmt=True)) == pytest.approx(30, abs=2)
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


@given(st.lists(st.text(max_size=200), max_size=50), st.integers(1, 10), st.integers(1, 300))
def test_batches_hold_every_text_once_in_order(texts: list[str], most_texts: int, most_tokens: int) -> None:
    limits = Limits(most_texts, most_tokens, 1_000)
    made = list(batches(texts, limits))
    assert [text for batch in made for text in batch] == texts
    for batch in made:
        assert 1 <= len(batch) <= most_texts
        assert len(batch) == 1 or sum(map(tokens_of, batch)) <= most_tokens


@given(st.text(max_size=3_000), st.integers(16, 200))
def test_pieces_are_the_text_and_none_is_too_long(text: str, most: int) -> None:
    limits = Limits(10, 1_000_000, most)
    parts = pieces(text, limits)
    assert text.startswith("".join(parts))
    assert len(parts) <= MOST_PIECES
    assert all(tokens_of(part) <= most for part in parts)
    assert "".join(parts) == text or len(parts) == MOST_PIECES
