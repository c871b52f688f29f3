"""What the documents say is what the program does."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from app.cli.commands import cli
from app.config import Settings
from app.domain.query import Intent, Modality, Preset
from app.http.problems import HTTP_CODES
from app.languages.registry import registry
from app.observability.metrics import METRICS
from app.search.profiles import load_profiles
from tests.contract.markdown import DOCUMENTS, ROOT, Row, blocks, code_spans, links, section, show, table

README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "pipeline.svg"
COMPUTED_DEFAULTS = {"FOURFOLD_INDEX__PARSE_PROCESSES": "one per core"}


def assert_table(heading: str, expected: list[Row], document: Path = README) -> None:
    assert table(document, heading) == expected, show(expected)


def settings(model: type[BaseModel] = Settings, prefix: str = "FOURFOLD_") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from settings(field.annotation, f"{prefix}{name}__".upper())
        else:
            yield ("DATABASE_URL" if name == "database_url" else f"{prefix}{name}".upper()), field


def default_of(name: str, field: FieldInfo) -> str:
    if name in COMPUTED_DEFAULTS:
        assert field.default_factory is not None
        return COMPUTED_DEFAULTS[name]
    return "–" if field.default in (None, (), "") else f"`{field.default:g}`" if isinstance(field.default, float) else f"`{field.default}`"


def test_every_setting_stands_in_the_readme() -> None:
    assert_table("## Settings", [(f"`{name}`", default_of(name, field), field.description or "") for name, field in settings()])


def test_every_metric_stands_in_the_readme() -> None:
    rows = [(f"`{row.name}`", row.type, ", ".join(f"`{label}`" for label in row.labels) or "–", row.help) for row in METRICS]
    assert_table("### Metrics", [(name, kind, labels, text) for name, kind, labels, text in rows])


def test_weights() -> None:
    weights = load_profiles().weights
    assert_table("### Weights", [(f"`{intent}`", *(f"{weights[intent][modality]:g}" for modality in Modality)) for intent in Intent])
    assert f"confidence of {load_profiles().direct_confidence} or more" in section(README, "### Weights")


def test_presets() -> None:
    presets = load_profiles().presets
    expected: list[Row] = [("`quick`", "semantic alone", "–")]
    for preset in (Preset.BALANCED, Preset.THOROUGH):
        count = presets[preset].modalities
        what = "all whose weight is not 0" if count == len(Modality) else f"the {count} that the intent trusts most"
        expected.append((f"`{preset}`", what, str(presets[preset].k)))
    assert {row[0] for row in expected} == {f"`{preset}`" for preset in Preset}
    assert_table("### Presets", expected)


def test_retrievers() -> None:
    assert [row[0] for row in table(README, "## How it works")] == [f"`{modality}`" for modality in Modality]


def test_every_parsed_language_stands_in_the_readme() -> None:
    parsed = [spec for spec in registry().languages.values() if spec.grammar is not None]
    assert_table("## Languages", [(f"`{spec.name}`", " ".join(f"`{extension}`" for extension in spec.extensions)) for spec in parsed])


def test_every_command_stands_in_the_readme() -> None:
    group = typer.main.get_command(cli)
    commands = {name for name, command in group.commands.items() if not command.hidden}  # type: ignore[attr-defined]
    assert {row[0].strip("`").split()[1] for row in table(README, "## Command line")} == commands


def test_every_problem_stands_in_the_interface_document() -> None:
    rows = table(ROOT / "docs" / "api.md", "## Errors")
    assert {row[0].strip("`") for row in rows} >= set(HTTP_CODES.values())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    assert [target for target in links(document) if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_in_documents_exist(document: Path) -> None:
    """Files, settings and make targets that a document names between backticks."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    known = {name for name, _ in settings()}
    for span in code_spans(document):
        if re.fullmatch(r"(app|docs|tests|migrations|benchmarks|requirements|openapi)/[\w./-]*\w", span):
            assert (ROOT / span).exists(), span
        if match := re.fullmatch(r"make ([a-z]+)", span):
            assert match[1] in targets, span
        for name in re.findall(r"\bFOURFOLD_[A-Z_]*[A-Z]\b", span):
            assert name in known or name.startswith("FOURFOLD_CREDENTIALS__"), name


def test_settings_that_messages_name_exist() -> None:
    known = {name for name, _ in settings()}
    parts = {name.rpartition("__")[0] for name in known} | {"FOURFOLD_WEBHOOK", "FOURFOLD_CREDENTIALS"}
    named = {
        name
        for path in (ROOT / "app").rglob("*.py")
        for name in re.findall(r"\bFOURFOLD_[A-Z_]*[A-Z]\b", path.read_text("utf-8"))
        if not name.startswith("FOURFOLD_CREDENTIALS__")
    }
    assert len(named) > 10
    assert named - known - parts == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_documents_are_understood(document: Path) -> None:
    group = typer.main.get_command(cli)
    for line in "".join(blocks(document, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["fourfold"]:
            continue
        name, *arguments = words[1:]
        command = group.commands[name]  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            name, *arguments = arguments
            command = command.commands[name]
        command.make_context(name, arguments)  # raises when an option is unknown or a value is not allowed


def test_the_picture_shows_the_steps_that_there_are() -> None:
    space = "{http://www.w3.org/2000/svg}"
    root = ET.parse(PICTURE).getroot()
    boxes = [text.text or "" for text in root.iter(f"{space}text") if text.get("class") == "step"]
    steps = [name for name in boxes if " " not in name]
    modules = {path.stem for part in ("search", "retrievers", "indexing") for path in (ROOT / "app" / part).glob("*.py")}
    assert (set(steps) - modules, len(steps)) == ({"publish"}, 24)  # publishing is one statement of the writer
    assert root.find(f"{space}title") is not None
    assert root.find(f"{space}desc") is not None


def test_the_picture_has_its_text_in_the_readme() -> None:
    match = re.search(r"!\[(.+)\]\(docs/pipeline\.svg\)", README.read_text("utf-8"))
    assert match
    assert len(match[1]) > 100
