"""Who wants to know of a search while it runs: its route, and each retriever's list when it arrives."""

from __future__ import annotations

from typing import Final, Protocol

from app.domain.query import RetrievalQuery
from app.domain.ranking import Degradation, RankedList, Routing


class Progress(Protocol):
    """Is told in the event loop and must not wait."""

    def routed(self, routing: Routing) -> None:
        """The way the search will go; nothing has run yet."""

    def answered(self, outcome: RankedList | Degradation, query: RetrievalQuery) -> None:
        """One retriever has answered, or failed."""


class _Silent:
    def routed(self, routing: Routing) -> None:
        """Nobody listens."""

    def answered(self, outcome: RankedList | Degradation, query: RetrievalQuery) -> None:
        """Nobody listens."""


SILENT: Final[Progress] = _Silent()
