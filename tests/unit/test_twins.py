"""Variants of one file among the best hits."""

from __future__ import annotations

import pytest

from app.domain.code import PathClass
from app.domain.ranking import Candidate, FileKey
from app.search.twins import demote_twins, possible_twins

NAMES = frozenset({"Bind", "Decode", "Validate", "Name"})


def candidate(path: str, rescored: float, language: str = "go", repository: int = 1) -> Candidate:
    return Candidate(FileKey(repository, path), 1, language, PathClass.SOURCE, 0.01, (), rescored=rescored)


def order(candidates: list[Candidate], names: dict[str, frozenset[str]]) -> list[str]:
    known = {item.key: names.get(item.key.path, frozenset()) for item in possible_twins(candidates)}
    return [item.key.path for item in demote_twins(candidates, known, 0.5)]


def test_the_lesser_of_two_variants_falls_behind() -> None:
    found = [candidate("binding/binding.go", 3.0), candidate("binding/binding_plain.go", 2.9), candidate("binding/json.go", 2.0)]
    names = {"binding/binding.go": NAMES, "binding/binding_plain.go": NAMES}
    assert order(found, names) == ["binding/binding.go", "binding/json.go", "binding/binding_plain.go"]


def test_the_variant_says_whose_it_is_and_keeps_other_reasons() -> None:
    first, second = candidate("exec_unix.go", 3.0), candidate("exec_windows.go", 2.0)
    shown = demote_twins([first, second], {first.key: NAMES, second.key: NAMES}, 0.5)
    assert (shown[1].demotion, shown[1].rescored, shown[1].demotion_reason) == (0.5, 1.0, "variant of exec_unix.go")


def test_three_variants_leave_the_best() -> None:
    found = [candidate(f"exec_{system}.go", 3.0 - rank / 10) for rank, system in enumerate(("unix", "windows", "plan9"))]
    found.append(candidate("run.go", 1.42))
    names = dict.fromkeys(("exec_unix.go", "exec_windows.go", "exec_plan9.go"), NAMES)
    assert order(found, names) == ["exec_unix.go", "exec_windows.go", "run.go", "exec_plan9.go"]


@pytest.mark.parametrize(
    "other",
    [
        candidate("elsewhere/exec_windows.go", 2.0),
        candidate("src/run_windows.go", 2.0),
        candidate("src/exec_windows.c", 2.0, language="c"),
        candidate("src/exec_windows.go", 2.0, repository=2),
    ],
)
def test_another_folder_name_language_or_repository_is_no_twin(other: Candidate) -> None:
    assert possible_twins([candidate("src/exec_unix.go", 3.0), other]) == []


def test_files_that_share_some_names_are_no_twins() -> None:
    found = [candidate("json_fast.go", 3.0), candidate("json_slow.go", 2.9), candidate("a.go", 2.0)]
    assert order(found, {"json_fast.go": NAMES, "json_slow.go": NAMES | {"Pool", "Reset"}})[:2] == ["json_fast.go", "json_slow.go"]
    assert order(found, {"json_fast.go": frozenset({"A", "B"}), "json_slow.go": frozenset({"A", "B"})})[1] == "json_slow.go"
