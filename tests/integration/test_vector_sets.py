"""Vector sets over their whole life, with a provider on loopback: filling, changing the model, faults, kills, removal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from app import bootstrap
from app.bootstrap import Backend
from app.config import EmbeddingSettings, Settings, VoyageSettings
from app.domain.errors import ConfigurationError, EmbedderUnavailable, InvalidRequest, QueryNotServable
from app.domain.query import Filters, Intent, Modality, Preset, Strategy
from app.domain.ranking import SearchAnswer
from app.domain.vectors import VectorSet
from app.indexing import embed_sets
from app.indexing.embed_sets import VectorSets
from app.indexing.indexed_definitions import DefinitionMemory
from app.indexing.parse import ParsePool
from app.indexing.refresh import Refresher
from app.indexing.seen import SeenRepositories
from app.ports import EmbeddingFailed
from app.retrievers import nearest
from app.retrievers.scope import FIRST_FREE
from app.storage import vector_index, vector_sets, vectors
from app.storage.engine import Connection
from app.storage.snapshots import Snapshots
from app.worker import Worker
from tests.integration.conftest import SHOP, Bench, write_tree
from tests.providers import KEY, ProviderServer, Reply, always, provider, times, when

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with provider() as running:
        yield running


def settings(url: str, server: ProviderServer, model: str = "first", **embedding: Any) -> Settings:
    voyage = VoyageSettings(url=server.url, api_key=KEY, model=model)
    return Settings(database_url=url, embedder="voyage", embedding=EmbeddingSettings(voyage=voyage, **embedding))


@asynccontextmanager
async def opened(configured: Settings, pool: ParsePool) -> AsyncIterator[Bench]:
    async with bootstrap.backend(configured) as backend:
        yield Bench(backend, bootstrap.compose(backend), pool)


def sets_of(backend: Backend) -> VectorSets:
    return VectorSets(backend.connect, backend.embedders, backend.settings.embedding)


async def until_done(backend: Backend) -> VectorSets:
    """Rounds until nothing is left to do, as a worker has them."""
    sets = sets_of(backend)
    while await one_round(backend, sets):
        pass
    return sets


async def one_round(backend: Backend, sets: VectorSets | None = None) -> int:
    async with backend.connect() as connection:
        return await (sets or sets_of(backend)).round(connection)


async def states(backend: Backend) -> dict[str, str]:
    """Model → state."""
    async with backend.connect() as connection:
        return {row["model"]: row["state"] for row in await connection.fetch("SELECT model, state FROM vector_set")}


async def vectors_of(backend: Backend, model: str) -> int:
    async with backend.connect() as connection:
        count: int = await connection.fetchval(
            "SELECT count(e.bits) FROM embedding e JOIN vector_set v ON v.id = e.vector_set WHERE v.model = $1", model
        )
    return count


async def chunks_of(backend: Backend) -> int:
    async with backend.connect() as connection:
        count: int = await connection.fetchval("SELECT count(*) FROM chunk")
    return count


async def by_meaning(bench: Bench, query: str, **request: Any) -> SearchAnswer:
    return await bench.search(query, modalities=(Modality.SEMANTIC,), **request)


def paths(answer: SearchAnswer) -> list[str]:
    return [result.path for result in answer.results]


async def test_indexed_code_is_embedded_and_found(database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path) -> None:
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        assert (await bench.service.repositories.get("shop")).coverage.embeddings_pending == await chunks_of(bench.backend)
        waiting = await by_meaning(bench, "monthly sales report")
        assert (paths(waiting), [warning.code for warning in waiting.warnings]) == ([], ["embeddings_pending"])
        await until_done(bench.backend)
        assert await states(bench.backend) == {"first": "serving"}
        found = await by_meaning(bench, "monthly sales report")
        assert (paths(found)[0], found.warnings, found.partial) == ("shop/report.py", (), False)
        asked = len(server.requests)
        await by_meaning(bench, "monthly sales report", filters=Filters(languages=("python",)))
        assert len(server.requests) == asked, "query vectors are cached"


async def test_an_edit_and_a_copy_pay_for_what_is_new_alone(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path, tmp_path: Path
) -> None:
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        await until_done(bench.backend)
        sent = len(server.texts)
        write_tree(shop, {"shop/new.py": "def refund(order):\n    return -order.total()\n"})
        await bench.index(shop)
        await bench.index(write_tree(tmp_path / "copy", SHOP), name="copy")
        await until_done(bench.backend)
        assert len(server.texts) == sent + 1
        assert (await bench.service.repositories.get("copy")).coverage.embeddings_pending == 0


async def test_a_new_model_is_built_while_the_old_one_serves(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(settings(database_url, server, "first"), parse_pool) as bench:
        await bench.index(shop)
        await until_done(bench.backend)
        chunks = await chunks_of(bench.backend)

    async with opened(settings(database_url, server, "second"), parse_pool) as bench:
        sets = sets_of(bench.backend)
        server.faults = [lambda body: Reply(503) if body["model"] == "second" else None]
        with capture_logs() as logs, pytest.raises(EmbedderUnavailable):
            await one_round(bench.backend, sets)
        assert "vector_set_building" in {entry["event"] for entry in logs}
        assert await states(bench.backend) == {"first": "serving", "second": "building"}
        answer = await by_meaning(bench, "monthly sales report")
        assert (paths(answer)[0], server.requests[-1]["model"]) == ("shop/report.py", "first")

        write_tree(shop, {"shop/refund.py": "def refund(order):\n    return -order.total()\n"})
        await bench.index(shop)
        with pytest.raises(EmbedderUnavailable):
            await one_round(bench.backend, sets)
        assert paths(await by_meaning(bench, "refund an order"))[0] == "shop/refund.py", "the set that serves is kept up to date"

    async with opened(settings(database_url, server, "second"), parse_pool) as bench:
        server.faults = []
        with capture_logs() as logs:
            sets = await until_done(bench.backend)
        assert "vector_set_serving" in {entry["event"] for entry in logs}
        assert await states(bench.backend) == {"first": "retired", "second": "serving"}
        assert await vectors_of(bench.backend, "second") == chunks + 1
        answer = await by_meaning(bench, "monthly sales report")
        assert (paths(answer)[0], server.requests[-1]["model"], answer.warnings) == ("shop/report.py", "second", ())

        monkeypatch.setattr(embed_sets, "GRACE_SECONDS", 0.0)
        monkeypatch.setattr(embed_sets, "TIDY_SECONDS", 0.0)
        await one_round(bench.backend)
        assert await states(bench.backend) == {"second": "serving"}
        async with bench.backend.connect() as connection:
            assert await connection.fetchval("SELECT count(DISTINCT vector_set) FROM embedding") == 1


async def test_a_change_of_mind_costs_nothing(database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path) -> None:
    for model in ("first", "second"):
        async with opened(settings(database_url, server, model), parse_pool) as bench:
            if model == "first":
                await bench.index(shop)
            await until_done(bench.backend)
    sent = len(server.texts)
    async with opened(settings(database_url, server, "third"), parse_pool) as bench:
        async with bench.backend.connect() as connection:
            await sets_of(bench.backend).serving(connection)
        assert (await states(bench.backend))["third"] == "building"
    async with opened(settings(database_url, server, "first"), parse_pool) as bench:
        await until_done(bench.backend)
        assert await states(bench.backend) == {"first": "serving", "second": "retired", "third": "retired"}
    assert len(server.texts) == sent


async def test_a_set_whose_questions_cannot_be_embedded_any_more_makes_room(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path
) -> None:
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        await until_done(bench.backend)
        async with bench.backend.connect() as connection:
            await connection.execute("UPDATE vector_set SET name = 'made by a version that is gone'")
        degraded = await by_meaning(bench, "monthly sales report")
        assert [entry.reason for entry in degraded.routing.degraded] == ["configuration"]
    async with opened(settings(database_url, server), parse_pool) as bench:
        with capture_logs() as logs:
            await until_done(bench.backend)
        assert "vector_set_unusable" in {entry["event"] for entry in logs}
        assert paths(await by_meaning(bench, "monthly sales report"))[0] == "shop/report.py"


async def test_no_search_sees_two_sets(database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path) -> None:
    """The swap comes between two searches, or between the parts of one: each answer is made from one set."""
    async with opened(settings(database_url, server, "first"), parse_pool) as bench:
        await bench.index(shop)
        await until_done(bench.backend)
    async with opened(settings(database_url, server, "second"), parse_pool) as bench:
        searches = asyncio.create_task(_search_until(bench, lambda: False, 40))
        await until_done(bench.backend)
        answers = await searches
        assert {paths(answer)[0] for answer in answers} == {"shop/report.py"}
        assert all(not answer.routing.degraded for answer in answers)
        async with bench.backend.connect() as connection:
            with pytest.raises(Exception, match="vector_set_serving"):
                await connection.execute("UPDATE vector_set SET state = 'serving'")


async def _search_until(bench: Bench, stop: Callable[[], bool], most: int) -> list[SearchAnswer]:
    answers = []
    for at in range(most):
        answers.append(await by_meaning(bench, "monthly sales report" + " " * (at % 2)))
        if stop():
            break
        await asyncio.sleep(0.01)
    return answers


async def test_a_provider_that_is_down_takes_nobody_with_it(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path
) -> None:
    async with opened(settings(database_url, server, query_ms=200), parse_pool) as bench:
        await bench.index(shop)
        await until_done(bench.backend)
        server.faults = [always(Reply(200, seconds=2))]
        answer = await bench.search("how is value added tax computed", preset=Preset.THOROUGH)
        assert paths(answer)[0] == "shop/money.py"
        assert [(entry.modality, entry.reason) for entry in answer.routing.degraded] == [(Modality.SEMANTIC, "embedder_unavailable")]
        assert answer.partial
        assert answer.took_ms < 1_500


async def test_a_secret_in_a_question_stays_here(database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path) -> None:
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        await until_done(bench.backend)
        sent = len(server.texts)
        answer = await by_meaning(bench, "who uses the token ghp_" + "a1B2c3D4e5" * 4)
        assert [entry.reason for entry in answer.routing.degraded] == ["text_withheld"]
        assert len(server.texts) == sent


async def test_secrets_are_withheld_counted_and_found_by_the_others(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path
) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    write_tree(shop, {"shop/deploy.py": f"ACCESS = '{key}'\n", ".env": "PASSWORD=hunter2hunter2\n"})
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        await until_done(bench.backend)
        assert [text for text in server.texts if key in text or "hunter2" in text] == []
        coverage = (await bench.service.repositories.get("shop")).coverage
        assert (coverage.embeddings_withheld, coverage.embeddings_pending, coverage.embeddings_failed) == (2, 0, 0)
        answer = await bench.search(f'"{key}"')
        assert paths(answer) == ["shop/deploy.py"]
        assert sum(snapshot.embeddings_withheld for snapshot in answer.scope.snapshots) == 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda answer: answer["data"].pop(),
        lambda answer: answer["data"][-1].update(embedding=[1] * 64),
        lambda answer: answer["data"][-1].update(embedding=[float("nan")] * 128),
    ],
    ids=["fewer vectors than texts", "wrong dimension", "NaN"],
)
async def test_answers_that_are_none_store_nothing(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path, spoil: Callable[[dict[str, Any]], None]
) -> None:
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        server.spoil = spoil
        with pytest.raises(EmbeddingFailed):
            await one_round(bench.backend)
        async with bench.backend.connect() as connection:
            assert await connection.fetchval("SELECT count(*) FROM embedding") == 0
            assert await connection.fetchval("SELECT count(*) FROM embedding_cache") == 0
        server.spoil = lambda answer: None
        await until_done(bench.backend)
        assert await vectors_of(bench.backend, "first") == await chunks_of(bench.backend)


async def test_one_vector_that_is_none_fails_one_chunk(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path
) -> None:
    def spoil(answer: dict[str, Any]) -> None:
        for text, item in zip(server.requests[-1]["input"], answer["data"], strict=True):
            if "renderCart" in text:
                item["embedding"] = [0.5] * 128

    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        server.spoil = spoil
        await until_done(bench.backend)
        coverage = (await bench.service.repositories.get("shop")).coverage
        assert (coverage.embeddings_pending, coverage.embeddings_failed) == (0, 1)
        async with bench.backend.connect() as connection:
            assert "not ubinary" in await connection.fetchval("SELECT error FROM embedding WHERE error IS NOT NULL")


async def test_429_for_a_minute(database_url: str, server: ProviderServer, parse_pool: ParsePool, tmp_path: Path) -> None:
    """A minute compressed to seconds: the worker waits as it is told, searches go on, and everything is embedded in the end."""
    tree = write_tree(tmp_path / "many", {f"m{i}.py": f"def function_{i}():\n    return {i}\n" for i in range(300)})
    configured = settings(database_url, server)
    async with opened(configured, parse_pool) as bench:
        await bench.index(tree, name="many")
        busy = Reply(429, headers={"Retry-After": "1"})
        server.faults = [lambda _body: busy if len(server.requests) > 1 else None]
        stop = asyncio.Event()
        with capture_logs() as logs:
            worker = asyncio.create_task(Worker(bench.backend)._keep_embedding(stop))
            await pending_falls_below(bench, 300)
            answer = await bench.search("def function_7")
            assert (await bench.service.repositories.get("many")).coverage.embeddings_pending > 0
            server.faults = []
            await pending_falls_below(bench, 1)
            stop.set()
            await worker
        assert paths(answer) == ["m7.py"]
        assert {"embedder_retry", "embedding_waits"} & {entry["event"] for entry in logs}
        assert await vectors_of(bench.backend, "first") == 300
        assert len(set(server.texts)) == 300


async def test_a_wait_does_not_keep_a_worker_from_stopping(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path
) -> None:
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        server.faults = [always(Reply(429, headers={"Retry-After": "100"}))]
        stop = asyncio.Event()
        worker = asyncio.create_task(Worker(bench.backend).run(stop))
        await eventually(lambda: bool(server.requests))
        stop.set()
        async with asyncio.timeout(5):
            await worker


async def test_kill_9_while_embedding(database_url: str, server: ProviderServer, parse_pool: ParsePool, tmp_path: Path) -> None:
    """Three kills at changing moments: every chunk is embedded in the end, no batch twice but those that were under way."""
    count, batch = 600, 128
    tree = write_tree(tmp_path / "many", {f"m{i}.py": f"def function_{i}():\n    return {i}\n" for i in range(count)})
    configured = settings(database_url, server)
    async with opened(configured, parse_pool) as bench:
        await bench.index(tree, name="many")
        environment = os.environ | {
            "DATABASE_URL": database_url,
            "FOURFOLD_EMBEDDER": "voyage",
            "FOURFOLD_EMBEDDING__VOYAGE__API_KEY": KEY,
            "FOURFOLD_EMBEDDING__VOYAGE__URL": server.url,
            "FOURFOLD_EMBEDDING__VOYAGE__MODEL": "first",
            "FOURFOLD_INDEX__PARSE_PROCESSES": "1",
        }
        server.faults = [slowly]
        for kill in range(3):
            before = len(server.requests)
            process = await asyncio.create_subprocess_exec(sys.executable, "-m", "app", "worker", env=environment)
            await eventually(lambda: len(server.requests) > before)  # noqa: B023  awaited here
            await asyncio.sleep(0.1 * kill)
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
        assert (await bench.service.repositories.get("many")).coverage.embeddings_pending > 0
        server.faults = []
        async with asyncio.timeout(60):
            while await vectors_of(bench.backend, "first") < count:
                await until_done(bench.backend)
        assert (await bench.service.repositories.get("many")).coverage.embeddings_pending == 0
        assert len(set(server.texts)) == count
        assert len(server.texts) <= count + 3 * batch
        assert await states(bench.backend) == {"first": "serving"}


def slowly(_body: dict[str, Any]) -> None:
    """No fault: the right answer, later."""
    time.sleep(0.2)


async def pending_falls_below(bench: Bench, most: int) -> None:
    async with asyncio.timeout(60):
        while (await bench.service.repositories.get("many")).coverage.embeddings_pending >= most:  # noqa: ASYNC110  it is the database that tells
            await asyncio.sleep(0.05)


async def eventually(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  the provider's threads know nothing of the loop
            await asyncio.sleep(0.02)


async def test_like_and_unlike_ask_no_model(database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path) -> None:
    write_tree(shop, {"shop/tax2.py": "def add_duty(amount: int) -> int:\n    return amount * 125 // 100\n"})
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        await until_done(bench.backend)
        first = await bench.search("def add_tax")
        example, symbol = first.results[0].chunk_id, first.results[0].symbol
        assert symbol is not None
        sent = len(server.texts)
        for like in ((example,), (symbol.id,)):
            answer = await bench.search("", like=like)
            assert paths(answer)[0] == "shop/tax2.py"
            assert "shop/money.py" not in paths(answer), "the example itself is no find"
            routing = answer.routing
            assert (routing.strategy, routing.classification.intent, routing.classification.rule) == (
                Strategy.SINGLE,
                Intent.FIND_SIMILAR,
                "example",
            )
        duty = next(result.chunk_id for result in answer.results if result.path == "shop/tax2.py")
        assert "shop/tax2.py" not in paths(await bench.search("", like=(example,), unlike=(duty,)))
        assert len(server.texts) == sent, "stored bits answered"
        both = await bench.search("monthly sales report", like=(example,))
        assert paths(both)[0] == "shop/report.py"
        assert len(server.texts) == sent + 1


async def test_examples_that_are_none(database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path) -> None:
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        pending = (await bench.search("def add_tax")).results[0].chunk_id
        server.faults = [when("renderCart", Reply(400, b'{"detail": "no"}'))]
        await until_done(bench.backend)
        failed = (await bench.search("def renderCart")).results[0].chunk_id
        for request, error in (
            ({"like": ("nonsense",)}, InvalidRequest),
            ({"like": ("c1-999999",)}, InvalidRequest),
            ({"like": ("c99-1",)}, InvalidRequest),
            ({"like": ("0123456789abcdef",)}, InvalidRequest),
            ({"unlike": (pending,)}, InvalidRequest),
            ({"like": (pending,), "modalities": (Modality.TEXT,)}, InvalidRequest),
            ({"like": (pending,), "literal": True}, InvalidRequest),
            ({"like": (failed,)}, QueryNotServable),
        ):
            with pytest.raises(error):
                await bench.search("", **request)


async def test_filters_make_no_result_vanish(database_url: str, server: ProviderServer, parse_pool: ParsePool, tmp_path: Path) -> None:
    """With the approximate index in use: as many as were asked for, if there are so many, under any filter."""
    tree = {f"src/m{i}.py": f"def handler_{i}(request):\n    return respond(request, {i})\n" for i in range(700)}
    tree |= {f"rare/r{i}.go": f"package rare\n\nfunc Rare{i}() int {{ return {i} }}\n" for i in range(12)}
    configured = settings(database_url, server, exact_chunks=100)
    async with opened(configured, parse_pool) as bench:
        await bench.index(write_tree(tmp_path / "many", tree), name="many")
        await until_done(bench.backend)
        async with bench.backend.connect() as connection:
            serving = await vector_sets.serving(connection)
            assert serving is not None
            assert serving.indexed_to is not None
            assert not await vector_index.is_outgrown(connection, serving, 100)
            assert "embedding_hnsw" in await _plan(connection, serving)
        for filters, expected in (
            (Filters(), 100),
            (Filters(languages=("go",)), 12),
            (Filters(paths=("src/m1*.py",)), 100),
            (Filters(paths=("rare/**", "!rare/r1*")), 9),
            (Filters(symbols=("Rare1*",)), 3),
            (Filters(languages=("python",)), 100),
            (Filters(languages=("rust",)), 0),
        ):
            answer = await by_meaning(bench, "handle a rare request", filters=filters, limit=100)
            assert len(answer.results) == expected, filters

        write_tree(tmp_path / "many", {f"late/l{i}.py": f"def latecomer_{i}(socket):\n    return socket\n" for i in range(20)})
        await bench.index(tmp_path / "many", name="many")
        await until_done(bench.backend)
        late = await by_meaning(bench, "latecomer socket")
        assert {path.split("/")[0] for path in paths(late)} == {"late"}, "what came after the index was built is compared too"


async def _plan(connection: Connection, serving: VectorSet) -> str:
    """What the planner makes of the walk through the index, with all that a search sets."""
    branches = await connection.fetch("SELECT repository_id, branch_id, current_gen FROM branch")
    scope = [[row[column] for row in branches] for column in range(3)]
    bits = asyncpg.BitString.frombytes(bytes(128))
    async with connection.transaction():
        await connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_custom_plan")
        rows = await connection.fetch(
            f"EXPLAIN {nearest.APPROXIMATE}", *scope, *[None] * (FIRST_FREE - 4), serving.id, bits, 400, 200, serving.indexed_to
        )
    return "\n".join(row[0] for row in rows)


async def test_replaced_content_crowds_nothing_out(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, tmp_path: Path
) -> None:
    """What was replaced keeps its vectors until it is swept, and lies as near as what replaced it."""
    async with opened(settings(database_url, server), parse_pool) as bench:
        for edition in range(5):
            tree = {f"m{i}.py": f"def handler_{i}(request):\n    return {edition}\n" for i in range(110)}
            await bench.index(write_tree(tmp_path / "many", tree), name="many")
            await until_done(bench.backend)
        assert await vectors_of(bench.backend, "first") == 550
        answer = await by_meaning(bench, "handle a request", limit=100)
        assert len(answer.results) == 100
        assert {result.snippet.splitlines()[1] for result in answer.results} == {"    return 4"}


async def test_the_index_is_built_anew_when_outgrown_and_a_broken_one_replaced(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path
) -> None:
    async with opened(settings(database_url, server, exact_chunks=2), parse_pool) as bench:
        await bench.index(shop)
        sets = await until_done(bench.backend)
        async with bench.backend.connect() as connection:
            serving = await vector_sets.serving(connection)
            assert serving is not None
            name = await connection.fetchval("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'embedding_hnsw%'")
            assert name == f"embedding_hnsw_{serving.id}_{serving.indexed_to}"
            await connection.execute(f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{name}'::regclass")
            assert await vector_index.build(connection, serving)
            valid = "SELECT bool_and(indisvalid), count(*) FROM pg_index WHERE indexrelid::regclass::text LIKE 'embedding_hnsw%'"
            assert [tuple(row) for row in await connection.fetch(valid)] == [(True, 1)]
            write_tree(shop, {f"shop/more{i}.py": f"def more_{i}(): pass\n" for i in range(5)})
        await bench.index(shop)
        sets._tidy_at = 0.0
        while await one_round(bench.backend, sets):
            sets._tidy_at = 0.0
        async with bench.backend.connect() as connection:
            later = await vector_sets.serving(connection)
            assert later is not None
            assert (later.indexed_to or 0) > (serving.indexed_to or 0)
            assert [tuple(row) for row in await connection.fetch(valid)] == [(True, 1)]


async def test_a_key_that_is_refused_is_told_not_tried(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path
) -> None:
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        server.faults = [times(1, Reply(401))]
        with pytest.raises(ConfigurationError, match="refused the key"):
            await one_round(bench.backend)
        assert len(server.requests) == 1


async def test_what_is_published_counts_as_waiting_from_the_first_moment_on(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path
) -> None:
    """A search that met a new generation with the former's count would keep the few vectors there are as all of them."""
    async with opened(settings(database_url, server), parse_pool) as bench:
        await bench.index(shop)
        await until_done(bench.backend)
        write_tree(shop, {"shop/late.py": "def ferry_timetable():\n    return 1\n"})
        stored = await bench.service.repositories.get("shop")

        async def unheard(stage: str, done: int, total: int | None) -> None:
            """No job."""

        async with bench.backend.connect() as own:
            memory = DefinitionMemory()
            refresher = Refresher(own, bench.backend.mirrors, parse_pool, bench.backend.settings.index, memory, SeenRepositories())
            await refresher.refresh(stored, unheard)
        waiting = await by_meaning(bench, "ferry timetable")
        assert waiting.scope.snapshots[0].embeddings_pending == 1
        await until_done(bench.backend)
        assert paths(await by_meaning(bench, "ferry timetable"))[0] == "shop/late.py"


async def test_a_set_that_begins_to_serve_counts_its_gaps_at_once(
    database_url: str, server: ProviderServer, parse_pool: ParsePool, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(Settings(database_url=database_url, embedder="none"), parse_pool) as bench:
        await bench.index(shop)
    async with opened(settings(database_url, server), parse_pool) as bench:
        seen: list[tuple[bool, int]] = []
        counted = vectors.refresh_counts

        async def look_first(connection: Connection, repository_id: int, vector_set: int) -> vectors.EmbeddingCounts:
            snapshot = (await Snapshots(bench.backend.pool).resolve(())).vectors
            seen.append((snapshot is not None, repository_id))
            return await counted(connection, repository_id, vector_set)

        monkeypatch.setattr(vectors, "refresh_counts", look_first)
        async with bench.backend.connect() as own:
            await sets_of(bench.backend).serving(own)
        scope = await Snapshots(bench.backend.pool).resolve(())
        assert [told for told, _ in seen] == [False], "no search sees a set that was not counted yet"
        assert (scope.vectors is not None, scope.snapshots[0].embeddings_pending) == (True, await chunks_of(bench.backend))
