"""The commands and calls of docs/security.md, on a service that other machines could reach."""

from __future__ import annotations

import shlex
from contextlib import suppress
from subprocess import PIPE, STDOUT, CompletedProcess, Popen, run
from sys import executable

import httpx2

from tests.contract.markdown import ROOT, blocks
from tests.contract.test_examples import address, calls

DOCUMENT = ROOT / "docs" / "security.md"


def environment(url: str) -> dict[str, str]:
    return {"DATABASE_URL": url, "FOURFOLD_EMBEDDER": "none", "PATH": "/usr/bin:/bin", "FOURFOLD_LOG_FORMAT": "json"}


def fourfold(url: str, *arguments: str) -> CompletedProcess[str]:
    return run([executable, "-P", "-m", "app", *arguments], env=environment(url), cwd=ROOT, capture_output=True, text=True, check=False)


def test_from_no_key_to_an_answer(database_url: str) -> None:
    refused = fourfold(database_url, "serve", "--host", "0.0.0.0", "--port", "0", "--no-worker")
    assert refused.returncode == 1
    assert "there is no key to call with: make one with `fourfold keys create NAME --scope admin`" in refused.stderr

    lines = [shlex.split(line) for line in "".join(blocks(DOCUMENT, "sh")).splitlines()]
    tokens: list[str] = []
    for words in lines:
        assert words[:2] == ["fourfold", "keys"]
        if words[2] == "revoke":
            words[3] = tokens[-1].split("_")[1]
        done = fourfold(database_url, *words[1:])
        assert done.returncode == 0, done.stderr
        if words[2] == "create":
            tokens.append(done.stdout.strip())
        assert not any(token.split("_")[2] in done.stdout + done.stderr for token in tokens[: -1 if words[2] == "create" else None])
    assert "revoked" in fourfold(database_url, "keys", "list").stdout

    command = [executable, "-P", "-m", "app", "serve", "--host", "0.0.0.0", "--port", "0", "--no-worker"]
    service = Popen(command, env=environment(database_url), cwd=ROOT, stdout=PIPE, stderr=STDOUT, text=True)
    try:
        with httpx2.Client(base_url=address(service).replace("0.0.0.0", "127.0.0.1"), timeout=30) as client:
            assert client.get("/v1/repositories").status_code == 401
            examples = calls(DOCUMENT)
            assert len(examples) >= 4
            for call in examples:
                headers = {name: value.replace("$KEY", tokens[0]) for name, value in call.headers.items()}
                assert headers["Authorization"] == f"Bearer {tokens[0]}"
                answer = client.request(call.method, call.url, headers=headers, content=call.body)
                assert answer.status_code in (200, 201), (call, answer.text)
                assert answer.headers["ratelimit-policy"] == '"key";q=600;w=60'
            shown = client.get("/v1/audit", headers=headers).json()["entries"]
            assert {"createKey", "listKeys", "listAudit", "keys create", "keys revoke"} <= {entry["action"] for entry in shown}
            assert not any(token in client.get("/v1/audit", headers=headers).text for token in tokens)
            revoked = client.get("/v1/repositories", headers={"Authorization": f"Bearer {tokens[-1]}"})
            assert revoked.json()["detail"] == "the key was revoked"
    finally:
        service.terminate()
        with suppress(ValueError):
            log = service.communicate(timeout=20)[0]
    assert not any(token.split("_")[2] in log for token in tokens)
