from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import Dedupe, Modality
from app.domain.ranking import FileKey
from app.search.dedupe import dedupe
from app.search.fuse import in_list_order
from tests.unit.search_doubles import hit, ranked

CANDIDATES = in_list_order(ranked(Modality.TEXT, hit("a.py", 3, 1), hit("b.py", 5), hit("c.py", 8, 9)), 1.0)


def test_one_entry_per_file_shows_its_best_chunk_and_keeps_the_others() -> None:
    entries = dedupe(CANDIDATES, Dedupe.FILE, {})
    assert [(e.candidate.key.path, e.chunk.chunk_id, [o.chunk_id for o in e.others]) for e in entries] == [
        ("a.py", 3, [1]),
        ("b.py", 5, []),
        ("c.py", 8, [9]),
    ]


def test_none_lists_the_chunks_of_the_ranked_files_one_after_the_other() -> None:
    assert [e.chunk.chunk_id for e in dedupe(CANDIDATES, Dedupe.NONE, {})] == [3, 1, 5, 8, 9]


def test_content_merges_identical_chunks_of_different_files() -> None:
    entries = dedupe(CANDIDATES, Dedupe.CONTENT, {(1, 3): "same\n", (1, 5): "other", (1, 8): "same"})
    assert [(e.candidate.key.path, e.copies) for e in entries] == [("a.py", (FileKey(1, "c.py"),)), ("b.py", ())]


def test_content_keeps_chunks_whose_text_is_not_known() -> None:
    assert len(dedupe(CANDIDATES, Dedupe.CONTENT, {})) == 3


@given(st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=5, unique=True), max_size=10))
def test_no_chunk_is_lost_or_shown_twice(files: list[list[int]]) -> None:
    candidates = in_list_order(ranked(Modality.TEXT, *(hit(f"{i}.py", *chunks) for i, chunks in enumerate(files))), 1.0)
    flat = [(e.candidate.key.path, e.chunk.chunk_id) for e in dedupe(candidates, Dedupe.NONE, {})]
    by_file = [(e.candidate.key.path, c.chunk_id) for e in dedupe(candidates, Dedupe.FILE, {}) for c in (e.chunk, *e.others)]
    assert flat == by_file
    assert len(set(flat)) == len(flat) == sum(map(len, files))
