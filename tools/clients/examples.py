"""Asks with a client that openapi-python-client made: each call of the JSON on standard input.

A call has ``operation`` and ``tag``, the ids of the OpenAPI document, ``path`` and ``query`` parameters and a ``body``. To be run where the
generated package ``made_client`` can be imported.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Mapping
from typing import Any


def _models(call: Any, name: str) -> list[Any]:
    """The generated types that a parameter may have."""
    models = importlib.import_module("made_client.models")
    words = re.findall(r"\w+", str(call.__annotations__[name]))
    return [found for word in words if isinstance(found := getattr(models, word, None), type)]


def _converted(call: Any, name: str, text: str) -> Any:
    """A parameter as the function takes it: its annotation names the type, of each item where it is a list."""
    annotation = str(call.__annotations__[name])
    convert = next(iter(_models(call, name)), int if re.search(r"\bint\b", annotation) else str)
    return [convert(part) for part in text.split(",")] if "list[" in annotation else convert(text)


def _ask(client: Any, asked: Mapping[str, Any]) -> None:
    module = re.sub(r"(?<!^)(?=[A-Z])", "_", asked["operation"]).lower()
    call = importlib.import_module(f"made_client.api.{asked['tag']}.{module}").sync_detailed
    given = dict(asked["path"]) | {name: _converted(call, name, text) for name, text in asked["query"].items()}
    if "body" in call.__annotations__:  # one that may be absent is None; by default this generator sends what cannot be sent
        given["body"] = _models(call, "body")[0].from_dict(asked["body"]) if asked["body"] is not None else None
    answer = call(client=client, **given)
    if answer.status_code >= 300 or answer.parsed is None or type(answer.parsed).__name__ == "Problem":
        sys.exit(f"{asked['operation']}: {answer.status_code} {answer.content[:300]!r}")


def main(url: str) -> None:
    """Exits with a message for the first call that is not answered as the document says."""
    done = 0
    with importlib.import_module("made_client").Client(base_url=url) as client:
        for asked in json.load(sys.stdin):
            _ask(client, asked)
            done += 1
    print(f"{done} calls answered")


if __name__ == "__main__":
    main(*sys.argv[1:])
