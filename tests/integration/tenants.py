"""Two tenants in one store, and a request for every call of the interface, aimed at the repository of one of them."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

import httpx2

from app import bootstrap
from app.bootstrap import Service
from app.config import AccessSettings, Settings
from app.domain.access import KeyScope
from app.domain.index import RepositorySource
from app.http.access import NEEDS, Needs
from app.http.app import create_app
from app.indexing.embed_sets import VectorSets
from app.indexing.parse import ParsePool
from app.worker import Worker
from tests.integration.conftest import write_tree

ALPHA: Final = {
    "till/__init__.py": "from .drawer import Drawer\n",
    "till/drawer.py": (
        '"""The drawer of a till."""\n\nfrom .sums import shared_total\n\n\nclass Drawer:\n    """Holds coins until closing time."""\n\n'
        "    def close(self) -> int:\n        return shared_total(self.coins)\n"
    ),
    "till/sums.py": 'def shared_total(coins):\n    """All coins together."""\n    return sum(coins)\n',
    "README.md": "# Till\n\nCoins are counted when the drawer closes.\n",
}
BETA: Final = {
    "quokka/__init__.py": "from .ledger import QuokkaLedger\n",
    "quokka/ledger.py": (
        '"""The secret ledger."""\n\nfrom .totals import shared_total, settle_quokka\n\n\n'
        'class QuokkaLedger:\n    """Settles debts of marsupials."""\n\n'
        "    def settle(self) -> int:\n        return settle_quokka(shared_total(self.debts))\n\n"
        '    def fail(self) -> None:\n        raise RuntimeError("EQUOKKA broken ledger")\n'
    ),
    "quokka/totals.py": "def shared_total(debts):\n    return sum(debts)\n\n\ndef settle_quokka(amount):\n    return amount * 3\n",
    "quokka/picture.png": "\x00\x01binary",
    "README.md": "# Quokka\n\nThe marsupial ledger nobody else may read.\n",
}
TRACES: Final = re.compile(r"quokka|marsupial|settle_quokka|beta", re.IGNORECASE)
"""What tells that an answer knows of the other tenant, in whatever part of it."""

_CHANGING: Final = re.compile(
    r'"(?:took_ms|request_id|indexed_at|created_at|started_at|finished_at|changed_at|seconds|last_used_at)":\s*(?:"[^"]*"|[\d.]+|null|\{[^}]*\})'
    r'|"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"'
)


@dataclass(frozen=True, slots=True)
class Target:
    """A repository and the ids of what is in it; invented ones for a repository that nobody has."""

    name: str
    symbol: str
    chunk: str
    job: str
    path: str
    scope: str

    def hidden_in(self, text: str) -> str:
        """A text without what tells this target from another."""
        for mark in sorted((self.name, self.symbol, self.chunk, self.job, self.path, self.scope), key=len, reverse=True):
            text = text.replace(mark, "…")
        return text


GONE: Final = Target("gone", "f" * 16, "c999999-1", "00000000-0000-4000-8000-000000000000", "no/such.py", "no-such-scope")


def steady(text: str) -> str:
    """An answer without what differs each time."""
    return _CHANGING.sub("…", text)


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    url: str
    json: Any = None
    content: bytes | None = None


def archive() -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as opened:
        opened.addfile(tarfile.TarInfo("a.py"))
    return written.getvalue()


REQUESTS: Final[Mapping[str, Callable[[Target], Request]]] = {
    "search": lambda t: Request("GET", f"/v1/search?q=shared_total&repositories={t.name}"),
    "searchWithBody": lambda t: Request("POST", "/v1/search", {"query": "shared_total", "repositories": [t.name]}),
    "searchStream": lambda t: Request("POST", "/v1/search/stream", {"query": "shared_total", "repositories": [t.name]}),
    "searchBatch": lambda t: Request("POST", "/v1/search/batch", {"searches": [{"query": "shared_total", "repositories": [t.name]}]}),
    "classify": lambda t: Request("POST", "/v1/classify", {"query": f"where is {t.name} defined"}),
    "explainAbsence": lambda t: Request("GET", f"/v1/why-not?q=shared_total&repository={t.name}&path={t.path}"),
    "readFile": lambda t: Request("GET", f"/v1/files?repository={t.name}&path={t.path}"),
    "findSymbols": lambda t: Request("GET", f"/v1/symbols?name=shared_total&repositories={t.name}"),
    "getSymbol": lambda t: Request("GET", f"/v1/symbols/{t.symbol}"),
    "listReferences": lambda t: Request("GET", f"/v1/symbols/{t.symbol}/references"),
    "listCallers": lambda t: Request("GET", f"/v1/symbols/{t.symbol}/callers"),
    "listCallees": lambda t: Request("GET", f"/v1/symbols/{t.symbol}/callees"),
    "getImpact": lambda t: Request("GET", f"/v1/symbols/{t.symbol}/impact"),
    "goToDefinition": lambda t: Request("GET", f"/v1/definition?repository={t.name}&path={t.path}&line=1&column=4"),
    "analyzeImpact": lambda t: Request(
        "POST", "/v1/impact", {"repository": t.name, "diff": "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"}
    ),
    "listScopes": lambda t: Request("GET", "/v1/scopes"),
    "getScope": lambda t: Request("GET", f"/v1/scopes/{t.scope}"),
    "putScope": lambda t: Request("PUT", f"/v1/scopes/{t.scope}", {"repositories": [t.name]}),
    "deleteScope": lambda t: Request("DELETE", f"/v1/scopes/{t.scope}"),
    "listRepositories": lambda t: Request("GET", "/v1/repositories"),
    "getRepository": lambda t: Request("GET", f"/v1/repositories/{t.name}"),
    "getCoverage": lambda t: Request("GET", f"/v1/repositories/{t.name}/coverage"),
    "putRepository": lambda t: Request("PUT", f"/v1/repositories/{t.name}", {"source": {"archive": True}}),
    "putArchive": lambda t: Request("PUT", f"/v1/repositories/{t.name}/archive?revision=1", content=archive()),
    "indexRepository": lambda t: Request("POST", f"/v1/repositories/{t.name}/index"),
    "deleteRepository": lambda t: Request("DELETE", f"/v1/repositories/{t.name}"),
    "listJobs": lambda t: Request("GET", f"/v1/jobs?repository={t.name}"),
    "getJob": lambda t: Request("GET", f"/v1/jobs/{t.job}"),
    "watchJob": lambda t: Request("GET", f"/v1/jobs/{t.job}/events"),
    "cancelJob": lambda t: Request("DELETE", f"/v1/jobs/{t.job}"),
    "createKey": lambda t: Request("POST", "/v1/keys", {"name": "new", "repositories": [t.name]}),
    "listKeys": lambda t: Request("GET", "/v1/keys"),
    "getKey": lambda t: Request("GET", f"/v1/keys/{t.symbol}"),
    "revokeKey": lambda t: Request("DELETE", f"/v1/keys/{t.symbol}"),
    "listAudit": lambda t: Request("GET", "/v1/audit"),
    "metrics": lambda t: Request("GET", "/metrics"),
    "receiveWebhook": lambda t: Request("POST", "/v1/webhooks/github", {"repository": {"clone_url": f"https://example.org/{t.name}"}}),
    "livez": lambda t: Request("GET", "/livez"),
    "readyz": lambda t: Request("GET", "/readyz"),
}
"""By operation id, aimed at one target."""

UNAIMED: Final = frozenset(
    {
        "classify",
        "listScopes",
        "listRepositories",
        "createKey",
        "listKeys",
        "getKey",
        "revokeKey",
        "listAudit",
        "metrics",
        "livez",
        "readyz",
    }
)
"""Calls that name no repository, or nothing that belongs to one."""

ARCHIVES: Final = frozenset({"putRepository", "putArchive", "deleteRepository", "cancelJob", "indexRepository"})
"""Calls that change a repository: those of its own tenant go to one that nobody else needs."""


@dataclass
class World:
    """The application on a store; ``keys`` by what they are for."""

    service: Service
    client: httpx2.AsyncClient
    keys: dict[str, str] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)

    async def send(self, request: Request, key: str | None) -> httpx2.Response:
        headers = {} if key is None else {"Authorization": f"Bearer {self.keys.get(key, key)}"}
        return await self.client.request(request.method, request.url, json=request.json, content=request.content, headers=headers)

    async def ask(self, key: str, **body: Any) -> httpx2.Response:
        return await self.send(Request("POST", "/v1/search", body), key)


def write_sources(root: Path) -> Path:
    """Both tenants' trees, in one folder: worlds that are compared have the same."""
    for name, tree in (("alpha", ALPHA), ("beta", BETA)):
        write_tree(root / name, tree)
    return root


@asynccontextmanager
async def world(
    url: str, root: Path, pool: ParsePool, *, with_beta: bool, row_security: Literal["required", "off"]
) -> AsyncIterator[World]:
    """``alpha`` and, if wanted, ``beta`` of the folder, indexed and embedded, and a key of each kind."""
    settings = Settings(
        database_url=url,
        state_dir=root / "state",
        embedder="static",
        allowed_roots=(root,),
        access=AccessSettings(requests_per_minute=0, concurrency=0, row_security=row_security),
    )
    async with AsyncExitStack() as stack:
        backend = await stack.enter_async_context(bootstrap.backend(settings))
        service = bootstrap.compose(backend)
        worker = Worker(backend)
        names = ("alpha", "beta") if with_beta else ("alpha",)
        jobs = {}
        for name in names:
            await service.repositories.put(name, RepositorySource(str(root / name)))
            jobs[name] = (await service.jobs.enqueue(name))[0].id
            while await worker.step(pool):
                pass
        async with backend.connect() as own:
            while await VectorSets(backend.connect, backend.embedders, settings.embedding).round(own):
                pass
        app = create_app(lambda: nullcontext(service), settings)
        await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx2.ASGITransport(app)
        client = await stack.enter_async_context(httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=30))
        made = World(service, client)
        await _make_keys(made)
        for name in names:
            made.targets[name] = await _target(made, name, jobs[name], "till/sums.py" if name == "alpha" else "quokka/totals.py")
        yield made


async def _make_keys(made: World) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    for tenant in ("alpha", "beta"):
        for scope in (KeyScope.SEARCH, KeyScope.INDEX):
            made.keys[f"{tenant} {scope}"] = (await made.service.keys.create(tenant, scope, [f"{tenant}*"]))[1]
    for scope in KeyScope:
        made.keys[f"all {scope}"] = (await made.service.keys.create("operator", scope))[1]
        made.keys[f"expired {scope}"] = (await made.service.keys.create("expired", scope, expires_at=past))[1]
        key, made.keys[f"revoked {scope}"] = await made.service.keys.create("revoked", scope)
        await made.service.keys.revoke(key.id)
    made.keys["unknown"] = f"ff_{'0' * 16}_{'0' * 64}"


async def _target(made: World, name: str, job: str, path: str) -> Target:
    answer = (await made.ask("all admin", query="where is shared_total defined", repositories=[name])).json()
    first = answer["results"][0]
    scope = f"{name}-scope"
    await made.send(Request("PUT", f"/v1/scopes/{scope}", {"description": name, "repositories": [name]}), "all admin")
    return Target(name, first["symbol"]["id"], first["chunk_id"], job, path, scope)


def sufficient(operation: str) -> str:
    """The scope that a call needs; search for one that needs none."""
    needs = NEEDS[operation]
    return "search" if needs in (Needs.NOTHING, Needs.SIGNED) else needs.value
