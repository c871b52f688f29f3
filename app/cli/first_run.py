"""What ``serve --index`` shows: the index grow, the address, and three questions with their answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from rich.text import Text

from app.cli.indexing import Wanted, finished, start_job
from app.cli.printing import err, out, print_answer, print_index_report, safe
from app.domain.code import SymbolKind
from app.domain.query import SearchRequest
from app.domain.ranking import SymbolSummary

if TYPE_CHECKING:
    from app.cli.service import LocalService

_CANDIDATES = 200

S = TypeVar("S")


@asynccontextmanager
async def while_opening(service: AbstractAsyncContextManager[S]) -> AsyncIterator[S]:
    """The open service; until it is open, a terminal says what takes so long."""
    async with AsyncExitStack() as stack:
        with err.status("opening the database; the first start creates it"):
            opened = await stack.enter_async_context(service)
        yield opened


async def index_and_show(service: LocalService, url: str, name: str, wanted: Wanted, *, own_worker: bool) -> None:
    """Index the repository, then introduce it; the service is answering all the while."""
    job = await finished(service, await start_job(service, name, wanted), own_worker=own_worker)
    print_index_report(await service.repositories.get(name), job)
    out.print(Text.assemble("\nFourfold answers at ", (url, "bold green"), f"  (try {url}/docs)"))
    for question in example_questions(await service.symbols.most_central(name, _CANDIDATES)):
        out.print(Text.assemble("\n$ ", (f'fourfold search "{safe(question)}" --repo {name}', "bold")))
        print_answer(await service.search.search(SearchRequest(question, repositories=(name,))), results=2)
    out.print(Text(f"\nServing {url} until Ctrl-C.", style="bold"))


def example_questions(symbols: Sequence[SymbolSummary]) -> list[str]:
    """A definition, a who-calls and a how question about the most central symbols, as far as there are any (best first)."""
    named = [symbol for symbol in symbols if len(symbol.name) > 2 and not symbol.name.startswith("_")]
    types = [symbol for symbol in named if SymbolKind(symbol.kind).is_type]
    callables = [symbol for symbol in named if SymbolKind(symbol.kind).is_callable and symbol.kind != SymbolKind.PROPERTY]
    questions = []
    if types or callables:
        defined = (types or callables)[0]
        questions.append(f"where is {defined.name} defined")
    if callables:
        questions.append(f"who calls {callables[0].name}")
    subject = next((symbol.name for symbol in types[1:] + callables[1:]), None)
    questions.append(f"how does {subject} work" if subject else "how does it start")
    return questions
