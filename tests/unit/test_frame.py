"""The projection to bits."""

from __future__ import annotations

import hashlib

import asyncpg
import numpy as np
import pytest
from numpy.typing import NDArray

from app.domain.vectors import asymmetric_scores
from app.embeddings.frame import BITS, pack_bits, project, unit
from app.storage.dsn import parse_dsn
from app.storage.vectors import bit_string


def _unit_vectors(count: int, dimensions: int = 384, seed: int = 3) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _frame(dimensions: int) -> NDArray[np.float32]:
    return project(np.eye(dimensions, dtype=np.float32))


def test_frame_is_the_same_for_ever() -> None:
    """Stored bits depend on it; a change needs a new name of the vector set."""
    digest = hashlib.sha256(_frame(384).astype(np.int8).tobytes()).hexdigest()
    assert digest == "bfdc44b207040db9cd690b07ddbfcdae3babb0b4280ef042a09e55cb9f06ff94"


@pytest.mark.parametrize("dimensions", [1, 384, 512, 1_023])
def test_rows_are_plus_minus_one_and_orthogonal(dimensions: int) -> None:
    frame = _frame(dimensions)
    assert frame.shape == (dimensions, BITS)
    assert set(np.unique(frame)) == {-1.0, 1.0}
    np.testing.assert_array_equal(frame @ frame.T, BITS * np.eye(dimensions))


def test_no_two_bits_are_the_same_or_opposite() -> None:
    frame = _frame(384)
    overlap = np.abs(frame.T @ frame) - 384 * np.eye(BITS)
    assert overlap.max() < 384 * 0.5


@pytest.mark.parametrize("dimensions", [0, 1_024])
def test_rejects_other_widths(dimensions: int) -> None:
    with pytest.raises(ValueError, match="dimensions"):
        project(np.zeros((1, dimensions), np.float32))


def test_projection_keeps_angles() -> None:
    vectors = _unit_vectors(50)
    projected = unit(project(vectors))
    np.testing.assert_allclose(projected @ projected.T, vectors @ vectors.T, atol=1e-5)


def test_zero_and_negative_are_zero_bits() -> None:
    projected = np.zeros((1, BITS), np.float32)
    projected[0, [0, 9]] = 1.0
    projected[0, 1] = -1.0
    packed = pack_bits(projected)
    assert packed.shape == (1, BITS // 8)
    assert (packed[0, 0], packed[0, 1]) == (0b1000_0000, 0b0100_0000)
    assert not packed[0, 2:].any()


def test_asymmetric_score_is_the_cosine_with_the_signs() -> None:
    documents = project(_unit_vectors(20))
    query = unit(project(_unit_vectors(1, seed=4)))[0]
    signs = np.where(documents > 0, 1.0, -1.0) / np.sqrt(BITS)
    scores = asymmetric_scores(query, pack_bits(documents))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, signs @ query, atol=1e-5)


def test_frame_ranks_nearer_to_the_floats_than_plain_signs() -> None:
    """The reason for the frame: of the 10 nearest by cosine, more are among the 10 nearest by bits; the asymmetric score adds more.

    Random vectors have no clusters to hide in; over seeds the three lie at .25, .43 and .60, give or take .02.
    """
    documents, queries = _unit_vectors(500), _unit_vectors(200, seed=8)
    plain = np.sign(queries) @ np.sign(documents).T
    hamming = np.sign(project(queries)) @ np.sign(project(documents)).T
    packed = pack_bits(project(documents))
    asymmetric = np.stack([asymmetric_scores(query, packed) for query in unit(project(queries))])
    overlaps = [_top_overlap(queries @ documents.T, scores) for scores in (plain, hamming, asymmetric)]
    assert overlaps[0] + 0.1 < overlaps[1]
    assert overlaps[1] + 0.1 < overlaps[2]


def _top_overlap(exact: NDArray[np.float32], approximate: NDArray[np.float32], count: int = 10) -> float:
    best, found = (np.argsort(-scores, axis=1, kind="stable")[:, :count] for scores in (exact, approximate))
    return float(np.mean([len(set(a) & set(b)) / count for a, b in zip(best, found, strict=True)]))


@pytest.mark.anyio
async def test_bits_are_postgresqls(database_url: str) -> None:
    """What is packed here is what ``bit(1024)`` holds and what ``<~>`` counts."""
    packed = pack_bits(project(_unit_vectors(8)))
    connection = await asyncpg.connect(**parse_dsn(database_url).connect_kwargs())
    try:
        for row in packed:
            text, returned, distance = await connection.fetchrow(
                "SELECT $1::bit(1024)::text, $1::bit(1024), $1::bit(1024) <~> $2::bit(1024)", bit_string(row), bit_string(packed[0])
            )
            assert text == "".join(map(str, np.unpackbits(row)))
            assert returned.bytes == row.tobytes()
            assert distance == np.bitwise_count(row ^ packed[0]).sum()
    finally:
        await connection.close()
