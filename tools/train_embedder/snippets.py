"""Pairs from collections of answered how-to questions: a wording that no documentation has, and the code that answers it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.train_embedder.archives import members
from tools.train_embedder.packages import listed
from tools.train_embedder.pairs import Pair
from tools.train_embedder.sentences import first_sentence, text_words


def pairs(downloads: Path) -> Iterator[Pair]:
    """The snippets of the collections that were downloaded."""
    for package in listed():
        archive = package.file(downloads)
        if package.name in ("actionsheets", "30-seconds-of-code") and archive is not None:
            for member in members(archive):
                if member.path.endswith(".toml") and "/data/" in member.path:
                    yield from _sheet(package.name, tomllib.loads(member.data.decode("utf-8")))
                elif member.path.endswith("vscode_snippets/snippets.json"):
                    yield from _collection(package.name, json.loads(member.data))


def _sheet(package: str, sheet: Mapping[str, Any]) -> Iterator[Pair]:
    """Tables nested by topic; those with ``action`` and ``code`` are answers, and the titles above them belong to the question."""
    topic = str(sheet.get("title", ""))
    language = str(sheet.get("language", ""))

    def walk(table: Mapping[str, Any], above: str) -> Iterator[Pair]:
        above = f"{above} {table.get('section', '')}"
        if isinstance(table.get("action"), str) and isinstance(table.get("code"), str):
            yield _pair(package, language, f"{above} {table['action']}", table["code"])
        for inner in table.values():
            if isinstance(inner, Mapping):
                yield from walk(inner, above)

    yield from walk({key: value for key, value in sheet.items() if key not in ("action", "code")}, topic)


def _collection(package: str, snippets: Mapping[str, Mapping[str, Any]]) -> Iterator[Pair]:
    for name, snippet in snippets.items():
        question, _ = first_sentence(snippet["description"].partition("\n")[0], name)
        yield _pair(package, "javascript", question, "\n".join(snippet["body"]), name)


def _pair(package: str, language: str, question: str, code: str, name: str = "") -> Pair:
    return Pair("documentation", package, language, text_words(question), text_words(code), text_words(name), [], [])
