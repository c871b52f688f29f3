"""Hooks of schemathesis: what a schema cannot say of a valid request, so that every one that is generated as valid is.

A cursor is valid when the service gave it, an id when the index has it, a pattern when RE2 reads it. Requests that are generated as
invalid are sent as they are.
"""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from typing import Any, Final

import schemathesis

REPOSITORY: Final = "shop"
DIFF: Final = (
    "--- a/shop/money.py\n+++ b/shop/money.py\n@@ -1 +1 @@\n"
    "-def add_tax(amount: int) -> int:\n+def add_tax(amount: int, rate: int) -> int:\n"
)


@schemathesis.serializer("application/gzip")
def tar_gz(_context: Any, _value: Any) -> bytes:
    """An archive; the bytes that a schema makes are none."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a.py"))
    return written.getvalue()


@schemathesis.serializer("application/zip")
def zipped(_context: Any, _value: Any) -> bytes:
    """The same as a zip."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("a.py", "")
    return written.getvalue()


@schemathesis.hook
def before_call(_context: Any, case: Any, _arguments: Any) -> None:
    if case.method == "DELETE" and (case.path_parameters or {}).get("name") == REPOSITORY:
        case.path_parameters["name"] = "unwanted"  # the other calls need it
    if case.meta is None or case.meta.generation.mode is not schemathesis.GenerationMode.POSITIVE:
        return
    if case.method == "GET" and case.path == "/v1/search":
        case.query = case.query or {}
        _complete(case.query, "q")
    elif case.query and not case.path.endswith("/archive"):
        _complete(case.query, "q" if case.path == "/v1/why-not" else None)
    if case.query:
        _pair(case.query)
    if "name" in (case.path_parameters or {}) and case.path.startswith("/v1/repositories") and case.method != "DELETE":
        case.path_parameters["name"] = REPOSITORY
    if isinstance(case.body, dict):
        _complete_body(case)


def _complete_body(case: Any) -> None:
    body = case.body
    if case.path == "/v1/search/batch":
        for search in body.get("searches", []):
            _complete(search, "query")
    elif case.path == "/v1/impact":
        for name in ("base", "head"):
            body.pop(name, None)
        body |= {"diff": DIFF, "repository": REPOSITORY}
    elif case.path == "/v1/repositories/{name}":
        body["source"] = {"path": os.environ["SOURCE_PATH"]}
    elif case.path == "/v1/repositories/{name}/index":
        body.pop("revision", None)
    elif "/search" in case.path or case.path == "/v1/classify":
        _complete(body, "query")


def _complete(fields: dict[str, Any], question: str | None) -> None:
    for name in ("cursor", "like", "unlike", "timeout_ms", "revision", "min_revision", "scope", "lines"):
        fields.pop(name, None)
    if "repositories" in fields:
        fields["repositories"] = [REPOSITORY]
    if "repository" in fields:
        fields["repository"] = REPOSITORY
    filters = fields.get("filters", fields)
    filters.pop("revision", None)
    if question is not None:
        if not str(fields.get(question, "")).strip() or filters.get("regex") or "modalities" in fields:
            fields[question] = "add_tax"
        for name in ("modalities", "preset"):  # the service that is tested has no embedder
            fields.pop(name, None)


def _pair(query: dict[str, Any]) -> None:
    """A path that the index has, where a call asks for one file."""
    if "path" in query and "repository" in query:
        query["path"] = "shop/money.py"
    if "line" in query and "column" in query:
        query |= {"line": 1, "column": 4}
