"""The commands. Each imports what it runs when it runs, so that ``--help`` is quick and metrics find their place first."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app import __version__
from app.cli.access_commands import audit, key_commands
from app.cli.opened import settings_of, with_service
from app.cli.symbol_commands import symbol_commands
from app.domain.errors import InvalidRequest
from app.domain.query import Dedupe, Filters, Modality, Preset, SearchRequest

if TYPE_CHECKING:
    from app.cli.service import LocalService

cli = typer.Typer(
    name="fourfold",
    help="Answers any question about code by choosing the right retriever for it: semantic, text, structural or graph.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Question = Annotated[str, typer.Argument(help="The question: plain words, an identifier, an error message, a quoted string, code.")]
Name = Annotated[str | None, typer.Option("--name", help="The repository's name; the directory's own when absent.")]
Include = Annotated[list[str] | None, typer.Option("--include", metavar="GLOB", help="Index only these paths; may be repeated.")]
Exclude = Annotated[list[str] | None, typer.Option("--exclude", metavar="GLOB", help="Leave these paths out; may be repeated.")]
NoIgnore = Annotated[bool, typer.Option("--no-ignore", help="Index what ignore files leave out of a directory too.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, in the shape of the HTTP interface.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fourfold {__version__}")
        raise typer.Exit


@cli.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Settings come from the environment: DATABASE_URL and FOURFOLD_…; see the README."""


@cli.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to bind to; FOURFOLD_HOST when absent.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port to bind to, 0 for any; FOURFOLD_PORT when absent.")] = None,
    worker: Annotated[bool, typer.Option("--worker/--no-worker", help="Run one worker beside the API.")] = True,
    open_: Annotated[bool, typer.Option("--open", help="Answer without keys beyond loopback too, until the first key is made.")] = False,
    index_path: Annotated[Path | None, typer.Option("--index", metavar="PATH", help="Index this first and show examples.")] = None,
    name: Name = None,
    include: Include = None,
    exclude: Exclude = None,
    no_ignore: NoIgnore = False,
) -> None:
    """Run the API and, beside it, a worker that indexes, until Ctrl-C."""
    from uvicorn.loops.auto import auto_loop_factory

    from app.observability.multiprocess import shared_metrics

    if index_path is not None and sys.stderr.isatty():  # log lines would tear the progress bar
        os.environ.setdefault("FOURFOLD_LOG_LEVEL", "warning")
    settings = settings_of(logs=True, host=host, port=port)
    if open_:
        settings = settings.model_copy(update={"access": settings.access.model_copy(update={"open": True})})
    typer.echo(f"Fourfold {__version__}: four ways to find code", err=True)
    with shared_metrics():
        from app import bootstrap
        from app.cli.first_run import index_and_show, while_opening
        from app.cli.indexing import Wanted
        from app.http.serve import serve as serve_http

        wanted = Wanted(str(index_path), include or (), exclude or (), no_ignore=no_ignore) if index_path is not None else None

        async def introduce(service: LocalService, url: str) -> None:
            if wanted is not None:
                await index_and_show(service, url, wanted.name(name), wanted, own_worker=not worker)

        if wanted is not None:  # refuse a wrong path before anything starts
            wanted.source()
            wanted.name(name)
        serving = serve_http(lambda: while_opening(bootstrap.service(settings, warm=True)), settings, worker=worker, on_ready=introduce)
        with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:  # uvloop's where there is one: a tenth more answers
            runner.run(serving)


@cli.command()
def worker(
    child: Annotated[int | None, typer.Option("--child", hidden=True, help="The process to end with.")] = None,
) -> None:
    """Run one worker: it takes index jobs from the queue until Ctrl-C."""
    settings = settings_of(logs=True)
    if child is not None:
        from app.worker_process import die_with_parent

        die_with_parent(child)
    from app import worker as worker_module

    if child is not None:
        sys.stdin.read()  # ends when the process that started this one has opened the store

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await worker_module.run(settings, stop)

    asyncio.run(run())


@cli.command()
def migrate() -> None:
    """Bring the database to this version's schema."""
    from app import bootstrap

    asyncio.run(bootstrap.migrate(settings_of()))
    typer.echo("The schema is up to date.")


@cli.command()
def index(
    place: Annotated[str, typer.Argument(metavar="PATH|URL", help="The directory or git remote to index.")],
    name: Name = None,
    include: Include = None,
    exclude: Exclude = None,
    no_ignore: NoIgnore = False,
    refs: Annotated[list[str] | None, typer.Option("--ref", metavar="GLOB", help="Branches and tags of a remote; may be repeated.")] = None,
    credential: Annotated[
        str | None, typer.Option("--credential", metavar="NAME", help="A secret among the settings, for a remote.")
    ] = None,
    submodules: Annotated[bool, typer.Option("--submodules", help="Index the submodules of a remote too.")] = False,
    revision: Annotated[str | None, typer.Option("--revision", metavar="COMMIT", help="Index this commit of a remote too.")] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the index; a worker is started when none runs.")] = True,
    watch: Annotated[bool, typer.Option("--watch", help="Then follow the directory and index every change, until Ctrl-C.")] = False,
) -> None:
    """Create or update a repository and index it."""
    from app.cli.indexing import Wanted, finished, start_job
    from app.cli.printing import print_index_report
    from app.cli.watching import follow

    wanted = Wanted(place, include or (), exclude or (), refs or (), credential, submodules, no_ignore)
    wanted.source()
    chosen = wanted.name(name)
    if watch and wanted.is_remote:
        raise InvalidRequest("--watch follows a directory; a remote is polled by the worker", field="watch")

    async def run(service: LocalService) -> None:
        job = await start_job(service, chosen, wanted, revision)
        if wait or watch:
            job = await finished(service, job, own_worker=True)
            print_index_report(await service.repositories.get(chosen), job)
        else:
            typer.echo(f"job {job.id} is {job.state}; a worker (fourfold serve, fourfold worker) runs it")
        if watch:
            await follow(service, chosen, wanted.source())

    with_service(run)


@cli.command()
def search(
    question: Question,
    repositories: Annotated[list[str] | None, typer.Option("--repo", metavar="NAME", help="Search only here; may be repeated.")] = None,
    scope: Annotated[str | None, typer.Option("--scope", metavar="NAME", help="Keep to a saved scope.")] = None,
    preset: Annotated[Preset, typer.Option(help="How much work the search may do.")] = Preset.BALANCED,
    modalities: Annotated[list[Modality] | None, typer.Option("--modality", help="Use exactly these retrievers; may be repeated.")] = None,
    languages: Annotated[list[str] | None, typer.Option("--lang", metavar="LANGUAGE", help="Only this language; may be repeated.")] = None,
    paths: Annotated[list[str] | None, typer.Option("--path", metavar="GLOB", help="Only these paths; !GLOB excludes.")] = None,
    literal: Annotated[bool, typer.Option("--literal", help="The whole question is one literal.")] = False,
    regex: Annotated[bool, typer.Option("--regex", help="The whole question is one RE2 pattern.")] = False,
    dedupe: Annotated[Dedupe, typer.Option(help="One result per file, per distinct content, or every chunk.")] = Dedupe.FILE,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Results at most.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show every rank, weight, boost and demotion.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a question about code. Needs no running service."""
    from app.cli.printing import out, print_answer, safe
    from app.http import render

    request = SearchRequest(
        query=question,
        repositories=tuple(repositories or ()),
        scope=scope,
        preset=preset,
        modalities=tuple(dict.fromkeys(modalities or ())),
        literal=literal,
        filters=Filters(languages=tuple(languages or ()), paths=tuple(paths or ()), regex=regex),
        dedupe=dedupe,
        limit=limit,
        explain=explain,
    )
    # The model is loaded for this one question, which may take longer than a retriever of a running service may.
    answer = with_service(lambda service: service.search.search(replace(request, timeout_ms=service.settings.search.max_deadline_ms)))
    if as_json:
        typer.echo(render.answer(answer).model_dump_json(by_alias=True, indent=2))
        return
    print_answer(answer)
    for number, result in enumerate(answer.results, 1):
        if result.explanation is not None:
            out.print(safe(f"{number}. {json.dumps(result.explanation, indent=2, default=str)}"), markup=False)


@cli.command()
def classify(question: Question, preset: Annotated[Preset, typer.Option()] = Preset.BALANCED, as_json: AsJson = False) -> None:
    """Show how a question is read and which way a search would go."""
    from app.cli.printing import print_classification
    from app.http import render

    async def run(service: LocalService) -> Any:
        return service.search.classify(SearchRequest(question, preset=preset))

    routing = with_service(run)
    if as_json:
        typer.echo(render.classification(routing).model_dump_json(indent=2))
    else:
        print_classification(routing)


@cli.command()
def repositories(as_json: AsJson = False) -> None:
    """List the repositories and the state of their index."""
    from app.cli.printing import print_repositories
    from app.http import render
    from app.http.schemas.repository import RepositoryList

    stored = with_service(lambda service: service.repositories.list())
    if as_json:
        typer.echo(RepositoryList(repositories=[render.repository(entry) for entry in stored]).model_dump_json(indent=2))
    else:
        print_repositories(stored)


cli.add_typer(symbol_commands)  # symbols, references, callers, callees, impact
cli.add_typer(key_commands, name="keys")
cli.command()(audit)


@cli.command()
def openapi(
    check: Annotated[Path | None, typer.Option("--check", metavar="FILE", help="Compare with this file instead of printing.")] = None,
) -> None:
    """Print the OpenAPI document, or check that a file still says the same."""
    from app.http.app import openapi_document

    document = openapi_document()
    if check is None:
        typer.echo(document, nl=False)
    elif not check.is_file() or check.read_text("utf-8") != document:
        typer.echo(f"{check} is out of date; run: fourfold openapi > {check}", err=True)
        raise typer.Exit(1)


@cli.command()
def doctor(as_json: AsJson = False) -> None:
    """Check everything the service stands on; exit status 1 when something is wrong."""
    from app import bootstrap
    from app.cli.doctor import examine
    from app.cli.printing import safe
    from app.indexing.grammars import load_grammars

    findings = asyncio.run(examine(bootstrap.service, bootstrap.state_dir, load_grammars))
    if as_json:
        typer.echo(json.dumps([{"name": item.name, "ok": item.ok, "detail": item.detail} for item in findings], indent=2))
    else:
        for item in findings:
            typer.echo(f"{'ok  ' if item.ok else 'FAIL'} {item.name:12} {safe(item.detail)}")
    if not all(item.ok for item in findings):
        raise typer.Exit(1)
