"""Finds code by its dependencies: who uses a symbol, and what a change to it reaches.

Edges in the store are ``exact`` or ``likely``. A use that could not be resolved is ``possible``: a reference of that name without an edge,
looked up by name when it is asked for, shown with its class and after the others, never dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Final, NamedTuple

from app.domain.code import EdgeKind, ReferenceKind
from app.domain.query import Intent, Modality, Relation, RetrievalQuery
from app.domain.ranking import RankedList
from app.retrievers.files import file_hit, group_by_file, ranked
from app.retrievers.implicit import implementers
from app.retrievers.sites import Site, definition_sites, locate
from app.retrievers.targets import Targets, resolve_targets
from app.retrievers.traversal import dependents, direct_uses, impact, possible_uses, uses_of
from app.storage.engine import Connection
from app.storage.pool import Pool

IMPACT_DEPTH: Final = 5
HOP_TARGETS: Final = 20


class GraphRetriever:
    """The graph modality."""

    modality: Final = Modality.GRAPH

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def retrieve(self, query: RetrievalQuery) -> RankedList:
        """See ports.Retriever."""
        began = perf_counter()
        async with self._pool.keyed() as connection:
            targets = await resolve_targets(connection, query)
            sites, complete = await _sites(connection, query, targets)
            found = await locate(connection, query, sites)
        files = ranked(file_hit(chunks, chunks[0].hit.score) for chunks in group_by_file(found).values())
        return RankedList(
            Modality.GRAPH,
            files,
            (perf_counter() - began) * 1000,
            complete=complete,
            total_files=len(files),
            total_lines=len({(item.key, evidence.line) for item in found for evidence in item.hit.evidence}),
        )


class _Kinds(NamedTuple):
    """What a relation is called where it is resolved, and where only a name tells of it."""

    edges: frozenset[str]
    references: frozenset[str] = frozenset()


_KINDS: Final = {
    Relation.CALLS: _Kinds(frozenset({EdgeKind.CALLS, EdgeKind.INSTANTIATES}), frozenset({ReferenceKind.CALL})),
    Relation.INHERITS: _Kinds(frozenset({EdgeKind.INHERITS}), frozenset({ReferenceKind.INHERIT})),
    Relation.IMPLEMENTS: _Kinds(frozenset({EdgeKind.INHERITS, EdgeKind.OVERRIDES}), frozenset({ReferenceKind.INHERIT})),
    Relation.OVERRIDES: _Kinds(frozenset({EdgeKind.OVERRIDES})),
    Relation.IMPORTS: _Kinds(frozenset({EdgeKind.IMPORTS})),
    Relation.INSTANTIATES: _Kinds(frozenset({EdgeKind.INSTANTIATES}), frozenset({ReferenceKind.CALL})),
    Relation.DECORATES: _Kinds(frozenset({EdgeKind.DECORATES}), frozenset({ReferenceKind.DECORATE})),
}


def _edges(relation: Relation | None) -> frozenset[str] | None:
    return None if relation is None else _KINDS[relation].edges


async def _related(connection: Connection, query: RetrievalQuery, targets: Targets, relation: Relation) -> tuple[list[Site], bool]:
    """The uses of one kind; none where the index knows of none, and then all uses are better than nothing."""
    kinds = _KINDS[relation]
    uses, complete = await direct_uses(connection, query, targets, kinds.edges)
    uses += await implementers(connection, query, targets) if relation in (Relation.IMPLEMENTS, Relation.INHERITS) else []
    possible, all_possible = await possible_uses(connection, query, targets) if kinds.references else ([], True)
    return [*uses, *(site for site in possible if site.relation in kinds.references)], complete and all_possible


async def _sites(connection: Connection, query: RetrievalQuery, targets: Targets) -> tuple[Sequence[Site], bool]:
    intent = query.classification.intent
    if intent is Intent.FIND_REFERENCES and query.classification.outgoing:
        return await uses_of(connection, query, targets, _edges(query.classification.relation))
    if intent is Intent.FIND_REFERENCES:
        if (relation := query.classification.relation) is not None:
            related, complete = await _related(connection, query, targets, relation)
            if related:
                return related, complete
        uses, complete = await direct_uses(connection, query, targets)
        possible, all_possible = await possible_uses(connection, query, targets)
        return [*uses, *possible], complete and all_possible
    if intent is Intent.IMPACT_ANALYSIS:
        reached, complete = await impact(connection, query, targets, IMPACT_DEPTH)
        possible, all_possible = await possible_uses(connection, query, targets)
        return [*reached, *possible], complete and all_possible
    # A question in words starts from the symbols that its words name, plus one hop.
    nearest = targets.first(HOP_TARGETS)
    definitions = definition_sites(nearest)
    around = await dependents(connection, query, nearest)
    return [*definitions, *around], True
