"""``/docs``: the OpenAPI document as one page that loads nothing from elsewhere."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Final

_STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{margin-bottom:0}section{border-top:1px solid #d0d7de;padding:.5rem 0}code,pre{font:13px/1.45 ui-monospace,monospace}
pre{background:#f6f8fa;padding:.75rem;overflow-x:auto}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.2rem .75rem .2rem 0;font-size:.9rem}.method{font-weight:700;color:#0550ae}
summary{cursor:pointer}@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}
section{border-color:#30363d}.method,a{color:#79c0ff}}
"""


def reference_page(spec: dict[str, Any]) -> str:
    """HTML for people; programs read ``/openapi.json``."""
    info = spec["info"]
    operations = "".join(
        _operation(method, path, operation, spec) for path, methods in spec["paths"].items() for method, operation in methods.items()
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style><h1>{escape(info['title'])} API</h1>"
        f'<p>Version {escape(info["version"])} · <a href="/openapi.json">openapi.json</a></p>'
        f"<p>{escape(info['description'])}</p>{operations}</html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any], spec: dict[str, Any]) -> str:
    parameters = [(item["name"], item["schema"], item.get("description", "")) for item in operation.get("parameters", [])]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = _resolve(body.get("schema", {}), spec)
    fields = [(name, field, field.get("description", "")) for name, field in schema.get("properties", {}).items()]
    title = f'<span class="method">{method.upper()}</span> <code>{escape(path)}</code>'
    return (
        f'<section id="{escape(operation["operationId"])}"><h2>{title}</h2>'
        f"<p>{escape(operation.get('description', operation['summary']))}</p>"
        f"{_table(parameters, spec)}{_table(fields, spec)}{_example('Request', body)}"
        + "".join(_response(status, response) for status, response in operation["responses"].items())
        + "</section>"
    )


def _table(rows: list[tuple[str, dict[str, Any], str]], spec: dict[str, Any]) -> str:
    if not rows:
        return ""
    cells = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td><code>{escape(_type(schema, spec))}</code></td><td>{escape(text)}</td></tr>"
        for name, schema, text in rows
    )
    return f"<table>{cells}</table>"


def _type(schema: dict[str, Any], spec: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " | ".join(_type(option, spec) for option in schema["anyOf"])
    resolved = _resolve(schema, spec)
    if "enum" in resolved:
        return " | ".join(map(str, resolved["enum"]))
    if resolved.get("type") == "array":
        return f"[{_type(resolved['items'], spec)}]"
    return str(resolved.get("type", ""))


def _resolve(schema: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    resolved: dict[str, Any] = spec["components"]["schemas"][name] if name else schema
    return resolved


def _response(status: str, response: dict[str, Any]) -> str:
    content: dict[str, Any] = next(iter(response.get("content", {}).values()), {})
    return f"<details><summary>{escape(status)} {escape(response['description'])}</summary>{_example('Answer', content)}</details>"


def _example(title: str, content: dict[str, Any]) -> str:
    if "example" not in content:
        return ""
    return f"<p>{title}</p><pre>{escape(json.dumps(content['example'], indent=2, ensure_ascii=False))}</pre>"
