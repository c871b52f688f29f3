"""The embedding stage against PostgreSQL and the real model."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

import asyncpg
import numpy as np
import pytest
from numpy.typing import NDArray

from app.domain.errors import ConfigurationError
from app.domain.vectors import VectorSet, asymmetric_scores
from app.embeddings.cached import QueryVectorCache
from app.embeddings.choice import Choice
from app.embeddings.frame import pack_bits
from app.embeddings.minilm import MiniLmEmbedder
from app.indexing.embed import ConnectionFactory, EmbedProgress, embed_pending
from app.ports import Embedder, EmbeddingFailed
from app.storage import engine, vector_sets, vectors
from app.storage.engine import Connection
from app.storage.generations import FOREVER

pytestmark = pytest.mark.anyio

_MODEL = MiniLmEmbedder()
SET = 1
VECTORS = VectorSet(SET, _MODEL.name, "minilm", "test")


class Noting(MiniLmEmbedder):
    """The real model, which notes what it is asked and rejects texts with the word ``poison``; ``broken`` rejects everything."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._broken = broken

    def vector(self, text: str) -> NDArray[np.float32]:
        if self._broken or "poison" in text:
            raise EmbeddingFailed("rejected by the model")
        self.asked.append(text)
        return _MODEL.vector(text)


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    async with engine.connection(database_url) as opened:
        assert await vector_sets.activate(opened, _MODEL.name, "minilm", "test") == VECTORS
        yield opened


def _factory(url: str) -> ConnectionFactory:
    return partial(engine.connection, url)


async def embed(
    url: str,
    embedder: Embedder,
    repository_id: int,
    *,
    batch: int = 32,
    remote: bool = False,
    cached: bool = True,
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: Callable[[EmbedProgress], None] = lambda _: None,
) -> int:
    choice = Choice("minilm", "test", QueryVectorCache(embedder), batch, remote, cached)
    return await embed_pending(_factory(url), choice, VECTORS, repository_id, should_stop=should_stop, on_progress=on_progress)


async def _repository(connection: Connection, name: str, files: dict[str, list[str]], *, classes: dict[str, str] | None = None) -> int:
    """A repository with generation 1 published: path → texts of its chunks, ten lines each; returns its id."""
    repository_id: int = await connection.fetchval("INSERT INTO repository (name, path) VALUES ($1, '/') RETURNING id", name)
    await connection.execute("INSERT INTO branch (repository_id, branch_id, ref, current_gen) VALUES ($1, 1, 'main', 1)", repository_id)
    for path, texts in files.items():
        await _file(connection, repository_id, path, texts, path_class=(classes or {}).get(path, "source"))
    return repository_id


async def _file(
    connection: Connection,
    repository_id: int,
    path: str,
    texts: Sequence[str],
    *,
    path_class: str = "source",
    from_gen: int = 1,
    to_gen: int = FOREVER,
) -> int:
    """Chunk ids are file_id × 100 + ordinal."""
    file_id: int = await connection.fetchval(
        "UPDATE repository SET next_file_id = next_file_id + 1 WHERE id = $1 RETURNING next_file_id - 1", repository_id
    )
    await connection.execute(
        "INSERT INTO file_version (repository_id, file_id, path, sha256, extractor, segment_id, path_class, outcome, bytes, lines, "
        "chunks, name_words, first_chunk) VALUES ($1, $2, $3, $4, 'x', 1, $5, 'indexed', 1, 1, $6, '{}', 100 * $2)",
        repository_id,
        file_id,
        path,
        os.urandom(32),
        path_class,
        len(texts),
    )
    await connection.execute(
        "INSERT INTO file (repository_id, branch_id, path, from_gen, to_gen, file_id, path_class) VALUES ($1, 1, $2, $3, $4, $5, $6)",
        repository_id,
        path,
        from_gen,
        to_gen,
        file_id,
        path_class,
    )
    for ordinal, text in enumerate(texts):
        await connection.execute(
            "INSERT INTO chunk (repository_id, chunk_id, file_id, start_line, end_line, text) VALUES ($1, $2, $3, $4, $5, $6)",
            repository_id,
            file_id * 100 + ordinal,
            file_id,
            ordinal * 10 + 1,
            ordinal * 10 + 10,
            text,
        )
    return file_id


async def _symbol(connection: Connection, repository_id: int, ordinal: int, qualified: str, lines: tuple[int, int], chunk_id: int) -> None:
    await connection.execute(
        "INSERT INTO symbol (repository_id, file_id, ordinal, symbol_id, chunk_id, name, lname, qualified, kind, start_line, end_line, "
        "name_line, signature, doc, exported, words) "
        "VALUES ($1, $2, $3, 1, $4, $5, lower($5), $5, 'class', $6, $7, $6, '', '', true, '{}')",
        repository_id,
        chunk_id // 100,
        ordinal,
        chunk_id,
        qualified,
        *lines,
    )


async def _embedded(connection: Connection, repository_id: int) -> dict[int, str | None]:
    """chunk id → failure, or None for a chunk with bits."""
    rows = await connection.fetch(
        "SELECT chunk_id, bits, error FROM embedding WHERE repository_id = $1 AND vector_set = $2", repository_id, SET
    )
    assert all((row["bits"] is None) == (row["error"] is not None) for row in rows)
    return {row["chunk_id"]: row["error"] for row in rows}


async def _counts(connection: Connection, repository_id: int) -> tuple[int, int]:
    row = await connection.fetchrow("SELECT embeddings_pending, embeddings_failed FROM branch WHERE repository_id = $1", repository_id)
    assert row is not None
    return row[0], row[1]


async def test_pending_is_what_the_published_generation_shows_source_first(connection: Connection) -> None:
    files = {"docs/a.md": ["d"], "tests/t.py": ["t"], "vendor/v.py": ["v"], "src/a.py": ["s1", "s2"]}
    classes = {"docs/a.md": "documentation", "tests/t.py": "test", "vendor/v.py": "vendor"}
    repository_id = await _repository(connection, "r", files, classes=classes)
    await _file(connection, repository_id, "old.py", ["replaced"], from_gen=0, to_gen=1)
    await _file(connection, repository_id, "new.py", ["not published"], from_gen=2)
    other = await _repository(connection, "other", {"b.py": ["elsewhere"]})

    chunks = await vectors.pending(connection, repository_id, SET, 100)
    assert [chunk.text for chunk in chunks] == ["s1", "s2", "t", "d", "v"]
    assert chunks[0].path == "src/a.py"
    assert [chunk.text for chunk in await vectors.pending(connection, repository_id, SET, 2)] == ["s1", "s2"]

    await vectors.store(connection, repository_id, SET, [chunks[0].chunk_id], np.zeros((1, 128), np.uint8))
    assert [chunk.text for chunk in await vectors.pending(connection, repository_id, SET, 2)] == ["s2", "t"]
    assert len(await vectors.pending(connection, repository_id, SET + 1, 100)) == 5
    assert [chunk.text for chunk in await vectors.pending(connection, other, SET, 100)] == ["elsewhere"]

    await connection.execute("UPDATE branch SET current_gen = 2 WHERE repository_id = $1", repository_id)
    assert "not published" in {chunk.text for chunk in await vectors.pending(connection, repository_id, SET, 100)}


async def test_content_shared_by_two_branches_waits_once(connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {"a.py": ["one"]})
    await connection.execute("INSERT INTO branch (repository_id, branch_id, ref, current_gen) VALUES ($1, 2, 'dev', 5)", repository_id)
    await connection.execute(
        "INSERT INTO file (repository_id, branch_id, path, from_gen, file_id, path_class) VALUES ($1, 2, 'a.py', 5, 1, 'source')",
        repository_id,
    )
    assert len(await vectors.pending(connection, repository_id, SET, 10)) == 1
    assert await vectors.refresh_counts(connection, repository_id, SET) == vectors.EmbeddingCounts(pending=2, failed=0)
    await vectors.store(connection, repository_id, SET, [100], np.zeros((1, 128), np.uint8))
    assert await vectors.refresh_counts(connection, repository_id, SET) == vectors.EmbeddingCounts(pending=0, failed=0)


async def test_a_chunk_is_named_after_what_it_defines_else_what_surrounds_it(connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {"a.py": ["class and first method", "second method", "its body", "loose end"]})
    for ordinal, (qualified, lines, chunk_id) in enumerate(
        [("Flask", (1, 30), 100), ("Flask.route", (3, 9), 100), ("Flask.run", (12, 30), 101), ("Flask.run.inner", (14, 15), 101)]
    ):
        await _symbol(connection, repository_id, ordinal, qualified, lines, chunk_id)
    names = [chunk.symbol for chunk in await vectors.pending(connection, repository_id, SET, 10)]
    assert names == ["Flask", "Flask.run", "Flask.run", ""]


async def test_embeds_everything_and_a_question_finds_its_chunk(database_url: str, connection: Connection) -> None:
    code = {
        "net/socket.py": ["def open_connection(host, port):\n    return socket.create_connection((host, port))"],
        "auth.py": ["def check_password(user, password):\n    return hmac.compare_digest(user.hash, digest(password))"],
        "render.py": ["def render(template, context):\n    return env.get_template(template).render(context)"],
    }
    repository_id = await _repository(connection, "r", code)
    seen: list[EmbedProgress] = []
    done = await embed(database_url, _MODEL, repository_id, batch=2, on_progress=seen.append)
    assert done == 3
    assert (seen[0], seen[-1]) == (EmbedProgress(0, 3, 0), EmbedProgress(3, 0, 0))
    assert await _counts(connection, repository_id) == (0, 0)

    query = _MODEL.embed_query("verify a user's password")
    rows = await connection.fetch(
        "SELECT c.text, e.bits FROM embedding e JOIN chunk c USING (repository_id, chunk_id) WHERE e.repository_id = $1 "
        "ORDER BY (e.bits <~> $2) + 0",
        repository_id,
        vectors.bit_string(pack_bits(query[None, :])[0]),
    )
    assert "check_password" in rows[0]["text"]
    packed = np.stack([np.frombuffer(row["bits"].bytes, np.uint8) for row in rows])
    assert asymmetric_scores(query, packed).argmax() == 0
    assert await embed(database_url, _MODEL, repository_id) == 0


async def test_same_text_in_another_repository_needs_no_model(database_url: str, connection: Connection) -> None:
    files = {"a.py": ["def a(): pass", "def b(): pass"]}
    first, second = await _repository(connection, "first", files), await _repository(connection, "second", files)
    embedder = Noting()
    assert await embed(database_url, embedder, first) == 2
    asked = list(embedder.asked)
    assert await embed(database_url, embedder, second) == 2
    assert embedder.asked == asked
    bits = await connection.fetch("SELECT chunk_id, bits FROM embedding ORDER BY chunk_id, repository_id")
    assert [row["bits"].bytes for row in bits[::2]] == [row["bits"].bytes for row in bits[1::2]]
    await embed(database_url, embedder, await _repository(connection, "third", {"elsewhere.py": files["a.py"]}))
    assert len(embedder.asked) == len(asked) + 2, "the header is part of the text"


async def test_repeated_text_is_embedded_once(database_url: str, connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {"a.py": ["same"] * 5})
    embedder = Noting()
    assert await embed(database_url, embedder, repository_id) == 5
    assert len(embedder.asked) == 1
    assert len(await _embedded(connection, repository_id)) == 5


async def test_a_text_that_the_model_rejects_fails_alone(database_url: str, connection: Connection) -> None:
    texts = [f"x = {i}" for i in range(7)] + ["poison"] + [f"y = {i}" for i in range(4)]
    repository_id = await _repository(connection, "r", {"a.py": texts})
    assert await embed(database_url, Noting(), repository_id, batch=8) == 12
    embedded = await _embedded(connection, repository_id)
    assert len(embedded) == 12
    assert {chunk_id: error for chunk_id, error in embedded.items() if error} == {107: "rejected by the model"}
    assert await _counts(connection, repository_id) == (0, 1)
    assert await embed(database_url, Noting(), repository_id) == 0, "a failure is not tried for ever"


async def test_a_broken_model_fails_the_run_not_the_chunks(database_url: str, connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {"a.py": ["x", "y"]})
    with pytest.raises(EmbeddingFailed):
        await embed(database_url, Noting(broken=True), repository_id)
    assert await _embedded(connection, repository_id) == {}
    assert await _counts(connection, repository_id) == (2, 0)
    assert await embed(database_url, _MODEL, repository_id) == 2, "the lock is free again"


async def test_stops_between_batches_and_goes_on_later(database_url: str, connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {"a.py": [f"x = {i}" for i in range(6)]})
    embedder = Noting()
    assert await embed(database_url, embedder, repository_id, batch=2, should_stop=lambda: len(embedder.asked) >= 4) == 4
    assert sorted(await _embedded(connection, repository_id)) == [100, 101, 102, 103]
    assert await _counts(connection, repository_id) == (2, 0)
    assert await embed(database_url, embedder, repository_id) == 2
    assert len(embedder.asked) == 6


_ENDLESS = """
import asyncio, sys, time
from functools import partial
import numpy as np
from app.domain.vectors import VectorSet
from app.embeddings.cached import QueryVectorCache
from app.embeddings.choice import Choice
from app.indexing.embed import embed_pending
from app.storage import engine

class Slow:
    name = sys.argv[3]
    bits = 1024
    batches = 0
    def embed_documents(self, texts):
        self.batches += 1
        if self.batches == 3:
            print("third batch", flush=True)
            time.sleep(60)
        return np.zeros((len(texts), 128), np.uint8)

asyncio.run(embed_pending(
    partial(engine.connection, sys.argv[1]),
    Choice("minilm", "test", QueryVectorCache(Slow()), 2),
    VectorSet(1, Slow.name, "minilm", "test"),
    int(sys.argv[2]),
))
"""


async def test_a_killed_worker_loses_one_batch_and_its_lock(database_url: str, connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {"a.py": [f"x = {i}" for i in range(8)]})
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _ENDLESS, database_url, str(repository_id), _MODEL.name, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"third batch\n"
        assert await embed(database_url, _MODEL, repository_id) == 0, "another worker holds the repository"
    finally:
        process.kill()
        await process.wait()
    assert len(await _embedded(connection, repository_id)) == 4
    for _ in range(100):
        if await embed(database_url, _MODEL, repository_id) == 4:
            break
        await asyncio.sleep(0.05)
    assert len(await _embedded(connection, repository_id)) == 8
    assert await _counts(connection, repository_id) == (0, 0)


async def test_workers_of_two_repositories_do_not_wait_for_each_other(database_url: str, connection: Connection) -> None:
    texts = [f"value_{i} = {i}" for i in range(12)]
    first = await _repository(connection, "first", {"a.py": texts})
    second = await _repository(connection, "second", {"a.py": texts[::-1]})
    done = await asyncio.gather(*(embed(database_url, _MODEL, each, batch=4) for each in (first, second)))
    assert done == [12, 12]


async def test_a_chunk_swept_meanwhile_leaves_no_vector(connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {"a.py": ["x"]})
    await vectors.store(connection, repository_id, SET, [100, 999], np.zeros((2, 128), np.uint8))
    await vectors.record_failure(connection, repository_id, SET, [998], "a\0b")
    assert await _embedded(connection, repository_id) == {100: None}


async def test_nothing_to_do(database_url: str, connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {})
    await connection.execute("UPDATE branch SET embeddings_pending = 7, embeddings_failed = 3")
    assert await embed(database_url, _MODEL, repository_id) == 0
    assert await _counts(connection, repository_id) == (0, 0)


async def test_a_failure_is_tried_again_later_a_few_times(database_url: str, connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {"a.py": ["poison", "x = 1"]})
    await embed(database_url, Noting(), repository_id)
    waits = []
    for _ in range(2):
        waits.append(await connection.fetchval("SELECT retry_at - now() FROM embedding WHERE error IS NOT NULL"))
        await connection.execute("UPDATE embedding SET retry_at = now() WHERE error IS NOT NULL")
        assert await vectors.known_to_wait(connection, SET) == [repository_id]
        assert await embed(database_url, Noting(), repository_id) == 1
    assert waits[0] < waits[1]
    await connection.execute("UPDATE embedding SET retry_at = now() WHERE error IS NOT NULL")
    assert await embed(database_url, Noting(), repository_id) == 1
    assert await connection.fetchval("SELECT retry_at FROM embedding WHERE error IS NOT NULL") is None, "three times are enough"
    assert await _counts(connection, repository_id) == (0, 1)


async def test_a_failure_that_passes_is_forgotten(database_url: str, connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {"a.py": ["poison"]})
    await embed(database_url, Noting(), repository_id)
    await connection.execute("UPDATE embedding SET retry_at = now()")
    assert await embed(database_url, _MODEL, repository_id) == 1
    assert await _embedded(connection, repository_id) == {100: None}
    assert await _counts(connection, repository_id) == (0, 0)


async def test_secrets_are_withheld_from_a_provider_alone(database_url: str, connection: Connection) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    files = {"a.py": ["def a(): pass", f"key = '{key}'"], "deploy/.env": ["MODE=1"], "b.py": ["def b(): pass"]}
    here, away = await _repository(connection, "here", files), await _repository(connection, "away", files)
    embedder = Noting()
    assert await embed(database_url, embedder, away, remote=True) == 4
    assert [text for text in embedder.asked if key in text or "MODE" in text] == []
    assert len(embedder.asked) == 2
    reasons = await connection.fetch("SELECT withheld FROM embedding WHERE withheld IS NOT NULL ORDER BY 1")
    assert [row[0] for row in reasons] == ["key file", "secret"]
    assert await connection.fetchval("SELECT embeddings_withheld FROM branch WHERE repository_id = $1", away) == 2
    assert await _counts(connection, away) == (0, 0)
    assert await embed(database_url, embedder, here) == 4
    assert await connection.fetchval("SELECT embeddings_withheld FROM branch WHERE repository_id = $1", here) == 0


async def test_vectors_of_another_embedder_are_refused(database_url: str, connection: Connection) -> None:
    class Other(Noting):
        @property
        def name(self) -> str:
            return "other"

    repository_id = await _repository(connection, "r", {"a.py": ["x"]})
    with pytest.raises(ConfigurationError):
        await embed(database_url, Other(), repository_id)
    assert await _embedded(connection, repository_id) == {}


async def test_a_cached_vector_that_is_used_is_not_forgotten(database_url: str, connection: Connection) -> None:
    repository_id = await _repository(connection, "r", {"a.py": ["used", "unused"]})
    await embed(database_url, _MODEL, repository_id)
    await connection.execute("UPDATE embedding_cache SET used_on = current_date - 91")
    other = await _repository(connection, "other", {"a.py": ["used"]})
    await embed(database_url, _MODEL, other)
    assert await vector_sets.forget_cached(connection, 90) == 1
    assert await connection.fetchval("SELECT used_on = current_date FROM embedding_cache") is True
