from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.code import PathClass
from app.domain.query import Filters, Intent, Modality
from app.domain.ranking import Candidate, FileHit
from app.search.demote import demote, wanted_classes
from app.search.fuse import in_list_order
from app.search.profiles import load_profiles
from tests.unit.search_doubles import hit, ranked

PROFILE = load_profiles().demotion


def run(*files: FileHit, text: str = "how are requests routed", intent: Intent = Intent.UNDERSTAND_CODE, filters: Filters | None = None):  # type: ignore[no-untyped-def]
    return demote(in_list_order(ranked(Modality.TEXT, *files), 1.0), text, intent, filters or Filters(), PROFILE)


def factors(candidates: list[Candidate]) -> dict[str, float]:
    return {candidate.key.path: candidate.demotion for candidate in candidates}


@pytest.mark.parametrize(
    ("path_class", "factor"),
    [
        (PathClass.SOURCE, 1.0),
        (PathClass.TEST, 0.3),
        (PathClass.EXAMPLE, 0.3),
        (PathClass.VENDOR, 0.3),
        (PathClass.GENERATED, 0.3),
        (PathClass.DOCUMENTATION, 0.5),
        (PathClass.CONFIGURATION, 0.5),
    ],
)
def test_factor_by_class(path_class: PathClass, factor: float) -> None:
    (candidate,) = run(hit("a", score=2.0, path_class=path_class))
    assert candidate.demotion == factor
    assert candidate.score == 2.0 * factor
    assert candidate.demotion_reason == (None if factor == 1 else path_class.value)


def test_code_comes_before_its_test() -> None:
    found = run(hit("test_a.py", score=2.0, path_class=PathClass.TEST), hit("a.py", score=1.0))
    assert [c.key.path for c in found] == ["a.py", "test_a.py"]


@pytest.mark.parametrize("intent", [Intent.FIND_REFERENCES, Intent.IMPACT_ANALYSIS])
def test_references_and_impact_demote_nothing(intent: Intent) -> None:
    assert factors(run(hit("t.py", path_class=PathClass.TEST), hit("v/v.py", path_class=PathClass.VENDOR), intent=intent)) == {
        "t.py": 1.0,
        "v/v.py": 1.0,
    }


@pytest.mark.parametrize(
    ("filters", "lifted"),
    [
        (Filters(include_tests=True), {PathClass.TEST, PathClass.EXAMPLE}),
        (Filters(include_docs=True), {PathClass.DOCUMENTATION, PathClass.CONFIGURATION}),
        (Filters(include_vendor=True), {PathClass.VENDOR, PathClass.GENERATED}),
        (Filters(), set()),
    ],
)
def test_filters_lift_a_class(filters: Filters, lifted: set[PathClass]) -> None:
    assert wanted_classes("routing", filters, PROFILE) == lifted


@pytest.mark.parametrize(
    ("text", "path_class", "asked"),
    [
        ("which tests cover login", PathClass.TEST, True),
        ("what does the README say", PathClass.DOCUMENTATION, True),
        ("example of a blueprint", PathClass.EXAMPLE, True),
        ("hvor er eksempler på routing", PathClass.EXAMPLE, True),
        ("hvor er dokumentationen", PathClass.DOCUMENTATION, True),
        ("登录的测试在哪里", PathClass.TEST, True),
        ("配置文件在哪里", PathClass.CONFIGURATION, True),
        ("documentation generation for man pages", PathClass.EXAMPLE, True),
        ("documentation generation for man pages", PathClass.DOCUMENTATION, False),
        ("where is test_client", PathClass.TEST, False),
        ("the latest contest", PathClass.TEST, False),
        ("how is routing done", PathClass.DOCUMENTATION, False),
    ],
)
def test_words_lift_a_class(text: str, path_class: PathClass, asked: bool) -> None:
    assert (path_class in wanted_classes(text, Filters(), PROFILE)) is asked


def test_old_version_beside_a_newer_one() -> None:
    files = [hit("api/v1/user.py"), hit("api/v2/user.py"), hit("lib/v1/only.py"), hit("api/v10/x.py", repository_id=2)]
    assert factors(run(*files)) == {"api/v1/user.py": 0.7, "api/v2/user.py": 1.0, "lib/v1/only.py": 1.0, "api/v10/x.py": 1.0}
    assert factors(run(*files, text="user in the v1 api"))["api/v1/user.py"] == 1.0


def test_of_two_alike_the_public_module_comes_first() -> None:
    found = run(hit("pkg/_terminal.py", score=1.0), hit("pkg/terminal.py", score=0.95))
    assert [(c.key.path, c.demotion_reason) for c in found] == [("pkg/terminal.py", None), ("pkg/_terminal.py", "private")]


@pytest.mark.parametrize("path", ["pkg/__init__.py", "pkg/__main__.py", "_pkg/main.py", "pages/_app.tsx", "styles/_button.scss", "_.py"])
def test_not_every_underscore_says_private(path: str) -> None:
    assert factors(run(hit(path))) == {path: 1.0}


def defining(path: str, path_class: PathClass, exact: float = 0.9) -> FileHit:
    return hit(path, path_class=path_class)._replace(features={"ex": exact})


def test_a_name_that_only_demoted_files_define_asks_for_them() -> None:
    files = [hit("mux.go"), defining("mux_test.go", PathClass.TEST), hit("other_test.go", path_class=PathClass.TEST)]
    for intent in (Intent.FIND_DEFINITION, Intent.UNDERSTAND_CODE):
        found = run(*files, text="TestMuxMatch", intent=intent)
        assert factors(found) == {"mux.go": 1.0, "mux_test.go": 1.0, "other_test.go": 0.3}
        assert {c.key.path: c.demotion_reason for c in found}["mux_test.go"] is None
    versions = [defining("v3/types.ts", PathClass.SOURCE), hit("v4/types.ts")]
    assert factors(run(*versions, text="ZodNumberDef")) == {"v3/types.ts": 1.0, "v4/types.ts": 1.0}


def test_a_name_that_the_code_defines_too_asks_for_the_code() -> None:
    beside = [defining("tests/config.py", PathClass.TEST), defining("_config.py", PathClass.SOURCE, exact=0.5)]
    assert factors(run(*beside, text="Config")) == {"tests/config.py": 0.3, "_config.py": 0.9}


def test_class_and_version_multiply() -> None:
    found = {c.key.path: c for c in run(hit("t/v1/a.py", path_class=PathClass.TEST), hit("t/v2/a.py", path_class=PathClass.TEST))}
    assert found["t/v1/a.py"].demotion == pytest.approx(0.3 * 0.7)
    assert found["t/v1/a.py"].demotion_reason == "test, old version"


@given(st.lists(st.tuples(st.sampled_from(list(PathClass)), st.floats(0.001, 10)), max_size=30))
def test_nothing_is_lost_and_order_within_a_class_stays(rows: list[tuple[PathClass, float]]) -> None:
    files = [hit(f"{i:02}.x", score=score, path_class=cls) for i, (cls, score) in enumerate(sorted(rows, key=lambda row: -row[1]))]
    found = run(*files)
    assert {c.key for c in found} == {file.key for file in files}
    for cls in PathClass:
        assert [c.key for c in found if c.path_class is cls] == [file.key for file in files if file.path_class is cls]
