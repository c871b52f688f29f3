"""Questions in Danish and Chinese over code that is named in English, and over code that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.query import Filters, Intent
from app.domain.ranking import SearchAnswer
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

TREE = {
    "store.py": "class SessionStore:\n    def save(self, session):\n        self.rows.append(session)\n",
    "pages.py": "def render_template(name):\n    return read(name)\n",
    "net.py": "def follow_redirect(response):\n    return response.headers['Location']\n",
    "bruger.py": (
        "class Brugerliste:\n    def hent_bruger(self, nummer):\n        # brugeren har et nummer\n        return self.alle[nummer]\n"
    ),
    "people.py": "class UserList:\n    def load(self, number):\n        return self.rows[number]\n",
    "notes.py": "# 渲染模板\ndef show():\n    return None\n",
}


@pytest.fixture
async def tree(bench: Bench, tmp_path: Path) -> Bench:
    await bench.index(write_tree(tmp_path / "tree", TREE), name="tree")
    return bench


def told(answer: SearchAnswer) -> list[str]:
    return [warning.message for warning in answer.warnings if warning.code == "also_in_english"]


@pytest.mark.parametrize(
    ("question", "path", "english"),
    [
        ("hvordan gemmes sessioner", "store.py", "save, store, session"),
        ("hvor bliver skabeloner gengivet", "pages.py", "template, render"),
        ("hvordan håndteres omdirigeringer", "net.py", "handle, redirect"),
        ("如何保存会话", "store.py", "save, store, session"),
        ("如何跟随重定向", "net.py", "redirect"),
    ],
)
async def test_english_code_answers_questions_in_other_languages(tree: Bench, question: str, path: str, english: str) -> None:
    answer = await tree.search(question)
    assert answer.results[0].path == path
    assert told(answer) == [f"also looked for in English: {english}"]
    assert answer.in_english
    assert answer.relevance != "none"


@pytest.mark.parametrize(("question", "path"), [("hvordan findes brugerens nummer", "bruger.py"), ("如何渲染模板", "notes.py")])
async def test_code_in_the_language_of_the_question_is_still_found(tree: Bench, question: str, path: str) -> None:
    assert path in [result.path for result in (await tree.search(question)).results[:2]]


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ('"sessioner"', {}),
        ("sessioner", {"literal": True}),
        ("sessione?r", {"filters": Filters(regex=True)}),
        ("sessioner or omdirigeringer", {}),
        ("hvor er hent_bruger defineret", {}),
        ("find strengen omdirigering", {}),
        ("how does the session store save", {}),
    ],
)
async def test_strings_patterns_names_and_english_are_not_translated(tree: Bench, question: str, fields: dict[str, object]) -> None:
    answer = await tree.search(question, **fields)
    assert told(answer) == []
    assert not answer.in_english


async def test_operands_stay_as_they_were_asked_for(tree: Bench) -> None:
    classification = (await tree.search("hvem kalder hent_bruger")).routing.classification
    assert (classification.intent, classification.operands) == (Intent.FIND_REFERENCES, ("hent_bruger",))
