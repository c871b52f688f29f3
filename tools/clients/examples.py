"""Runs the documents' curl examples with a client that openapi-python-client made; see ``check.sh``."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

ROOT: Final = Path(__file__).parents[2]
SPEC: Final[Mapping[str, Any]] = json.loads((ROOT / "openapi" / "openapi.json").read_text("utf-8"))
CHECKOUT: Final = "/srv/checkouts/flask"
# Events, and answers in other formats than JSON, are not for this kind of client; the place in app.py depends on the checkout.
LEFT_OUT: Final = ("/v1/search/stream", "/v1/definition", "/v1/hover", "/v1/references", "/v1/repositories/{name}/archive")


def examples() -> Iterator[tuple[str, str, list[tuple[str, str]], str | None]]:
    """Method, path, query and body of every call in the documents."""
    for document in (ROOT / "README.md", ROOT / "docs" / "api.md"):
        for block in re.findall(r"```console\n(.*?)```", document.read_text("utf-8"), re.DOTALL):
            for line in block.splitlines():
                yield _example(shlex.split(line.removeprefix("$ "), comments=True)[1:])


def _example(words: list[str]) -> tuple[str, str, list[tuple[str, str]], str | None]:
    method, url, body, query = None, "", None, []
    while words:
        match words.pop(0):
            case "-X":
                method = words.pop(0)
            case "-H":
                words.pop(0)
            case "-d":
                body = words.pop(0)
            case "-G":
                method = "GET"
            case "--data-urlencode":
                name, _, value = words.pop(0).partition("=")
                query.append((name, value))
            case word:
                url = word.removeprefix("localhost:8000")
    parts = urlsplit(url)
    return method or ("POST" if body else "GET"), parts.path, parse_qsl(parts.query) + query, body


def operation(method: str, path: str) -> tuple[str, dict[str, str], Mapping[str, Any]]:
    """The path's template, its parameters and the operation. Raises LookupError."""
    for template, methods in SPEC["paths"].items():
        match = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template), path)
        if match and method.lower() in methods:
            return template, match.groupdict(), methods[method.lower()]
    raise LookupError(f"{method} {path}")


def _value(schema: str, text: str, models: Any) -> Any:
    """A parameter as the client takes it."""
    made = re.search(r"schemas/(\w+)", schema)
    convert = getattr(models, made[1]) if made else int if '"integer"' in schema else str
    return [convert(part) for part in text.split(",")] if '"array"' in schema else convert(text)


def main(url: str, checkout: str) -> None:
    models = importlib.import_module("made_client.models")
    client = importlib.import_module("made_client").Client(base_url=url)
    done = 0
    for method, path, query, body in examples():
        template, arguments, described = operation(method, path)
        if template in LEFT_OUT or "format" in dict(query) or '"format"' in (body or ""):
            continue
        given: dict[str, Any] = {**arguments}
        for name, text in query:
            schema = next(item["schema"] for item in described["parameters"] if item["name"] == name)
            given[name] = _value(json.dumps(schema), text, models)
        if "requestBody" in described:
            kind = re.search(r"schemas/(\w+)", json.dumps(described["requestBody"]["content"]["application/json"]["schema"]))
            given["body"] = getattr(models, kind[1]).from_dict(json.loads(body.replace(CHECKOUT, checkout))) if body and kind else None
        module = re.sub(r"(?<!^)(?=[A-Z])", "_", described["operationId"]).lower()
        call = importlib.import_module(f"made_client.api.{described['tags'][0]}.{module}").sync_detailed
        answer = call(client=client, **given)
        if answer.status_code >= 300 or answer.parsed is None or type(answer.parsed).__name__ == "Problem":
            sys.exit(f"{described['operationId']}: {answer.status_code} {answer.content[:300]!r}")
        done += 1
    print(f"{done} examples answered")


if __name__ == "__main__":
    main(*sys.argv[1:])
