"""Call sites on their way to chunks: a site is a line of a file with the reason it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import asyncpg

from app.domain.code import EdgeClass, PathClass
from app.domain.query import Modality, RetrievalQuery
from app.domain.ranking import ChunkHit, Evidence, FileKey
from app.retrievers.files import FoundChunk
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, scope_arguments
from app.storage.engine import Connection

if TYPE_CHECKING:
    from app.retrievers.targets import Targets

# Distance first, then class, then relation, then centrality: each step outweighs all that follow it.
_CLASS_STEP: Final = {EdgeClass.EXACT: 0.0, EdgeClass.LIKELY: 0.1, EdgeClass.POSSIBLE: 0.6}

# A call says more of a use than the import that precedes it.
_RELATION_STEP: Final = {"references": 0.02, "read": 0.02, "type": 0.02, "imports": 0.05}

LOCATE: Final = f"""{SCOPE}
    SELECT w.position, c.repository_id, c.chunk_id, c.file_id, f.path, f.language, f.path_class
    FROM unnest(${FIRST_FREE}::int[], ${FIRST_FREE + 1}::int[], ${FIRST_FREE + 2}::int[]) WITH ORDINALITY
        AS w(repository_id, file_id, line, position)
    JOIN scope s ON s.repository_id = w.repository_id
    CROSS JOIN LATERAL (
        SELECT * FROM chunk k
        WHERE k.repository_id = w.repository_id AND k.file_id = w.file_id AND k.start_line <= w.line
        ORDER BY k.start_line DESC LIMIT 1
    ) c
    {LIVE} {SYMBOL_FILTER}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A line that uses (or, at distance 0, defines) a symbol. ``via`` names the symbols on the way from the changed one."""

    repository_id: int
    file_id: int
    line: int
    relation: str
    edge_class: EdgeClass
    distance: int
    centrality: float
    symbol: str | None = None
    via: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """Higher is better; centrality sums to 1, so it orders only what is equal otherwise."""
        steps = self.distance + _CLASS_STEP[self.edge_class] + _RELATION_STEP.get(self.relation, 0.0)
        return 1.0 / (1.0 + steps) + 0.001 * min(self.centrality, 1.0)


def definition_sites(targets: Targets) -> list[Site]:
    """The lines that define the targets themselves."""
    return [
        Site(target.repository_id, target.file_id, target.line, "definition", EdgeClass.EXACT, 0, target.centrality, target.qualified)
        for target in targets.symbols
    ]


async def locate(connection: Connection, query: RetrievalQuery, sites: Sequence[Site]) -> list[FoundChunk]:
    """Map each site to the chunk of its line; sites outside the filters fall away."""
    if not sites:
        return []
    rows = await connection.fetch(
        LOCATE,
        *scope_arguments(query),
        [site.repository_id for site in sites],
        [site.file_id for site in sites],
        [site.line for site in sites],
    )
    return [_found(row, sites[row["position"] - 1]) for row in rows]


def _found(row: asyncpg.Record, site: Site) -> FoundChunk:
    score = site.score
    evidence = Evidence(
        Modality.GRAPH,
        score,
        site.relation,
        edge_class=str(site.edge_class),
        line=site.line,
        distance=site.distance,
        symbol=site.symbol,
        via=site.via,
    )
    return FoundChunk(
        FileKey(row["repository_id"], row["path"]),
        row["file_id"],
        row["language"],
        PathClass(row["path_class"]),
        ChunkHit(row["chunk_id"], score, (evidence,)),
    )
