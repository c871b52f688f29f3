"""What is made in columns is what it would be if each were made by the names of its fields."""

from __future__ import annotations

from app.domain.code import PathClass
from app.domain.query import Modality
from app.domain.ranking import Candidate, ChunkHit, Contribution, Evidence, FileHit, FileKey

SCORES = [0.75, 0.5]
EVIDENCE = [Evidence(modality=Modality.TEXT, score=score, relation="words") for score in SCORES]
HITS = [ChunkHit(chunk_id=number, score=score, evidence=(found,)) for number, score, found in zip((7, 3), SCORES, EVIDENCE, strict=True)]
FILES = [
    FileHit(
        key=FileKey(repository_id=1, path=path),
        file_id=number,
        language="python",
        path_class=PathClass.TEST,
        score=9.0,
        chunks=(HITS[number],),
        features={"ex": 0.5},
    )
    for number, path in enumerate(("a.py", "b.py"))
]
CONTRIBUTIONS = [Contribution(modality=Modality.TEXT, rank=rank, weight=0.2, value=value) for rank, value in enumerate(SCORES)]
CANDIDATES = [
    Candidate(
        key=file.key,
        file_id=file.file_id,
        language=file.language,
        path_class=file.path_class,
        score=part.value,
        chunks=file.chunks,
        contributions=(part,),
        features=file.features,
    )
    for file, part in zip(FILES, CONTRIBUTIONS, strict=True)
]


def test_hits_and_candidates_in_columns() -> None:
    assert list(Evidence.column(Modality.TEXT, SCORES, "words")) == EVIDENCE
    assert list(ChunkHit.column([7, 3], SCORES, EVIDENCE)) == HITS
    assert Contribution.column(Modality.TEXT, 0.2, SCORES) == CONTRIBUTIONS
    assert Candidate.column(FILES, CONTRIBUTIONS) == CANDIDATES
    assert Candidate.column([], []) == []


def test_what_becomes_of_a_candidate() -> None:
    first, second = CANDIDATES
    boosted = first.boosted(0.4, 2.0)
    assert boosted == first._replace(score=1.5, contributions=(CONTRIBUTIONS[0]._replace(value=1.5),), centrality=0.4, boost=2.0)
    demoted = Candidate.demoted([boosted, second], [0.5, 1.0], ["test", None])
    assert demoted == [boosted._replace(score=0.75, demotion=0.5, demotion_reason="test"), second]
    assert demoted[0].with_rescored({"text": 1.0}, 0.3) == demoted[0]._replace(features={"text": 1.0}, rescored=0.3)
