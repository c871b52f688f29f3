"""What an index costs: seconds by stage, bytes by table, beside the source and beside other tools' indexes."""

from __future__ import annotations

import argparse
from typing import Any, Final

from app.config import Settings
from app.domain.index import RepositorySource
from benchmarks import machine, peers
from benchmarks.latency import tree_of
from benchmarks.store import Store, open_store, say

_SIZES: Final = """
    SELECT relname AS name, pg_relation_size(oid) AS rows, pg_table_size(oid) - pg_relation_size(oid) AS aside,
           pg_indexes_size(oid) AS indexes
    FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY pg_total_relation_size(oid) DESC
"""
_SOURCE: Final = "SELECT count(*) AS files, sum(bytes)::bigint AS bytes FROM file_version"


async def run(settings: Settings, arguments: argparse.Namespace) -> dict[str, Any]:
    """Index one tree, without embeddings, in a database of its own; returns the figures as plain data. Raises Missing."""
    tree = tree_of(arguments)
    name = tree.name.lower()
    source = {name: RepositorySource(str(tree))}
    settings = settings.model_copy(update={"embedder": "none"})
    async with open_store(settings, "index", anew=True) as store:
        await store.prepare(source)
        first = store.seconds[name]
        sizes = await _sizes(store)
        await store.index_again(name)
        again = store.seconds[name]
    return {
        "kind": "index",
        "tree": name,
        "machine": machine.facts(),
        "processes": settings.index.parse_processes,
        "seconds": first,
        "seconds_unchanged": again,
        **sizes,
        "peers": [_peer(peer, arguments) for peer in peers.INDEXERS] if arguments.peers else [],
    }


async def _sizes(store: Store) -> dict[str, Any]:
    """Bytes by table: its rows, what stands aside (TOAST and maps), its indexes."""
    async with store.backend.connect() as connection:
        await connection.execute("CHECKPOINT")
        tables = [dict(row) for row in await connection.fetch(_SIZES)]
        source = await connection.fetchrow(_SOURCE)
    assert source is not None
    return {"tables": tables, "source": dict(source)}


def _peer(peer: peers.Indexer, arguments: argparse.Namespace) -> dict[str, Any]:
    version = peer.version()
    if version is None:
        return {"name": peer.name, "missing": "not installed"}
    indexed = peer.index(tree_of(arguments))
    say(f"{peer.name}: {indexed.seconds:.1f} s")
    return {"name": peer.name, "version": version, "seconds": round(indexed.seconds, 2), "bytes": indexed.size}
