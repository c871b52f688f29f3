"""A whole service on a database of its own, and a small repository to index with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from app import bootstrap
from app.bootstrap import Backend, Service
from app.config import Settings
from app.domain.index import Job, RepositorySource
from app.domain.query import SearchRequest
from app.domain.ranking import SearchAnswer
from app.indexing.parse import ParsePool
from app.worker import Worker

SHOP = {
    "shop/__init__.py": "from .cart import Cart\n",
    "shop/cart.py": (
        '"""A cart of things to buy."""\n\nfrom .money import add_tax\n\n\nclass Cart:\n    """Collects items until checkout."""\n\n'
        "    def total(self) -> int:\n        return add_tax(sum(self.prices))\n\n"
        '    def checkout(self) -> None:\n        raise RuntimeError("The cart is empty: ECARTEMPTY")\n'
    ),
    "shop/money.py": 'def add_tax(amount: int) -> int:\n    """Value added tax on top of an amount."""\n    return amount * 125 // 100\n',
    "shop/report.py": "from shop.money import add_tax\n\n\ndef monthly(sales):\n    return [add_tax(sale) for sale in sales]\n",
    "tests/test_cart.py": "from shop import Cart\n\n\ndef test_total():\n    assert Cart().total() == 0\n",
    "web/app.js": "export function renderCart(cart) {\n  return `<ul>${cart.items.join('')}</ul>`;\n}\n",
    "README.md": "# Shop\n\nHow the cart works: add items, then check out. Grænseværdi 购物车 🛒\n",
}


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


class Bench:
    """The service and a worker's stages, called one by one."""

    def __init__(self, backend: Backend, service: Service, pool: ParsePool) -> None:
        self.backend = backend
        self.service = service
        self.worker = Worker(backend)
        self.pool = pool

    async def index(self, path: Path, name: str = "shop", **source: Any) -> Job:
        """Queue a run and serve the queue until it has ended."""
        await self.service.repositories.put(name, RepositorySource(str(path), **source))
        job, _ = await self.service.jobs.enqueue(name)
        while await self.worker.step(self.pool):
            pass
        return await self.service.jobs.get(job.id)

    async def search(self, query: str, **request: Any) -> SearchAnswer:
        return await self.service.search.search(SearchRequest(query, **request))


@pytest.fixture(scope="session")
def parse_pool() -> Iterator[ParsePool]:
    with ParsePool(Settings(embedder="none").index) as pool:
        yield pool


@pytest.fixture
async def bench(database_url: str, parse_pool: ParsePool, anyio_backend: str) -> AsyncIterator[Bench]:
    settings = Settings(database_url=database_url, embedder="none")
    async with bootstrap.backend(settings) as backend:
        yield Bench(backend, bootstrap.compose(backend), parse_pool)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "shop", SHOP)
