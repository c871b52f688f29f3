"""The commands about keys and the audit log: what the operator does on the store itself, without a key."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.opened import with_service
from app.domain.access import ApiKey, AuditEntry, KeyScope
from app.domain.errors import InvalidRequest

if TYPE_CHECKING:
    from app.cli.service import LocalService
    from app.http.schemas.key import KeyBody
    from app.http.service import Service

key_commands = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, in the shape of the HTTP interface.")]


@key_commands.command()
def create(
    name: Annotated[str, typer.Argument(help="For people: who or what uses the key.")],
    scope: Annotated[
        KeyScope, typer.Option(help="search reads; index also writes repositories; admin also manages keys.")
    ] = KeyScope.SEARCH,
    repositories: Annotated[
        list[str] | None, typer.Option("--repo", metavar="GLOB", help="The only repositories that the key knows; may be repeated.")
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, max=36_500, help="Days until it expires; never when absent.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print its token, which nobody can read again."""
    from app.http import render_access

    body = _checked(name, scope, repositories or (), None if days is None else datetime.now(UTC) + timedelta(days=days))

    async def run(service: LocalService) -> tuple[ApiKey, str]:
        made = await service.keys.create(body.name, body.scope, body.repositories, body.expires_at)
        await record(service, "keys create", f"{made[0].id} {made[0].name}", 201)
        return made

    key, token = with_service(run)
    if as_json:
        typer.echo(render_access.new_key(key, token).model_dump_json(indent=2))
    else:
        typer.echo(token)
        typer.echo("This token is shown once; only its hash is kept. Send it as Authorization: Bearer.", err=True)


@key_commands.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the keys, without their secrets."""
    from app.cli.printing import print_keys
    from app.http import render_access
    from app.http.schemas.key import KeyList

    keys = with_service(lambda service: service.keys.list())
    if as_json:
        typer.echo(KeyList(keys=[render_access.key(key) for key in keys]).model_dump_json(indent=2))
    else:
        print_keys([(key, render_access.state(key)) for key in keys])


@key_commands.command()
def revoke(key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `fourfold keys list` shows it.")]) -> None:
    """Have a key count no longer, from now on."""

    async def run(service: LocalService) -> ApiKey:
        key = await service.keys.revoke(key_id)
        await record(service, "keys revoke", f"{key.id} {key.name}", 200)
        return key

    typer.echo(f"key {with_service(run).id} is revoked")


def audit(
    key_id: Annotated[str | None, typer.Option("--key", metavar="ID", help="Only what this key did.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Entries at most, the newest first.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the log of index and admin calls."""
    from app.cli.printing import print_audit
    from app.http import render_access

    async def run(service: LocalService) -> Sequence[AuditEntry]:
        return await service.audit.list(None, key_id, None, limit)

    entries = with_service(run)
    if as_json:
        typer.echo(render_access.audit(entries, limit).model_dump_json(indent=2))
    else:
        print_audit(entries)


async def record(service: Service, action: str, target: str, status: int) -> None:
    """Write a command down as the call is that would do the same."""
    await service.audit.record(AuditEntry(f"operator {_user()}", action, target, status))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user needs no name
        return "without a name"


def _checked(name: str, scope: KeyScope, repositories: Sequence[str], expires_at: datetime | None) -> KeyBody:
    """The key as the HTTP interface would take it; raises InvalidRequest and Conflict."""
    from pydantic import ValidationError

    from app.http.schemas.key import KeyBody, check_expiry

    try:
        body = KeyBody(name=name, scope=scope, repositories=tuple(repositories), expires_at=expires_at)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "repositories"
        raise InvalidRequest(f"{field}: {first['msg'].removeprefix('Value error, ')}", field=field) from None
    check_expiry(body)
    return body
