"""Nobody sees what is another's: every call with every kind of key, every retriever, and PostgreSQL's wall alone.

The table that comes of it is committed as docs/tenancy.md; ``make tenancy`` writes it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.domain import access
from app.domain.access import Caller, KeyScope, Reach
from app.domain.query import Modality, SearchRequest
from app.http.access import NEEDS, Needs
from app.http.app import openapi_document
from app.indexing.parse import ParsePool
from app.observability import metrics
from app.storage.pool import Pool
from app.storage.row_security import POLICIES
from tests.contract.markdown import ROOT
from tests.integration.tenants import (
    ARCHIVES,
    GONE,
    REQUESTS,
    TRACES,
    UNAIMED,
    Request,
    Target,
    World,
    steady,
    sufficient,
    world,
    write_sources,
)

pytestmark = pytest.mark.anyio

PAGE = ROOT / "docs" / "tenancy.md"
HEAD = """# Who sees what

Made by `make tenancy` from answers of a service with two tenants, and compared with them by a test: every call, by a caller of each
kind. In the last two columns the calls aim at a repository, symbol, job or scope of one tenant: with a key limited to the other's
repositories, and with that tenant's own. `as gone` means that the answer is, word for word, that for a name or id which nobody has.
Where a call aims at nothing, the answer tells nothing of the other tenant.

| call | needs | no key | unknown | expired | revoked | lower scope | other tenant | own tenant |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"query": "settle_quokka"},
    {"query": "where is QuokkaLedger defined"},
    {"query": "who calls settle_quokka"},
    {"query": "what breaks if I change settle_quokka"},
    {"query": "how are debts of marsupials settled"},
    {"query": '"EQUOKKA broken ledger"'},
    {"query": "quok", "literal": True},
    {"query": "zz", "literal": True},
    {"query": "regex:/quok+a\\w*/"},
    {"query": "settle_quoka"},
    {"query": "QuokaLedgr definition"},
    {"query": "shared_total"},
    {"query": "shared_total", "dedupe": "none", "limit": 100},
    {"query": "symbol:Quokka*"},
    {"query": "symbol:shared_total"},
    {"query": "repo:beta shared_total"},
    {"query": "-repo:alpha shared_total"},
    {"query": "repo:b* kind:function"},
    {"query": "file:quokka/** total"},
    {"query": "lang:python total -coins"},
    {"query": "rev:nowhere total"},
    {"query": "(debts or coins) -drawer"},
    {"query": "total", "explain": True, "preset": "thorough"},
    {"query": "beta quokka README"},
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", params=["required", "off"])
def walls(request: pytest.FixtureRequest) -> Any:
    """With both walls, and with the service's own alone."""
    return request.param


@pytest.fixture(scope="module")
def shared_url(walls: str, make_database: Callable[[], str]) -> str:
    return make_database()


@pytest.fixture(scope="module")
def alone_url(make_database: Callable[[], str]) -> str:
    return make_database()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
async def shared(walls: Any, anyio_backend: str, shared_url: str, sources: Path, parse_pool: ParsePool) -> AsyncIterator[World]:
    """Both tenants."""
    async with world(shared_url, sources, parse_pool, with_beta=True, row_security=walls) as made:
        yield made


@pytest.fixture(scope="module")
async def alone(anyio_backend: str, alone_url: str, sources: Path, parse_pool: ParsePool) -> AsyncIterator[World]:
    """A store in which there is only ``alpha``."""
    async with world(alone_url, sources, parse_pool, with_beta=False, row_security="required") as made:
        yield made


def operations() -> list[str]:
    return [operation["operationId"] for path in json.loads(openapi_document())["paths"].values() for operation in path.values()]


def test_every_call_has_a_request() -> None:
    assert sorted(operations()) == sorted(REQUESTS) == sorted(NEEDS)


async def test_the_matrix(shared: World) -> None:
    rows = [await _row(shared, operation) for operation in sorted(REQUESTS, key=lambda name: (list(Needs).index(NEEDS[name]), name))]
    page = HEAD + "".join("| " + " | ".join(row) + " |\n" for row in rows)
    if os.environ.get("WRITE_TENANCY"):
        PAGE.write_text(page, "utf-8")
    assert PAGE.read_text("utf-8") == page, "run: make tenancy"


async def _row(shared: World, operation: str) -> list[str]:
    needs, beta = NEEDS[operation], shared.targets["beta"]
    request, scope = REQUESTS[operation](beta), sufficient(operation)
    public = needs in (Needs.NOTHING, Needs.SIGNED)
    row = [f"`{operation}`", needs.value]
    for key in (None, "unknown", f"expired {scope}", f"revoked {scope}"):
        answer = await shared.send(request, key)
        row.append(str(answer.status_code))
        assert public or answer.status_code == 401
        assert public or answer.headers["www-authenticate"].startswith('Bearer realm="fourfold"')
        assert public or TRACES.search(answer.text.replace(request.url, "")) is None
    lower = {"index": "all search", "admin": "all index"}.get(needs.value)
    row.append("–" if lower is None else str((await _refused(shared, request, lower, needs)).status_code))
    return [*row, await _foreign(shared, operation, beta), await _own(shared, operation, beta)]


async def _refused(shared: World, request: Request, key: str, needs: Needs) -> Any:
    answer = await shared.send(request, key)
    assert answer.status_code == 403
    assert f"scope '{needs}'" in answer.json()["detail"]
    assert answer.headers["www-authenticate"] == f'Bearer realm="fourfold", error="insufficient_scope", scope="{needs}"'
    return answer


async def _foreign(shared: World, operation: str, beta: Target) -> str:
    """The answer to the other tenant; raises AssertionError where it tells the repository from one that is not there."""
    needs = NEEDS[operation]
    key = "alpha search" if needs in (Needs.NOTHING, Needs.SIGNED, Needs.SEARCH) else "alpha index"
    answer, gone = [await shared.send(REQUESTS[operation](target), key) for target in (beta, GONE)]
    assert answer.status_code == gone.status_code
    if operation in UNAIMED:
        assert operation == "classify" or needs is Needs.ADMIN or TRACES.search(answer.text) is None
        return str(answer.status_code)
    assert steady(beta.hidden_in(answer.text)) == steady(GONE.hidden_in(gone.text))
    assert TRACES.search(beta.hidden_in(answer.text)) is None
    return f"{answer.status_code} as gone"


async def _own(shared: World, operation: str, beta: Target) -> str:
    """The same by the tenant itself, or by the operator: it is answered, so that the refusals say something."""
    needs = NEEDS[operation]
    key = "all admin" if needs is Needs.ADMIN else "beta index"
    target = beta
    if operation in ARCHIVES:
        name = f"beta-{operation.lower()}"
        if operation not in ("putRepository", "putArchive"):
            made = await shared.send(Request("PUT", f"/v1/repositories/{name}", {"source": {"archive": True}}), key)
            assert made.status_code == 201
        job = beta.job
        if operation == "cancelJob":
            job = (await shared.send(Request("POST", f"/v1/repositories/{name}/index"), key)).json()["id"]
        target = Target(name, beta.symbol, beta.chunk, job, beta.path, beta.scope)
    if operation in ("getKey", "revokeKey"):
        created = await shared.send(REQUESTS["createKey"](beta), key)
        target = Target(beta.name, created.json()["id"], beta.chunk, beta.job, beta.path, beta.scope)
    answer = await shared.send(REQUESTS[operation](target), key)
    if operation == "deleteScope":
        await shared.send(REQUESTS["putScope"](beta), key)
    assert operation == "receiveWebhook" or answer.status_code < 300, answer.text
    return str(answer.status_code)


@pytest.mark.parametrize("modalities", [[], *[[modality.value] for modality in Modality]], ids=lambda names: "-".join(names) or "preset")
async def test_answers_are_those_of_a_store_without_the_other(shared: World, alone: World, modalities: list[str]) -> None:
    """Results, totals, suggestions, warnings, absence, scores, coverage: every word of every answer."""
    seen = 0
    for question in QUESTIONS:
        body = question | ({"modalities": modalities} if modalities else {})
        with_beta, without = await shared.ask("alpha search", **body), await alone.ask("alpha search", **body)
        assert (with_beta.status_code, steady(with_beta.text)) == (without.status_code, steady(without.text)), body
        own = await shared.ask("beta search", **body)
        seen += own.status_code == 200 and TRACES.search(json.dumps(own.json()["results"])) is not None
    assert seen >= 3, "the other tenant finds its own"


async def test_what_is_kept_in_memory_for_all_answers_nobody_of_the_other(shared: World, alone: World) -> None:
    for made, names in ((shared, ["alpha", "beta"]), (alone, ["alpha"])):
        for repositories in (["alpha"], names):
            await _until_kept(made, repositories)
    for question in QUESTIONS:
        with_beta, without = await shared.ask("alpha search", **question), await alone.ask("alpha search", **question)
        assert (with_beta.status_code, steady(with_beta.text)) == (without.status_code, steady(without.text)), question


async def _until_kept(made: World, repositories: list[str]) -> None:
    """Ask with the key that sees everything until centralities, links, names and postings come from memory."""
    for _ in range(200):
        before = _from_memory()
        for question in ("how are debts and coins added up to a total", "shared_total"):
            answer = await made.ask("all search", query=question, repositories=repositories, preset="thorough")
            assert answer.status_code == 200, answer.text
        after = _from_memory()
        if all(after.get(kind, 0) > before.get(kind, 0) for kind in ("centralities", "links", "names", "postings")):
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"not in memory: {_from_memory()}")


def _from_memory() -> dict[str, float]:
    reads = re.findall(r'^fourfold_ranking_reads_total\{kind="(\w+)",source="memory"\} (\S+)$', metrics.render()[0].decode(), re.MULTILINE)
    return {kind: float(count) for kind, count in reads}


OTHER_CALLS = (
    "/v1/symbols?name=shared_total",
    "/v1/symbols?name=settle_quokka&match=fuzzy",
    "/v1/symbols?name=Quok*",
    "/v1/symbols?kind=class",
    "/v1/repositories",
    "/v1/scopes",
    "/v1/jobs",
    "/v1/repositories/alpha",
    "/v1/repositories/alpha/coverage",
    "/v1/why-not?q=settle_quokka&repository=alpha&path=till/sums.py",
    "/v1/why-not?q=shared_total&repository=alpha&path=quokka/totals.py",
    "/v1/search?q=shared_total&scope=alpha-scope",
    "/v1/search?q=shared_total&scope=beta-scope",
)


@pytest.mark.parametrize("url", OTHER_CALLS)
async def test_lists_are_those_of_a_store_without_the_other(shared: World, alone: World, url: str) -> None:
    with_beta, without = [await made.send(Request("GET", url), "alpha search") for made in (shared, alone)]
    assert (with_beta.status_code, steady(with_beta.text)) == (without.status_code, steady(without.text))
    everything = await shared.send(Request("GET", url), "all admin")
    assert everything.status_code in (200, 404)


async def test_examples_and_cursors_of_the_other_name_nothing(shared: World) -> None:
    beta = shared.targets["beta"]
    for like in (beta.chunk, beta.symbol):
        own = await shared.ask("beta search", like=[like], limit=1)
        assert own.status_code == 200, own.text
    foreign, gone = await shared.ask("alpha search", like=[beta.chunk]), await shared.ask("alpha search", like=[GONE.chunk])
    assert foreign.status_code == gone.status_code == 422
    assert steady(beta.hidden_in(foreign.text)) == steady(GONE.hidden_in(gone.text))
    page = await shared.ask("beta search", query="total", limit=1)
    cursor = page.json()["next_cursor"]
    assert (await shared.ask("beta search", query="total", limit=1, cursor=cursor)).status_code == 200
    refused = await shared.ask("alpha search", query="total", limit=1, cursor=cursor)
    assert (refused.status_code, TRACES.search(refused.text)) == (410, None)
    both = (await shared.ask("all search", query="total", limit=1)).json()["next_cursor"]
    assert (await shared.ask("alpha search", query="total", limit=1, cursor=both)).status_code == 410


async def test_a_limited_key_cannot_name_what_the_operator_keeps(shared: World, tmp_path: Path) -> None:
    for source, field in (
        ({"path": str(tmp_path)}, "source.path"),
        ({"url": f"file://{tmp_path}"}, "source.url"),
        ({"url": "https://example.org/a.git", "credential": "other"}, "source.credential"),
    ):
        answer = await shared.send(Request("PUT", "/v1/repositories/alpha-new", {"source": source}), "alpha index")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (403, field)
        assert "scope=" not in answer.headers["www-authenticate"]
    stored = (await shared.send(Request("GET", "/v1/repositories/alpha"), "alpha index")).json()
    again = await shared.send(Request("PUT", "/v1/repositories/alpha", {"source": {"path": stored["source"]["path"]}}), "alpha index")
    assert again.status_code == 200


async def test_a_new_repository_is_seen_by_the_request_that_made_it_and_by_the_next(shared: World) -> None:
    answer = await shared.send(REQUESTS["putArchive"](Target("alpha-new", *["x"] * 5)), "alpha index")
    assert answer.status_code == 202, answer.text
    assert (await shared.send(Request("GET", "/v1/repositories/alpha-new"), "alpha search")).status_code == 200
    assert (await shared.send(Request("GET", "/v1/repositories/alpha-new"), "beta search")).status_code == 404
    assert (await shared.send(Request("DELETE", "/v1/repositories/alpha-new"), "alpha index")).status_code == 204


# ---- PostgreSQL alone: the service's own checks are told that everything is allowed.


def believed(*ids: int) -> Caller:
    """A caller whom the service would let see every name, while PostgreSQL is told of these ids only."""
    return Caller("test", KeyScope.SEARCH, "0" * 16, Reach(("*",), {str(number): number for number in ids}))


async def test_the_role_reads_the_rows_of_its_repositories_and_no_others(shared: World) -> None:
    pool: Pool = shared.service.scopes._pool
    if not pool._row_security:
        return
    async with pool.owner() as owner:
        ids = {row["name"]: row["id"] for row in await owner.fetch("SELECT id, name FROM repository WHERE name IN ('alpha', 'beta')")}
        held = {}
        for table in POLICIES:
            column = "id" if table == "repository" else "repository_id"
            if table != "saved_scope":
                held[table] = {row[0] for row in await owner.fetch(f'SELECT DISTINCT {column} FROM "{table}"')}
    assert sum(ids["beta"] in values for values in held.values()) >= 18  # or the test would see nothing hidden
    for visible in ([], [ids["alpha"]], [ids["beta"]], list(ids.values())):
        with access.acting(believed(*visible)):
            async with pool.connection() as reader:
                for table, values in held.items():
                    column = "id" if table == "repository" else "repository_id"
                    shown = {row[0] for row in await reader.fetch(f'SELECT DISTINCT {column} FROM "{table}"')}
                    assert shown == values & set(visible), table
                scopes = {row["name"] for row in await reader.fetch("SELECT name FROM saved_scope")}
                assert scopes == {f"{name}-scope" for name, number in ids.items() if number in visible}
                for closed in ("api_key", "audit", "embedding_cache", "webhook_delivery"):
                    with pytest.raises(asyncpg.InsufficientPrivilegeError):
                        await reader.fetch(f"SELECT * FROM {closed}")
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await reader.execute("DELETE FROM chunk")


async def test_a_retriever_that_is_given_the_other_scope_finds_nothing(shared: World) -> None:
    """Whatever the service might get wrong before: the statements themselves come back empty."""
    search = shared.service.search
    if not shared.service.scopes._pool._row_security:
        return
    scope = await search.scope(SearchRequest("x", ("beta",)))
    (beta,) = [snapshot.repository_id for snapshot in scope.snapshots]
    inner = search._search
    for query in (
        "settle_quokka",
        "who calls settle_quokka",
        "how are debts of marsupials settled",
        '"EQUOKKA broken ledger"',
        "symbol:Quokka*",
    ):
        for modality in Modality:
            request = SearchRequest(query, modalities=(modality,))
            with access.acting(believed(beta + 1_000)):
                assert await _found(inner, request, scope) == 0, (query, modality)
    with access.acting(believed(beta)):
        assert await _found(inner, SearchRequest("settle_quokka", modalities=(Modality.TEXT,)), scope) > 0


async def _found(search: Any, request: SearchRequest, scope: Any) -> int:
    """Results of a search whose scope is not resolved but given, without what was kept in memory for others."""

    async def resolved(*_: object) -> Any:
        return scope

    original, search._resolve = search._resolve, resolved
    try:
        for retriever in search._retrievers.values():
            for holder in (retriever, getattr(retriever, "_names", None)):
                live = getattr(holder, "_live", None)
                if live is not None:
                    live._known._known.clear()
        answer = await search.search(request)
        return len(answer.results)
    finally:
        search._resolve = original
