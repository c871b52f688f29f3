"""What operators see of a request: metrics and log lines, and what they must not see."""

from __future__ import annotations

import io
import json
import logging as stdlib_logging
import subprocess
import sys
from contextlib import redirect_stderr
from typing import Any, Literal

import pytest
import structlog
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from app.observability import logging, metrics

from .twins import MemoryService

FORBIDDEN_LABELS = {"repository", "path", "query", "key", "name", "url"}


def numbers(client: TestClient) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def risen(before: dict[Any, float], after: dict[Any, float], name: str, **labels: str) -> float:
    key = (name, frozenset(labels.items()))
    return after.get(key, 0.0) - before.get(key, 0.0)


def test_requests_and_searches_are_counted(client: TestClient) -> None:
    before = numbers(client)
    client.get("/v1/search?q=x&repositories=api")
    client.get("/v1/search?q=nothing&repositories=api")
    client.get("/v1/search?q=")
    client.get("/v1/repositories/api")
    client.get("/some/secret/place")
    client.request("BREW", "/livez")
    after = numbers(client)
    total = "fourfold_http_requests_total"
    assert risen(before, after, total, route="/v1/search", method="GET", status="200") == 2
    assert risen(before, after, total, route="/v1/search", method="GET", status="422") == 1
    assert risen(before, after, total, route="/v1/repositories/{name}", method="GET", status="200") == 1
    assert risen(before, after, total, route="unmatched", method="GET", status="404") == 1
    assert risen(before, after, total, route="/livez", method="OTHER", status="405") == 1
    labels = {"preset": "balanced", "intent": "find_references", "strategy": "direct"}
    assert risen(before, after, "fourfold_search_seconds_count", **labels) == 2
    assert risen(before, after, "fourfold_searches_empty_total", intent="find_references") == 1
    assert risen(before, after, "fourfold_searches_admitted_total", outcome="admitted") == 2
    assert after["fourfold_searches_active", frozenset()] == 0
    assert risen(before, after, "fourfold_retriever_seconds_count", modality="semantic", outcome="error") == 2
    assert risen(before, after, "fourfold_retriever_seconds_count", modality="graph", outcome="ok") == 2


def test_the_table_is_all_there_is(client: TestClient) -> None:
    client.get("/v1/search?q=x&repositories=api")
    client.get("/v1/search?q=nothing&repositories=api")
    metrics.observe_admission(admitted=False)
    metrics.observe_graph("impact", 1.0, ["depth"])
    metrics.observe_stage("analyse", 1.0)
    metrics.count_files(None, "indexed")
    metrics.count_parse_failures("parse_timeout")
    metrics.count_embeddings("computed")
    metrics.count_job("succeeded")
    metrics.count_removed("job", 1)
    metrics.count_sweep("done")
    metrics.count_ranking_reads("names", in_memory=True)
    metrics.count_source("moved")
    metrics.count_refused_call("lookups")
    metrics.count_ended_connection("idle")
    metrics.count_early_request()
    metrics.count_store_failure("lost")
    client.get("/v1/repositories", headers={"Authorization": "Bearer wrong"})
    families = {family.name: family for family in text_string_to_metric_families(client.get("/metrics").text)}
    table = {definition.name.removesuffix("_total"): definition for definition in metrics.METRICS}
    assert families.keys() == table.keys()
    for name, definition in table.items():
        assert not FORBIDDEN_LABELS & set(definition.labels)
        assert (families[name].type, families[name].documentation) == (definition.type, definition.help)
        seen = {label for sample in families[name].samples for label in sample.labels} - {"le"}
        assert seen == set(definition.labels)


def test_the_numbers_of_two_processes_are_one(tmp_path: Any) -> None:
    program = """
from app.observability.multiprocess import shared_metrics
with shared_metrics():
    import subprocess, sys
    child = "from app.observability import metrics; metrics.count_job('failed'); metrics.observe_stage('analyse', 2.0)"
    subprocess.run([sys.executable, "-c", child], check=True)
    from app.observability import metrics
    metrics.count_job("failed")
    print(metrics.render()[0].decode())
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"TMPDIR": str(tmp_path)})
    assert 'fourfold_jobs_total{state="failed"} 2.0' in ran.stdout
    assert 'fourfold_index_stage_seconds_sum{stage="analyse"} 2.0' in ran.stdout
    assert "# HELP fourfold_jobs_total Index jobs that reached a state." in ran.stdout
    assert not list(tmp_path.iterdir())


def logged(log_format: Literal["json", "console"], level: Literal["debug", "info", "warning", "error"] = "info") -> io.StringIO:
    stream = io.StringIO()
    with redirect_stderr(stream):
        logging.configure(level, log_format)
    return stream


def test_one_line_per_request_without_the_query(client: TestClient) -> None:
    stream = logged("json")
    client.get("/v1/search?q=sesame&repositories=api", headers={"x-request-id": "r-1"})
    client.post("/v1/classify", json={"query": "sesame"})
    client.get("/v1/search?q=" + "sesame" * 2_000)
    client.get("/livez")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    ours = [line for line in lines if line["logger"] == "app.http"]
    assert [(line["event"], line["route"], line["status"]) for line in ours] == [
        ("request", "/v1/search", 200),
        ("request", "/v1/classify", 200),
        ("request", "/v1/search", 422),
    ]
    assert (ours[0]["request_id"], ours[0]["query_length"], ours[0]["intent"], ours[0]["results"]) == ("r-1", 6, "find_references", 1)
    assert ours[0]["ms"] >= 0
    assert not [line for line in ours if "sesame" in json.dumps(line)]


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_nobody_forges_a_line_or_steers_the_terminal(log_format: Literal["json", "console"]) -> None:
    stream = logged(log_format)
    structlog.get_logger("app").info("seen", path="a\nb\x1b[31m\u202e")
    stdlib_logging.getLogger("uvicorn.error").warning("odd %s", "x\r\ny")
    text = stream.getvalue()
    assert len(text.splitlines()) == 2
    assert "\x1b[31m" not in text
    assert "\r" not in text
    assert "\u202e" not in text


def test_the_message_of_a_fault_forges_no_line() -> None:
    stream = logged("console")
    try:
        raise ValueError("odd path a\n2026-01-01 00:00:00 [info     ] forged\r\x1b[31m\u202e\u2028forged")
    except ValueError:
        structlog.get_logger("app").exception("fault")
        stdlib_logging.getLogger("uvicorn.error").exception("fault")
    lines = stream.getvalue().splitlines()
    assert "Traceback" in stream.getvalue()
    assert [line for line in lines if "forged" in line and not line.startswith("  | ")] == []
    assert not any(sign in stream.getvalue() for sign in "\r\x1b\u202e\u2028")


def test_levels(app: FastAPI, service: MemoryService) -> None:
    stream = logged("console", "error")
    with TestClient(app, raise_server_exceptions=False) as client:
        client.get("/v1/repositories/api")
        assert stream.getvalue() == ""
        service.search.failure = ZeroDivisionError("the reason")
        client.get("/v1/search?q=x&repositories=api")
    assert "the reason" in stream.getvalue()
    assert "Traceback" in stream.getvalue()
