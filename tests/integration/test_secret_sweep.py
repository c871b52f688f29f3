"""The whole program with a secret of every kind, used well and badly. Then every place where one could have been left is looked through."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import httpx2
import psutil
import pytest
import trustme

from app.cli import main
from app.domain.errors import ConfigurationError
from app.http.serve import bind
from app.storage.dsn import parse_dsn
from app.storage.engine import connection
from tests.integration.conftest import SHOP
from tests.integration.git_remotes import HttpRemotes, Remote, http_remotes
from tests.integration.process_table import shown
from tests.providers import KEY as PROVIDER_KEY
from tests.providers import ProviderServer, Reply, always, provider

# With characters that every encoding writes in another way.
FORGE_TOKEN = "forge/t0ken+of%21the&day"
WRONG_TOKEN = "forge/t0ken+of%21last&year"
DATABASE_PASSWORD = "data:base/pass+word%21"
WRONG_PASSWORD = "data:base/wrong+word%21"
HOOK_SECRET = "hook/secret+of%21github"
TOKEN_HOOK_SECRET = "hook/token+of%21gitlab"
URL_PASSWORD = "password+in%21the-url"
ROLE = "sweeper"


def spellings(secret: str) -> set[str]:
    """The secret as it is, and as addresses, headers, JSON, logs and columns of bytes would write it."""
    whole = {secret, *(f"{user}:{secret}" for user in ("git", ROLE)), f"Bearer {secret}"}
    encoded = {base64.b64encode(text.encode()).decode().rstrip("=") for text in whole}
    return {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1], secret.encode().hex()} | encoded


Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """What a command prints, on both streams. In this process, which has imported everything already."""

    def fourfold(*arguments: str, **environment: str) -> str:
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            patch.setattr(sys, "argv", ["fourfold", *arguments])
            for name, value in environment.items():
                patch.setenv(name, value)
            capsys.readouterr()
            try:
                main()
            except SystemExit:
                pass
            except ConfigurationError:  # with --debug, where the interpreter prints it
                traceback.print_exc()
        printed = capsys.readouterr()
        return printed.out + printed.err

    handlers = logging.getLogger().handlers[:]
    yield fourfold
    logging.getLogger().handlers[:] = handlers


class Service:
    """``fourfold serve`` as a process of its own, what it answered, and what else was seen of it."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        with bind("127.0.0.1", 0) as free:
            port = free.getsockname()[1]
        self.environment = environment
        self.log = folder / "serve.log"
        self.seen: list[str] = []
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, event_hooks={"response": [self._note]})
        command = [sys.executable, "-P", "-m", "app", "serve", "--port", str(port)]
        with self.log.open("w") as out:
            self.process = subprocess.Popen(command, env=os.environ | environment, stdout=out, stderr=subprocess.STDOUT, cwd=folder)

    def _note(self, response: httpx2.Response) -> None:
        response.read()
        self.seen.append(f"{response.url.path} {response.status_code} {dict(response.headers)} {response.text}")

    def call(self, method: str, path: str, status: int, body: Any = None, **headers: str) -> Any:
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        answer = self.client.request(method, path, content=content, headers={"Content-Type": "application/json", **headers})
        assert answer.status_code == status, (path, answer.text)
        return answer.json() if answer.headers["Content-Type"].endswith("json") else answer.text

    def family(self) -> Sequence[psutil.Process]:
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    def until(self, holds: Callable[[], Any]) -> Any:
        give_up = time.monotonic() + 90
        while not (found := holds()):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < give_up, self.log.read_text()
            time.sleep(0.1)
        return found

    def follow(self, **headers: str) -> Any:
        """A run of ``shop`` to its end, or to where it waits to be tried again."""
        job = self.call("POST", "/v1/repositories/shop/index", 202, **headers)["id"]

        def ended() -> Any:
            now = self.call("GET", f"/v1/jobs/{job}", 200, **headers)
            return now if now["error"] or now["finished_at"] else None

        return self.until(ended)


@contextmanager
def serving(folder: Path, environment: Mapping[str, str]) -> Iterator[Service]:
    service = Service(folder, environment)
    try:
        service.until(lambda: "url=http" in service.log.read_text())
        yield service
    finally:
        service.client.close()
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(30)


@contextmanager
def with_password(database_url: str) -> Iterator[str]:
    """The database as an owner with a password reaches it."""

    async def run(statement: str) -> None:
        async with connection(database_url) as own:
            await own.execute(statement)

    asyncio.run(run(f"CREATE ROLE {ROLE} SUPERUSER LOGIN PASSWORD '{DATABASE_PASSWORD}'"))
    try:
        yield replace(parse_dsn(database_url), user=ROLE, password=DATABASE_PASSWORD).url
    finally:
        asyncio.run(run(f"DROP ROLE {ROLE}"))


def rows_of(database_url: str) -> str:
    """All rows of all tables and what the server knows of its sessions, as a dump would hold them."""

    async def read() -> str:
        async with connection(database_url) as own:
            tables = await own.fetch(
                "SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                "WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
            )
            names = [row["name"] for row in tables] + ["pg_stat_activity", "pg_db_role_setting"]
            return "\n".join([row["text"] for name in names for row in await own.fetch(f"SELECT x::text AS text FROM {name} x")])

    return asyncio.run(read())


def files_below(folder: Path) -> str:
    found = [path for path in folder.rglob("*") if path.is_file()]
    assert found
    return "\n".join(f"{path} {path.read_bytes().decode('latin-1')}" for path in found)


def use_badly(service: Service, https: HttpRemotes, server: ProviderServer, **key: str) -> None:
    """Every way in which a secret is refused, and in which someone else's error message could repeat it."""
    service.call("GET", "/v1/repositories", 401)
    service.call("GET", "/v1/repositories", 401, Authorization=f"Bearer ff_{'0' * 16}_{WRONG_TOKEN.encode().hex()}")
    service.call("GET", "/v1/repositories", 401, Authorization="Basic " + base64.b64encode(f"git:{WRONG_TOKEN}".encode()).decode())
    for url in (f"https://git:{quote(URL_PASSWORD, safe='')}@localhost/shop.git", f"https://{quote(URL_PASSWORD, safe='')}@localhost/x"):
        service.call("PUT", "/v1/repositories/bad", 422, {"source": {"url": url}}, **key)
    service.call("PUT", "/v1/repositories/bad", 422, {"source": {"url": "https://127.0.0.1/x.git", "credential": "forge"}}, **key)
    body = json.dumps({"repository": {"clone_url": f"{https.url}/remote.git"}}).encode()
    service.call("POST", "/v1/webhooks/github", 401, body, **{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + "0" * 64})
    service.call("POST", "/v1/webhooks/gitlab", 401, body, **{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": WRONG_TOKEN})

    refusal = Reply(401, json.dumps({"error": {"message": f"Incorrect API key provided: {PROVIDER_KEY}"}}).encode())
    server.faults = [always(refusal)]
    degraded = service.call("GET", "/v1/search?q=how+does+a+refund+work&modalities=semantic,text", 200, **key)["routing"]["degraded"]
    assert [entry["modality"] for entry in degraded] == ["semantic"]
    server.faults = []

    https.secret = "another-since"
    assert "the credential was refused" in service.follow(**key)["error"]
    https.secret = FORGE_TOKEN
    https.redirect_to = f"https://git:{quote(URL_PASSWORD, safe='')}@127.0.0.1"
    assert service.follow(**key)["error"]
    https.redirect_to = None


def test_no_secret_is_left_anywhere(database_url: str, tmp_path: Path, run: Run) -> None:
    remote, authority = Remote(tmp_path / "served"), trustme.CA()
    remote.commit(SHOP)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with (
        http_remotes(remote.bare.parent, authority) as https,
        provider() as server,
        with_password(database_url) as url,
        serving(
            tmp_path,
            {
                "DATABASE_URL": url,
                "FOURFOLD_STATE_DIR": str(tmp_path / "state"),
                "FOURFOLD_LOG_LEVEL": "debug",
                "FOURFOLD_GIT__ALLOWED_HOSTS": "localhost,127.0.0.1",
                "FOURFOLD_GIT__CA_FILE": str(tmp_path / "ca.pem"),
                "FOURFOLD_CREDENTIALS__FORGE__HOST": "localhost",
                "FOURFOLD_CREDENTIALS__FORGE__TOKEN": FORGE_TOKEN,
                "FOURFOLD_WEBHOOK__GITHUB_SECRET": HOOK_SECRET,
                "FOURFOLD_WEBHOOK__GITLAB_SECRET": TOKEN_HOOK_SECRET,
                "FOURFOLD_EMBEDDER": "openai",
                "FOURFOLD_EMBEDDING__OPENAI__API_KEY": PROVIDER_KEY,
                "FOURFOLD_EMBEDDING__OPENAI__MODEL": "test",
                "FOURFOLD_EMBEDDING__OPENAI__URL": server.url,
            },
        ) as service,
    ):
        https.secret = FORGE_TOKEN
        made = run("keys", "create", "me", "--scope", "admin", **service.environment)  # the one place that shows the key
        token = next(word for word in made.split() if word.startswith("ff_"))
        key = {"Authorization": f"Bearer {token}"}
        source = {"source": {"url": f"{https.url}/remote.git".replace("127.0.0.1", "localhost"), "credential": "forge"}}
        service.call("PUT", "/v1/repositories/shop", 201, source, **key)

        https.hangs = threading.Event()
        job = service.call("POST", "/v1/repositories/shop/index", 202, **key)["id"]
        service.until(lambda: https.seen)
        processes = shown(service.family())
        commands = "\n".join(process.command for process in processes)
        gits = [process.environment for process in processes if process.name.startswith("git")]
        hanging, https.hangs = https.hangs, None
        hanging.set()
        service.until(lambda: service.call("GET", f"/v1/jobs/{job}", 200, **key)["state"] == "succeeded")
        service.until(lambda: service.call("GET", "/v1/repositories/shop", 200, **key)["coverage"]["embeddings_pending"] == 0)
        assert {headers.get("Authorization") for headers in server.headers} == {f"Bearer {PROVIDER_KEY}"}

        body = json.dumps({"repository": {"clone_url": source["source"]["url"]}}).encode()
        signature = "sha256=" + hmac.new(HOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()
        service.call("POST", "/v1/webhooks/github", 202, body, **{"X-GitHub-Event": "push", "X-Hub-Signature-256": signature})
        service.call("POST", "/v1/webhooks/gitlab", 202, body, **{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": TOKEN_HOOK_SECRET})
        use_badly(service, https, server, **key)
        for path in (
            "/metrics",
            "/readyz",
            "/v1/audit",
            "/v1/jobs",
            "/v1/keys",
            "/v1/repositories",
            "/openapi.json",
            "/v1/search?q=add_tax",
        ):
            service.call("GET", path, 200, **key)

        wrong = replace(parse_dsn(url), password=WRONG_PASSWORD).url
        in_url = source["source"]["url"].replace("https://", f"https://git:{quote(URL_PASSWORD, safe='')}@")
        changes: Sequence[tuple[Sequence[str], Mapping[str, str]]] = [
            (["doctor"], {}),
            (["doctor"], {"DATABASE_URL": wrong}),
            (["doctor"], {"FOURFOLD_CREDENTIALS__OTHER__TOKEN": FORGE_TOKEN}),  # its host is missing
            (["--debug", "repositories"], {"DATABASE_URL": wrong}),
            (["keys", "list"], {}),
            (["audit"], {}),
            (["index", in_url], {}),
        ]
        printed = [run(*arguments, **{**service.environment, **changed}) for arguments, changed in changes]
        rows = rows_of(database_url)

    places = {
        "the database": rows,
        "the log": service.log.read_text(),
        "answers": "\n".join(service.seen),
        "the command line": "\n".join(printed),
        "the state directory": files_below(tmp_path / "state"),
        "arguments of processes": commands,
    }
    assert all(places.values())
    secrets = [FORGE_TOKEN, WRONG_TOKEN, DATABASE_PASSWORD, WRONG_PASSWORD, HOOK_SECRET, TOKEN_HOOK_SECRET, URL_PASSWORD, PROVIDER_KEY]
    secrets += [token, token.rpartition("_")[2]]
    found = [(secret, place) for place, text in places.items() for secret in secrets if any(each in text for each in spellings(secret))]
    assert not found
    assert gits
    theirs = "\n".join(f"{name}={value}" for environment in gits for name, value in environment.items())
    assert any(each in theirs for each in spellings(FORGE_TOKEN)), "what git needs comes by its environment"
    assert not [secret for secret in secrets if secret != FORGE_TOKEN and any(each in theirs for each in spellings(secret))]
