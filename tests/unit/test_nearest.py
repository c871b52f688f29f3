"""Which way to the nearest vectors is taken."""

from __future__ import annotations

import pytest

from app.domain.chunk_id import format_chunk_id, parse_chunk_id
from app.retrievers.nearest import Extent, Way, choose

KEPT = 200
EXACT = 50_000


@pytest.mark.parametrize(
    ("extent", "way"),
    [
        (Extent(2_000, 2_000, 0, filtered=False), Way.SCAN),
        (Extent(50_000, 50_000, 1_000_000, filtered=False), Way.SCAN),
        (Extent(200_000, 200_000, 0, filtered=False), Way.SCAN),
        (Extent(200_000, 200_000, 200_000, filtered=False), Way.APPROXIMATE),
        (Extent(5_000_000, 5_000_000, 5_000_000, filtered=False), Way.APPROXIMATE),
        (Extent(200_000, 2_000, 200_000, filtered=True), Way.FILTERED),
        (Extent(200_000, 100_000, 200_000, filtered=True), Way.APPROXIMATE),
        (Extent(20_000, 15_000, 1_000_000, filtered=True), Way.SCAN),
        (Extent(20_000, 100, 0, filtered=True), Way.FILTERED),
        (Extent(100_000, 100_000, 50_000_000, filtered=False), Way.SCAN),
    ],
)
def test_the_quickest_way_is_taken(extent: Extent, way: Way) -> None:
    assert choose(extent, KEPT, EXACT) is way


def test_never_the_index_where_all_may_be_compared() -> None:
    for chunks in (1, 100, 10_000, EXACT):
        for matching in (1, chunks // 2 or 1, chunks):
            assert choose(Extent(chunks, matching, chunks, filtered=matching < chunks), KEPT, EXACT) is not Way.APPROXIMATE


def test_chunk_ids_are_read_back() -> None:
    assert parse_chunk_id(format_chunk_id(7, 1_234)) == (7, 1_234)
    for text in ("", "c1", "c1-", "c0-1", "c1-2-3", "C1-2", "c1-99999999999", "c1-2147483648", "c1-２", "5d41402abc4b2a76"):
        with pytest.raises(ValueError, match="not a chunk id"):
            parse_chunk_id(text)
