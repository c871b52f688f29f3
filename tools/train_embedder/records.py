"""Turns packages into function records, with the same syntax trees that the service reads."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from app.domain.code import Symbol
from app.indexing.extract import extract
from app.indexing.sniff import is_generated
from app.languages.registry import language_of
from tools.train_embedder.archives import Member, licence, members, permissive
from tools.train_embedder.packages import Package, excluded, listed, stated_licence

_RECORDS_PER_PACKAGE: Final = 2_000
_FILES_PER_PACKAGE: Final = 700
_LONGEST_LINES: Final = 60
_LONGEST_CODE: Final = 2_500
_SKIPPED: Final = re.compile(
    r"(?:^|/)(?:_?vendor(?:ed)?|node_modules|extern(?:als?)?|third[_-]?party|testdata|tests?|__tests__|spec|locales?|migrations|examples?"
    r"|site-packages|dist/(?:cjs|umd)|lib/cjs|umd|cjs)/|\.d\.[cm]?ts$|[.-]min\.|(?:_test\.go|_pb2\.py|\.pb\.go|[._]test\.[jt]s|\.pyi)$",
    re.IGNORECASE,
)
_DOCSTRING: Final = re.compile(r"^[ \t]*[rRuU]?(\"\"\"|''')(.*?)\1[ \t]*\n?|^[ \t]*[rRuU]?(\"|')([^\n]*?)\3[ \t]*\n", re.S | re.M)
_COPYLEFT_HEADER: Final = re.compile(r"GNU (?:Lesser |Affero )?General Public|\bA?GPL", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FunctionRecord:
    """A function or type: its documentation, empty when it has none, and its code without it."""

    package: str
    role: str
    language: str
    path: str
    name: str
    kind: str
    doc: str
    code: str


def write(downloads: Path, target: Path) -> None:
    """Read every downloaded package that was not read before into ``records/*.jsonl`` and ``licences/*.json`` below ``target``."""
    for folder in ("records", "licences"):
        (target / folder).mkdir(parents=True, exist_ok=True)
    for package in listed():
        stem = f"{package.registry}-{package.name.replace('/', '+')}"
        archive = package.file(downloads)
        note = target / "licences" / f"{stem}.json"
        if archive is None or note.exists() or excluded(package.name):
            continue
        allowed = stated_licence(package.name) or licence(archive)
        count = 0
        if permissive(allowed):
            with (target / "records" / f"{stem}.jsonl").open("w", encoding="utf-8") as out:
                for count, record in enumerate(package_records(package, archive), 1):  # noqa: B007 - the last number is kept
                    out.write(json.dumps(asdict(record)) + "\n")
        else:
            print(f"left out for its licence: {package.name}: {allowed!r}", flush=True)
        said = {"registry": package.registry, "archive": archive.name, "licence": allowed, "role": package.role, "records": count}
        note.write_text(json.dumps(said), "utf-8")


def write_list(target: Path, table: Path) -> None:
    """What was read, as tab-separated ``table``: registry, archive, role, number of records, licence; refused packages are not in it."""
    notes = [json.loads(note.read_text("utf-8")) for note in sorted((target / "licences").glob("*.json"))]
    rows = [
        f"{note['registry']}\t{note['archive']}\t{note['role']}\t{note['records']}\t{note['licence']}" for note in notes if note["records"]
    ]
    table.write_text("\n".join(["registry\tarchive\trole\trecords\tlicence", *rows]) + "\n", "utf-8")


def package_records(package: Package, archive: Path) -> Iterator[FunctionRecord]:
    """The records of a package, a bounded number from files in an order drawn by its name; for training those with documentation."""
    files = [member for member in members(archive) if _wanted(member)]
    random.Random(package.name).shuffle(files)  # noqa: S311 - a fixed order, not a secret
    count = 0
    for member in files[:_FILES_PER_PACKAGE]:
        for record in _file_records(package, member):
            if package.role == "evaluation" or record.doc:
                yield record
                count += 1
        if count >= _RECORDS_PER_PACKAGE:
            return


def _wanted(member: Member) -> bool:
    if _SKIPPED.search(member.path) or any(excluded(part) for part in Path(member.path).with_suffix("").parts):
        return False
    spec = language_of(member.path, "")
    return spec is not None and spec.grammar is not None and len(member.data) < 200 * (member.data.count(b"\n") + 1)


def _file_records(package: Package, member: Member) -> Iterator[FunctionRecord]:
    spec = language_of(member.path, "")
    text = member.data.decode("utf-8", "replace").replace("\r\n", "\n")
    if spec is None or is_generated(text) or _COPYLEFT_HEADER.search(text[:1_500]):
        return
    lines = text.split("\n")
    for symbol in extract(spec, text).symbols:
        if symbol.kind.is_callable or (symbol.kind.is_type and symbol.doc):
            code = _code(lines, symbol)
            if len(code) >= 40:
                place = (package.name, package.role, spec.name, member.path)
                yield FunctionRecord(*place, symbol.qualified, symbol.kind.value, symbol.doc, code[:_LONGEST_CODE])


def _code(lines: list[str], symbol: Symbol) -> str:
    """The definition's lines without its docstring."""
    head = "\n".join(lines[symbol.start_line - 1 : min(symbol.end_line, symbol.start_line + 400)])
    if symbol.doc and (found := _DOCSTRING.search(head)):
        start = re.sub(r"\W+", "", symbol.doc)[:20]
        if start and re.sub(r"\W+", "", found.group(2) or found.group(4) or "").startswith(start):
            head = head[: found.start()] + head[found.end() :]
    return "\n".join(head.split("\n")[:_LONGEST_LINES])
