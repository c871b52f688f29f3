"""Extraction against universal-ctags, which reads the same files by other means: of its definitions, how many are found here.

A tag counts as found when the file has a symbol of the same name and a corresponding kind (``ctags.toml``) on the same line, or when the
line is a further clause of a symbol that spans it. What ctags misread is counted apart and left out of the share: tags in comments and
string literals of files that parse without an error, and those that a pattern of ``ctags.toml`` describes.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tree_sitter import Node

from app.config import Settings
from app.domain.code import Symbol, SymbolKind
from app.indexing.blanks import parser_view
from app.indexing.decode import decode
from app.indexing.extract import extract
from app.indexing.sniff import is_generated, is_minified
from app.languages.registry import LanguageSpec, language, language_of
from benchmarks import machine
from benchmarks.corpora import CORPORA, HERE, Missing
from benchmarks.tables import Measured

KINDS: Final[Mapping[str, Mapping[str, Any]]] = tomllib.loads((HERE / "ctags.toml").read_text("utf-8"))
MAX_BYTES: Final = 2_000_000
_OPERATOR: Final = re.compile(r"^operator(?=\W)")  # ctags writes ``operator ==`` where a symbol is called ``==``
_SCOPED: Final = re.compile(r"^.*(?:::|[.:\\])(?=[^\W\d])|[.:]+$")
EXAMPLES: Final = 6
"""Places shown for each reason."""

_TEXT: Final = ("comment", "string", "haddock", "sigil", "heredoc", "jsx_text")
IN_TEXT: Final = "in a comment or a string"
REASONS: Final = {
    "kind": "another kind",
    "line": "another line",
    "error": "the grammar fails here",
    "absent": "the name is not on the line",
    "missed": "not found",
}


@dataclass(frozen=True, slots=True)
class Tag:
    """One definition as ctags reads it; the line is 1-based."""

    name: str
    kind: str
    line: int


@dataclass(slots=True)
class Comparison:
    """The tags of one language by what became of them; ``examples`` are places by reason."""

    files: int = 0
    tags: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    misread: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def row(self, name: str) -> dict[str, Any]:
        """For the report; ``share`` leaves out what ctags misread."""
        tags, found = sum(self.tags.values()), sum(self.found.values())
        counted = tags - sum(self.misread.values())
        return {
            "language": name,
            "files": self.files,
            "tags": tags,
            "found": found,
            "misread": dict(self.misread.most_common()),
            "share": found / counted if counted else 1.0,
            "kinds": {kind: [self.found[kind], count] for kind, count in sorted(self.tags.items())},
            "reasons": dict(self.reasons.most_common()),
            "examples": dict(self.examples),
        }


async def run(_: Settings, arguments: argparse.Namespace) -> Measured:
    """Compare every language that ctags knows, on the trees given or on all corpora. Raises Missing without ctags or trees."""
    if shutil.which("ctags") is None:
        raise Missing("universal-ctags is not installed")
    trees = arguments.trees or sorted(path for path in CORPORA.glob("*") if path.is_dir())
    if not trees:
        raise Missing("no trees to compare; name some with --trees")
    wanted = set(arguments.languages or KINDS)
    if unknown := sorted(wanted - set(KINDS)):
        raise Missing(f"not compared with ctags: {', '.join(unknown)}")
    rows = []
    for name, paths in sorted(_files(trees, wanted).items()):
        comparison = Comparison()
        for path, tags in _tags(name, paths):
            text = decode(path.read_bytes()).text
            if not (is_minified(path.name, text) or is_generated(text)):
                root = next(tree.parent for tree in trees if path.is_relative_to(tree))
                compare(language(name), str(path.relative_to(root)), text, tags, comparison)
        rows.append(comparison.row(name))
    return {"kind": "ctags", "trees": [tree.name for tree in trees], "rows": rows, "machine": machine.facts()}


def _files(trees: Iterable[Path], wanted: set[str]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = defaultdict(list)
    for tree in trees:
        for path in sorted(tree.rglob("*")):
            if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES or ".git" in path.parts:
                continue
            with path.open("rb") as file:
                head = file.read(8_192).decode("utf-8", errors="replace")
            spec = language_of(path.name, head)
            if spec is not None and spec.name in wanted and spec.grammar is not None:
                found[spec.name].append(path)
    return found


def _tags(name: str, paths: list[Path]) -> Iterator[tuple[Path, list[Tag]]]:
    """Files with their tags of the kinds that are compared; things without a name left out."""
    command = [
        "ctags",
        f"--language-force={KINDS[name]['ctags']}",
        "--output-format=json",
        "--fields=+nKE",
        "--sort=no",
        "--extras=-{anonymous}",
        "-f",
        "-",
        "-L",
        "-",
    ]
    listed = subprocess.run(command, input="\n".join(map(str, paths)), capture_output=True, text=True, check=True, errors="replace")
    by_path: dict[str, list[Tag]] = {str(path): [] for path in paths}
    for line in listed.stdout.splitlines():
        tag = json.loads(line)
        if tag["_type"] == "tag" and tag["kind"] in KINDS[name] and tag["kind"] != "ctags":
            by_path[tag["path"]].append(Tag(tag["name"], tag["kind"], tag["line"]))
    yield from ((Path(path), tags) for path, tags in by_path.items())


def compare(spec: LanguageSpec, path: str, text: str, tags: list[Tag], comparison: Comparison) -> None:
    """Look for every tag of a file among its symbols and count what became of it; ``path`` is what examples show."""
    comparison.files += 1
    if not tags:
        return
    symbols = _by_name(extract(spec, text).symbols)
    lines = text.split("\n")
    root: Node | None = None
    for tag in tags:
        comparison.tags[tag.kind] += 1
        listed = KINDS[spec.name][tag.kind]
        kinds = {SymbolKind(kind.lstrip("*")) for kind in listed}
        named = symbols[""] if listed[0].startswith("*") else symbols.get(last_name(tag.name), [])
        if any(s.kind in kinds and (tag.line in (s.name_line, s.start_line) or _continues(s, tag)) for s in named):
            comparison.found[tag.kind] += 1
            continue
        reason = _misread(spec.name, tag, lines)
        if reason is None:
            root = root or spec.parser.parse(parser_view(text.encode("utf-8", errors="replace"), spec)).root_node
            reason = _reason(tag, named, kinds, lines, root)
        (comparison.reasons if reason in REASONS.values() else comparison.misread)[reason] += 1
        if len(comparison.examples[reason]) < EXAMPLES:
            comparison.examples[reason].append(f"{path}:{tag.line} {tag.kind} {tag.name}")


def _by_name(symbols: Iterable[Symbol]) -> dict[str, list[Symbol]]:
    named: dict[str, list[Symbol]] = defaultdict(list)
    for symbol in symbols:
        for name in {"", last_name(symbol.name), symbol.name.partition(".")[0]}:
            named[name].append(symbol)
    return named


def last_name(name: str) -> str:
    """A name without its scope and the spaces in it: ctags and we differ in how much of these belongs to a name."""
    joined = name.replace(" ", "")
    return _OPERATOR.sub("", _SCOPED.sub("", joined)).strip("`") or joined


def _continues(symbol: Symbol, tag: Tag) -> bool:
    return symbol.kind.is_callable and symbol.start_line < tag.line <= symbol.end_line


def _misread(language_name: str, tag: Tag, lines: list[str]) -> str | None:
    """Why a tag is no definition, by the patterns of its language."""
    line = lines[tag.line - 1] if tag.line <= len(lines) else ""
    for pattern in KINDS[language_name].get("misread", ()):
        wanted = pattern.get("line", "").replace("{name}", re.escape(tag.name))
        if re.search(pattern.get("name", ""), tag.name) and re.search(wanted, line) and tag.kind in pattern.get("kinds", [tag.kind]):
            return str(pattern["reason"])
    return None


def _reason(tag: Tag, named: list[Symbol], kinds: set[SymbolKind], lines: list[str], root: Node) -> str:
    line = lines[tag.line - 1] if tag.line <= len(lines) else ""
    columns = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(last_name(tag.name))}(?!\w)", line)]
    if not columns:
        return REASONS["absent"]
    places = [_around(root, tag.line - 1, len(line[:column].encode("utf-8", errors="replace"))) for column in columns]
    if all(any(word in kind for kind in around for word in _TEXT) for around in places):
        return REASONS["error"] if root.has_error else IN_TEXT
    if any(symbol.name_line == tag.line for symbol in named):
        return REASONS["kind"]
    if any("ERROR" in around for around in places):
        return REASONS["error"]
    if any(symbol.kind in kinds for symbol in named):
        return REASONS["line"]
    return REASONS["missed"]


def _around(root: Node, row: int, column: int) -> list[str]:
    """The types of all nodes around a position."""
    node = root.descendant_for_point_range((row, column), (row, column + 1))
    kinds = []
    while node is not None:
        kinds.append(node.type)
        node = node.parent
    return kinds
