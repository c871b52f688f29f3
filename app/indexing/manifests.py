"""What project files say of how imports are written: as imports of the project file, from what is written to where it lies.

``name`` is what an import may say, with at most one ``*``, ``module`` the path that it stands for, relative to the project file's folder
and with the same ``*``. Of several with one name the first that exists counts. Read are TypeScript's ``paths`` and ``baseUrl``, what
``package.json`` exports, and the path of a Go module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from app.domain.code import Import
from app.domain.manifests import is_compiler_options

# What is not ended goes on to the end: looking for an end from every beginning would take a large file for ever.
_STRING: Final = r'("(?:[^"\\\n]|\\.)*+"?)'
_COMMENT: Final = re.compile(_STRING + r"|//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
_TRAILING: Final = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_GO_MODULE: Final = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
_CONDITIONS: Final = ("source", "import", "module", "default", "require", "node", "browser", "types")
_BUILT: Final = re.compile(r"^(?:\./)?(?:dist|build|out|lib|esm|cjs|es)(?:/(?:esm|cjs|es|src))?/")
_MOST: Final = 1_000  # entries: more is no project file that people wrote


def manifest_imports(path: str, text: str) -> tuple[Import, ...]:
    """What a file says of imports; empty for a file that is no project file, and for one that cannot be read."""
    name = path.rpartition("/")[2]
    if name == "go.mod":
        found = _GO_MODULE.search(text)
        return (Import(".", found[1], None, text.count("\n", 0, found.start()) + 1),) if found else ()
    if name == "package.json":
        pairs = _package(_table(text))
    elif is_compiler_options(name):
        pairs = _compiler_options(_table(text).get("compilerOptions"))
    else:
        return ()
    return tuple(Import(target, written, None, 1) for written, target in dict.fromkeys(pairs))[:_MOST]


def _table(text: str) -> Mapping[str, Any]:
    """The object of a JSON file that may have comments and commas too many."""
    plain = _TRAILING.sub(lambda match: match[1] or "", _COMMENT.sub(lambda match: match[1] or "", text))
    try:
        found = json.loads(plain.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _compiler_options(options: object) -> Iterator[tuple[str, str]]:
    if not isinstance(options, dict):
        return
    base = options.get("baseUrl")
    folder = base.rstrip("/") if isinstance(base, str) else "."
    paths = options.get("paths")
    for written, targets in paths.items() if isinstance(paths, dict) else ():
        for target in targets if isinstance(targets, list) else ():
            if isinstance(target, str):
                yield written, f"{folder}/{target}"
    if isinstance(base, str):
        yield "*", f"{folder}/*"


def _package(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    name, exports, private = table.get("name"), table.get("exports"), table.get("imports")
    if isinstance(private, dict):
        for written, target in private.items():
            yield from ((written, path) for path in _targets(target))
    if not isinstance(name, str) or not name:
        return
    if isinstance(exports, dict) and any(key.startswith(".") for key in exports):
        for key, target in exports.items():
            yield from ((name + key.removeprefix("."), path) for path in _targets(target))
        return
    mains = [exports, *(table.get(key) for key in ("source", "module", "main", "types"))]
    for main in mains:
        yield from ((name, path) for path in _targets(main))
    yield from ((name, path) for path in ("./index", "./src/index"))
    if exports is None:
        yield f"{name}/*", "./*"


def _targets(target: object) -> Iterator[str]:
    """The paths of an export, and where the sources of what is built may lie."""
    if isinstance(target, str):
        yield target
        if _BUILT.match(target):
            yield _BUILT.sub("./src/", target)
    elif isinstance(target, dict):
        for condition in (*_CONDITIONS, *target):
            yield from _targets(target.get(condition))
    elif isinstance(target, list):
        for one in target:
            yield from _targets(one)
