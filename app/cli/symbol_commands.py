"""The commands about symbols and changes. A symbol is named by its id, or by a name that one definition alone bears."""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from app.cli.opened import with_service
from app.domain.code import EdgeClass, SymbolKind
from app.domain.errors import InvalidRequest, SymbolNotFound
from app.domain.position import PositionRequest
from app.domain.symbols import ImpactAnswer, ImpactRequest, IndexedSide, NameMatch, SymbolsRequest, UsesRequest

if TYPE_CHECKING:
    from pydantic import BaseModel

    from app.cli.service import LocalService

symbol_commands = typer.Typer()

SHOWN: Final = 10

SymbolName = Annotated[str, typer.Argument(metavar="SYMBOL", help="The symbol's name (Flask.route) or its id.")]
Repository = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="The repository that holds it.")]
Revision = Annotated[str | None, typer.Option("--revision", metavar="NAME", help="The branch, tag or indexed commit to look at.")]
Classes = Annotated[list[EdgeClass] | None, typer.Option("--class", help="Only edges of this class; may be repeated.")]
Limit = Annotated[int, typer.Option(min=1, max=500, help="Entries at most.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, in the shape of the HTTP interface.")]


class ImpactFormat(StrEnum):
    """For people, for programs, for a comment, for code scanning."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    SARIF = "sarif"


@symbol_commands.command()
def symbols(
    name: Annotated[
        str | None, typer.Argument(help="The name; * stands for any characters. Without one the most central come first.")
    ] = None,
    match: Annotated[
        NameMatch, typer.Option(help="Find the name as it is, what begins with it, or what is spelt like it.")
    ] = NameMatch.EXACT,
    kinds: Annotated[list[SymbolKind] | None, typer.Option("--kind", help="Only this kind; may be repeated.")] = None,
    languages: Annotated[list[str] | None, typer.Option("--lang", metavar="LANGUAGE", help="Only this language; may be repeated.")] = None,
    paths: Annotated[list[str] | None, typer.Option("--path", metavar="GLOB", help="Only these paths; !GLOB excludes.")] = None,
    repositories: Annotated[list[str] | None, typer.Option("--repo", metavar="NAME", help="Look only here; may be repeated.")] = None,
    revision: Revision = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Definitions at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List definitions by name, kind, language and path."""
    from app.cli.print_symbols import print_symbols
    from app.http import render_symbols

    request = SymbolsRequest(
        name=name,
        match=match,
        kinds=tuple(kind.value for kind in kinds or ()),
        languages=tuple(languages or ()),
        paths=tuple(paths or ()),
        repositories=tuple(repositories or ()),
        limit=limit,
        revision=revision,
    )
    found = with_service(lambda service: service.symbols.find(request))
    if as_json:
        _print_json(render_symbols.page(found))
    else:
        print_symbols(found)


@symbol_commands.command()
def definition(
    place: Annotated[str, typer.Argument(metavar="PATH:LINE:COLUMN", help="The place; both numbers begin with 1, as editors count.")],
    repository: Annotated[str, typer.Option("--repo", metavar="NAME", help="The repository that holds the file.")],
    revision: Revision = None,
    as_json: AsJson = False,
) -> None:
    """Show where the name at a place of a file is defined."""
    from app.cli.print_symbols import print_definition
    from app.http import render_symbols

    written = re.fullmatch(r"(.+):([1-9]\d{0,8}):([1-9]\d{0,8})", place)
    if written is None:
        raise typer.BadParameter("a place is written PATH:LINE:COLUMN")
    request = PositionRequest(repository, written[1], int(written[2]), int(written[3]) - 1, revision)
    found = with_service(lambda service: service.positions.definition(request))
    if as_json:
        _print_json(render_symbols.definition(found))
    else:
        print_definition(found)


@symbol_commands.command()
def references(
    symbol: SymbolName,
    repository: Repository = None,
    revision: Revision = None,
    classes: Classes = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List the lines that use a symbol; those by name alone come last."""
    from app.cli.print_symbols import print_references
    from app.http import render_symbols

    found = with_service(_uses(symbol, repository, revision, classes, limit, lambda service: service.symbols.references))
    if as_json:
        _print_json(render_symbols.references(found))
    else:
        print_references(found)


@symbol_commands.command()
def callers(
    symbol: SymbolName,
    repository: Repository = None,
    revision: Revision = None,
    classes: Classes = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List what calls a symbol, with the lines of the calls; callers by name alone come last."""
    from app.cli.print_symbols import print_relatives
    from app.http import render_symbols

    found = with_service(_uses(symbol, repository, revision, classes, limit, lambda service: service.symbols.callers))
    if as_json:
        _print_json(render_symbols.callers(found))
    else:
        print_relatives(found, "callers")


@symbol_commands.command()
def callees(
    symbol: SymbolName,
    repository: Repository = None,
    revision: Revision = None,
    classes: Classes = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List what a symbol calls, and the calls whose target is not known."""
    from app.cli.print_symbols import print_relatives
    from app.http import render_symbols

    found = with_service(_uses(symbol, repository, revision, classes, limit, lambda service: service.symbols.callees))
    if as_json:
        _print_json(render_symbols.callees(found))
    else:
        print_relatives(found, "callees")


@symbol_commands.command()
def impact(
    symbol: Annotated[str | None, typer.Argument(help="The symbol's name or id; or give a difference.")] = None,
    diff: Annotated[str | None, typer.Option("--diff", metavar="FILE", help="A unified diff; - reads it from standard input.")] = None,
    base: Annotated[str | None, typer.Option(help="The commit, branch or tag to compare with.")] = None,
    head: Annotated[str | None, typer.Option(help="The commit, branch or tag with the change.")] = None,
    indexed: Annotated[IndexedSide | None, typer.Option(help="The side of the difference that the index holds; else found out.")] = None,
    repository: Repository = None,
    revision: Revision = None,
    depth: Annotated[int, typer.Option(min=1, max=10, help="Edges on a path at most.")] = 5,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Entries of each list at most.")] = 100,
    wanted: Annotated[ImpactFormat, typer.Option("--format", help="How to print it.")] = ImpactFormat.TEXT,
) -> None:
    """Show what a change to a symbol reaches, or what a difference touches and reaches."""
    from app.cli.print_symbols import print_impact
    from app.http import render_symbols
    from app.http.impact_report import as_text
    from app.http.schemas.impact import ReportFormat

    if [symbol is not None, diff is not None, base is not None and head is not None].count(True) != 1 or (base is None) != (head is None):
        raise typer.BadParameter("give either a symbol, or --diff, or --base and --head")
    text = None if diff is None else _read(diff)

    async def run(service: LocalService) -> ImpactAnswer:
        if symbol is not None:
            symbol_id = await _identified(service, symbol, repository, revision)
            return await service.impact.of_symbol(ImpactRequest(repository, symbol_id, depth=depth, limit=limit, revision=revision))
        return await service.impact.of_diff(ImpactRequest(repository, None, text, base, head, indexed, depth, limit, revision))

    found = with_service(run)
    if wanted is ImpactFormat.TEXT:
        print_impact(found)
    else:
        typer.echo(as_text(render_symbols.impact(found), ReportFormat(wanted.value)), nl=False)


def _read(diff: str) -> str:
    """The diff's text; bytes that are no UTF-8 are replaced, as they may be in the files that it quotes."""
    try:
        content = sys.stdin.buffer.read() if diff == "-" else Path(diff).read_bytes()
    except OSError as error:
        raise InvalidRequest(f"cannot read {diff}: {error.strerror}", field="diff") from None
    return content.decode("utf-8", "replace")


def _uses(
    symbol: str,
    repository: str | None,
    revision: str | None,
    classes: list[EdgeClass] | None,
    limit: int,
    listing: Callable[[LocalService], Callable[[UsesRequest], Awaitable[Any]]],
) -> Callable[[LocalService], Any]:
    async def run(service: LocalService) -> Any:
        symbol_id = await _identified(service, symbol, repository, revision)
        return await listing(service)(UsesRequest(symbol_id, repository, tuple(classes or ()), limit, revision=revision))

    return run


async def _identified(service: LocalService, symbol: str, repository: str | None, revision: str | None) -> str:
    """The id of the symbol that is meant; raises SymbolNotFound, and InvalidRequest with the choice when there are several."""
    if re.fullmatch(r"[0-9a-f]{16}", symbol):
        return symbol
    page = await service.symbols.find(
        SymbolsRequest(symbol, repositories=(repository,) if repository else (), limit=SHOWN, revision=revision)
    )
    if not page.symbols:
        raise SymbolNotFound(f"no definition is named {symbol!r}")
    if page.total > 1:
        places = [(known, known.place) for known in page.symbols]
        choice = "".join(f"\n  {known.id}  {known.kind} {known.qualified}  {at.path}:{at.start_line}" for known, at in places if at)
        raise InvalidRequest(
            f"{page.total} definitions are named {symbol!r}; name its parent (Parent.{page.symbols[0].name}) or an id:{choice}"
        )
    return page.symbols[0].id


def _print_json(shape: BaseModel) -> None:
    typer.echo(shape.model_dump_json(by_alias=True, indent=2))
