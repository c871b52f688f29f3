"""Judges the ranking: NDCG@10, recall@10, MRR and empty answers, of the service, of its variants and of other tools."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from app.bootstrap import Service
from app.config import Settings
from app.domain.index import RepositorySource
from app.domain.query import SearchRequest
from app.domain.ranking import SearchAnswer
from app.search.profiles import load_profiles
from benchmarks import machine, peers
from benchmarks.corpora import HELD_OUT, Corpus, JudgedQuery, judged_set
from benchmarks.scoring import DEPTH, Hit, Score, score, summarise
from benchmarks.store import Store, open_store, say
from benchmarks.variants import BASE, Variant, all_variants

PATIENCE_MS: Final = 10_000
"""A retriever that is late because the machine is busy must not change the ranking."""

Scores = Mapping[JudgedQuery, Score]


async def run(settings: Settings, arguments: argparse.Namespace) -> dict[str, Any]:
    """Index what is not indexed, ask everything, and return the figures as plain data. Raises Missing."""
    corpora = judged_set(arguments.data, arguments.repos)
    async with open_store(settings, "whole" if arguments.whole else "counted") as store:
        sources = {corpus.name: RepositorySource(str(corpus.path), corpus.include(arguments.whole)) for corpus in corpora}
        await store.prepare(sources, fresh=arguments.fresh)
        rows = [row async for row in _ask_all(store, corpora, arguments)]
        embedder = store.backend.embedder.name if store.backend.embedder else "none"
    if arguments.peers and not arguments.whole:
        rows += list(_ask_peers(corpora))
    return {
        "kind": "relevance",
        "selection": "whole" if arguments.whole else "counted",
        "embedder": embedder,
        "machine": machine.facts(),
        "repositories": {corpus.name: {"revision": corpus.revision, "held_out": corpus.held_out} for corpus in corpora},
        "rows": rows,
    }


async def _ask_all(store: Store, corpora: Sequence[Corpus], arguments: argparse.Namespace) -> Any:
    """One row per variant, the service as it is first."""
    variants = all_variants(load_profiles(), semantic=store.backend.embedder is not None)
    if not arguments.variants:
        variants = variants[:1]
    await _ask(store.service(), variants[0], corpora)  # the first pass fills the caches of query vectors and pages
    base: Scores | None = None
    for variant in variants:
        scores = await _ask(store.service(variant.profiles), variant, corpora, show_misses=arguments.misses and variant.name == BASE)
        base = base or scores
        row = _row(variant.name, variant.group, scores, base)
        say(f"{variant.name:32} {row['all']['ndcg']:.3f}  better {row['better']}, worse {row['worse']}")
        yield row


async def _ask(service: Service, variant: Variant, corpora: Iterable[Corpus], *, show_misses: bool = False) -> Scores:
    scores = {}
    for query in (query for corpus in corpora for query in corpus.queries):
        request = SearchRequest(query.query, repositories=(query.repository,), limit=DEPTH, timeout_ms=PATIENCE_MS, **variant.request)
        answer = await service.search.search(request)
        if answer.partial:
            raise RuntimeError(f"{query.query!r} in {query.repository} was answered in part: {answer.routing.degraded}")
        hits = [Hit(result.path, result.start_line, result.end_line) for result in answer.results]
        scores[query] = score(hits, query.targets, answer.took_ms)
        if show_misses and scores[query].ndcg < 1:
            _show_miss(query, scores[query], answer)
    return scores


def _show_miss(query: JudgedQuery, judged: Score, answer: SearchAnswer) -> None:
    routing = answer.routing
    say(f"\n{judged.ndcg:.2f} {query.repository} [{query.category}] {query.query!r}  {routing.classification.rule} {routing.strategy}")
    say("     wants " + ", ".join(target.path for target in query.targets))
    for result in answer.results[:5]:
        say(f"     {result.score:.3f} {result.path}:{result.start_line}")


def _ask_peers(corpora: Sequence[Corpus]) -> Iterable[dict[str, Any]]:
    for peer in peers.RANKERS:
        version = peer.version()
        if version is None:
            yield {"name": peer.name, "group": "other tools", "missing": "not installed"}
            continue
        scores: dict[JudgedQuery, Score] = {}
        for corpus in corpora:
            with peer.opened(corpus.path / corpus.root) as rank:
                for query in corpus.queries:
                    scores[query] = _judge_peer(rank, corpus, query)
        row = _row(peer.name, "other tools", scores, None) | {"version": version}
        say(f"{peer.name:32} {row['all']['ndcg']:.3f}")
        yield row


def _judge_peer(rank: Callable[[str], peers.Ranked], corpus: Corpus, query: JudgedQuery) -> Score:
    """Peers see the folder that counts; targets are named from the repository's root."""
    ranked = rank(query.query)
    prefix = f"{corpus.root}/" if corpus.root else ""
    return score([Hit(prefix + hit.path, hit.start_line, hit.end_line) for hit in ranked.hits], query.targets, ranked.ms)


def _row(name: str, group: str, scores: Scores, base: Scores | None) -> dict[str, Any]:
    """The figures of all queries and of each part of them; ``better`` and ``worse`` count queries against the base."""
    parts: dict[str, dict[str, list[Score]]] = defaultdict(lambda: defaultdict(list))
    for query, judged in scores.items():
        parts["category"][query.category].append(judged)
        parts["repository"][query.repository].append(judged)
    held_out = [judged for query, judged in scores.items() if query.repository in HELD_OUT]
    tuned = [judged for query, judged in scores.items() if query.repository not in HELD_OUT]
    row: dict[str, Any] = {"name": name, "group": group, "all": summarise(list(scores.values())).row()}
    row |= {label: summarise(part).row() for label, part in (("tuned", tuned), ("held_out", held_out)) if part}
    for label, groups in parts.items():
        row[label] = {key: summarise(part).row() for key, part in sorted(groups.items())}
    if base is not None:
        row["better"] = sum(judged.ndcg > base[query].ndcg + 1e-9 for query, judged in scores.items())
        row["worse"] = sum(judged.ndcg < base[query].ndcg - 1e-9 for query, judged in scores.items())
    return row
