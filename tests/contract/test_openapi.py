"""The committed OpenAPI document says what the program does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import FourfoldError
from app.http.access import NEEDS, Needs
from app.http.app import openapi_document
from app.http.problems import HTTP_CODES
from app.http.schemas.batch import BatchAnswer
from app.http.schemas.definition import DefinitionAnswerShape
from app.http.schemas.impact import ImpactBody, ImpactShape
from app.http.schemas.repository import RepositoryBody
from app.http.schemas.scope import ScopeList, ScopeShape
from app.http.schemas.search_answer import AnswerShape, ClassifyAnswer
from app.http.schemas.search_request import SEARCH_EXAMPLES, SearchBody
from app.http.schemas.source_file import FileShape, WhyNotShape
from app.http.schemas.symbol import CalleesShape, CallersShape, ReferencesShape, SymbolAnswerShape, SymbolListShape

COMMITTED = Path(__file__).parents[2] / "openapi" / "openapi.json"
CALLS = {
    ("get", "/v1/search"): "search",
    ("post", "/v1/search"): "searchWithBody",
    ("post", "/v1/search/stream"): "searchStream",
    ("post", "/v1/search/batch"): "searchBatch",
    ("get", "/v1/why-not"): "explainAbsence",
    ("get", "/v1/files"): "readFile",
    ("get", "/v1/scopes"): "listScopes",
    ("get", "/v1/scopes/{name}"): "getScope",
    ("put", "/v1/scopes/{name}"): "putScope",
    ("delete", "/v1/scopes/{name}"): "deleteScope",
    ("post", "/v1/classify"): "classify",
    ("get", "/v1/symbols"): "findSymbols",
    ("get", "/v1/symbols/{id}"): "getSymbol",
    ("get", "/v1/symbols/{id}/references"): "listReferences",
    ("get", "/v1/symbols/{id}/callers"): "listCallers",
    ("get", "/v1/symbols/{id}/callees"): "listCallees",
    ("get", "/v1/symbols/{id}/impact"): "getImpact",
    ("get", "/v1/definition"): "goToDefinition",
    ("post", "/v1/impact"): "analyzeImpact",
    ("get", "/v1/repositories"): "listRepositories",
    ("get", "/v1/repositories/{name}"): "getRepository",
    ("put", "/v1/repositories/{name}"): "putRepository",
    ("delete", "/v1/repositories/{name}"): "deleteRepository",
    ("post", "/v1/repositories/{name}/index"): "indexRepository",
    ("get", "/v1/repositories/{name}/coverage"): "getCoverage",
    ("put", "/v1/repositories/{name}/archive"): "putArchive",
    ("get", "/v1/jobs"): "listJobs",
    ("get", "/v1/jobs/{id}"): "getJob",
    ("get", "/v1/jobs/{id}/events"): "watchJob",
    ("post", "/v1/webhooks/{forge}"): "receiveWebhook",
    ("delete", "/v1/jobs/{id}"): "cancelJob",
    ("get", "/v1/keys"): "listKeys",
    ("post", "/v1/keys"): "createKey",
    ("get", "/v1/keys/{id}"): "getKey",
    ("delete", "/v1/keys/{id}"): "revokeKey",
    ("get", "/v1/audit"): "listAudit",
    ("get", "/livez"): "livez",
    ("get", "/readyz"): "readyz",
    ("get", "/metrics"): "metrics",
}


@cache
def document() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(openapi_document())
    return parsed


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def test_the_committed_document_is_current() -> None:
    assert COMMITTED.read_text("utf-8") == openapi_document(), "run: fourfold openapi > openapi/openapi.json"


def test_every_call_has_its_operation_id() -> None:
    assert document()["openapi"].startswith("3.1")
    assert {(method, path): operation["operationId"] for method, path, operation in operations()} == CALLS


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_every_error_is_a_problem_and_every_body_has_an_example(method: str, path: str) -> None:
    operation = document()["paths"][path][method]
    assert operation["summary"]
    assert operation["description"]
    if "requestBody" in operation:
        kinds = operation["requestBody"]["content"]
        assert path.endswith("/archive") or "example" in kinds["application/json"]
        assert {"400", "413", "415", "422"} <= operation["responses"].keys()
    if operation.get("parameters"):
        assert "422" in operation["responses"]
    assert "500" in operation["responses"]
    for status, response in operation["responses"].items():
        if int(status) >= 400:
            (kind,) = response["content"]
            assert kind == "application/problem+json"
            assert response["content"][kind]["schema"] == {"$ref": "#/components/schemas/Problem"}
            assert response["content"][kind]["example"]["status"] == int(status)
        elif path != "/metrics" and status not in ("204", "304"):
            kind = "text/event-stream" if path.endswith(("/stream", "/events")) else "application/json"
            assert "example" in response["content"][kind]
        if status in ("425", "429", "503"):
            assert "Retry-After" in response["headers"]


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_every_call_says_what_key_it_needs(method: str, path: str) -> None:
    operation = document()["paths"][path][method]
    needs = NEEDS[operation["operationId"]]
    if needs in (Needs.NOTHING, Needs.SIGNED):
        assert operation["security"] == []
        return
    assert operation["security"] == [{"apiKey": [needs.value]}]
    assert document()["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"
    for status, code in (("401", "not_authenticated"), ("403", "not_allowed"), ("429", "too_many_requests")):
        assert operation["responses"][status]["content"]["application/problem+json"]["example"]["type"].endswith(code)
    assert "WWW-Authenticate" in operation["responses"]["401"]["headers"]


def test_every_reference_leads_somewhere() -> None:
    schemas = document()["components"]["schemas"]
    text = json.dumps(document())
    wanted = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert wanted <= schemas.keys()
    assert "HTTPValidationError" not in schemas


def test_the_examples_are_valid() -> None:
    for example in SEARCH_EXAMPLES:
        SearchBody.model_validate(example)
    ImpactBody.model_validate(_example("/v1/impact", "post", "requestBody"))
    RepositoryBody.model_validate(_example("/v1/repositories/{name}", "put", "requestBody"))
    AnswerShape.model_validate(_example("/v1/search", "post", "200"))
    ClassifyAnswer.model_validate(_example("/v1/classify", "post", "200"))


ANSWERS = (
    ("/v1/search", "post", AnswerShape),
    ("/v1/search/batch", "post", BatchAnswer),
    ("/v1/why-not", "get", WhyNotShape),
    ("/v1/files", "get", FileShape),
    ("/v1/scopes", "get", ScopeList),
    ("/v1/scopes/{name}", "put", ScopeShape),
    ("/v1/classify", "post", ClassifyAnswer),
    ("/v1/symbols", "get", SymbolListShape),
    ("/v1/symbols/{id}", "get", SymbolAnswerShape),
    ("/v1/symbols/{id}/references", "get", ReferencesShape),
    ("/v1/symbols/{id}/callers", "get", CallersShape),
    ("/v1/symbols/{id}/callees", "get", CalleesShape),
    ("/v1/symbols/{id}/impact", "get", ImpactShape),
    ("/v1/definition", "get", DefinitionAnswerShape),
    ("/v1/impact", "post", ImpactShape),
)


def test_an_example_of_an_answer_has_every_field() -> None:
    for path, method, shape in ANSWERS:
        example = _example(path, method, "200")
        assert json.loads(shape.model_validate(example).model_dump_json(by_alias=True)) == example


def _example(path: str, method: str, part: str) -> Any:
    operation = document()["paths"][path][method]
    holder = operation["requestBody"] if part == "requestBody" else operation["responses"][part]
    return holder["content"]["application/json"]["example"]


def test_the_documented_problems_are_the_ones_there_are() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d{3}) \|", (COMMITTED.parents[1] / "docs" / "api.md").read_text("utf-8"), re.MULTILINE)
    assert len(rows) == len(dict(rows))
    raised = {error.code: error.status for error in _all_errors(FourfoldError)}
    refused = {code: status for status, code in HTTP_CODES.items()}
    assert {code: int(status) for code, status in rows} == raised | refused | {"not_ready": 503}


def _all_errors(base: type[FourfoldError]) -> Iterator[type[FourfoldError]]:
    yield base
    for error in base.__subclasses__():
        yield from _all_errors(error)
