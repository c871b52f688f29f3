"""Types that implement an interface without saying so: those that have all of its methods."""

from __future__ import annotations

from typing import Final

from app.domain.code import EdgeClass, SymbolKind
from app.domain.query import Relation, RetrievalQuery
from app.retrievers.scope import scope_arguments
from app.retrievers.sites import Site
from app.retrievers.targets import CENTRALITY, UNFILTERED_SCOPE, Targets
from app.storage.engine import Connection

LANGUAGES: Final = ("go",)
"""In which no type names the interfaces that it implements (The Go Programming Language Specification, "Implementing an interface")."""

MOST_TYPES: Final = 500

_LIVE: Final = """f.repository_id = c.repository_id AND f.file_id = c.file_id AND f.branch_id = s.branch_id
        AND f.from_gen <= s.generation AND f.to_gen > s.generation"""
_FOLDER: Final = "regexp_replace(f.path, '[^/]*$', '')"

# A type and its methods may be in several files of one folder. Of its names alone: parameters are not compared.
IMPLEMENTERS: Final = f"""{UNFILTERED_SCOPE}, needed AS MATERIALIZED (
        SELECT w.position, m.repository_id, m.name, m.lname, count(*) OVER (PARTITION BY w.position) AS methods
        FROM unnest($4::int[], $5::int[], $6::text[]) WITH ORDINALITY AS w(repository_id, file_id, qualified, position)
        JOIN symbol m ON m.repository_id = w.repository_id AND m.file_id = w.file_id AND m.kind = '{SymbolKind.METHOD}'
            AND m.qualified = w.qualified || '.' || m.name
    ), bearing AS (
        SELECT n.position, c.repository_id, {_FOLDER} AS folder, left(c.qualified, -length(c.name) - 1) AS owner, min(n.methods) AS methods
        FROM needed n
        JOIN scope s ON s.repository_id = n.repository_id
        JOIN symbol c ON c.repository_id = n.repository_id AND c.lname = n.lname AND c.name = n.name AND c.kind = '{SymbolKind.METHOD}'
            AND c.container IS NULL
        JOIN file f ON {_LIVE} AND f.language = ANY($7::text[])
        GROUP BY 1, 2, 3, 4
        HAVING count(DISTINCT c.name) = min(n.methods)
    )
    SELECT c.repository_id, c.file_id, c.name_line AS line, c.qualified, COALESCE(z.value, 0) AS centrality
    FROM (SELECT DISTINCT repository_id, folder, owner FROM bearing) b
    JOIN scope s ON s.repository_id = b.repository_id
    JOIN symbol c ON c.repository_id = b.repository_id AND c.lname = lower(b.owner) AND c.qualified = b.owner
        AND c.kind <> '{SymbolKind.INTERFACE}'
    JOIN file f ON {_LIVE} AND {_FOLDER} = b.folder
    {CENTRALITY}
    ORDER BY centrality DESC, f.path, c.name_line
    LIMIT {MOST_TYPES}
"""


async def implementers(connection: Connection, query: RetrievalQuery, targets: Targets) -> list[Site]:
    """Where the types are defined that have every method of one of the interfaces among the targets; likely, as only names are compared."""
    interfaces = [target for target in targets.symbols if target.kind is SymbolKind.INTERFACE]
    if not interfaces:
        return []
    rows = await connection.fetch(
        IMPLEMENTERS,
        *scope_arguments(query)[:3],
        [target.repository_id for target in interfaces],
        [target.file_id for target in interfaces],
        [target.qualified for target in interfaces],
        list(LANGUAGES),
    )
    return [
        Site(
            row["repository_id"], row["file_id"], row["line"], Relation.IMPLEMENTS, EdgeClass.LIKELY, 1, row["centrality"], row["qualified"]
        )
        for row in rows
    ]
