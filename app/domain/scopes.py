"""A saved scope: a named set of repositories and filters that searches can be asked to keep to."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from app.domain.errors import InvalidRequest
from app.domain.query import Filters, SearchRequest


@dataclass(frozen=True, slots=True)
class SavedScope:
    """``repositories`` empty: all that there are when the search runs."""

    name: str
    repositories: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    description: str = ""
    changed_at: datetime | None = None

    def applied(self, request: SearchRequest) -> SearchRequest:
        """The request within this scope. Filters that the request sets itself take the place of the scope's.

        Raises InvalidRequest for a repository that is not in the scope.
        """
        outside = [name for name in request.repositories if self.repositories and name not in self.repositories]
        if outside:
            raise InvalidRequest(f"the scope {self.name!r} does not hold {', '.join(outside)}", field="repositories")
        unset = Filters()
        kept: dict[str, Any] = {
            item.name: getattr(self.filters, item.name)
            for item in fields(Filters)
            if getattr(request.filters, item.name) == getattr(unset, item.name)
        }
        return replace(request, repositories=request.repositories or self.repositories, filters=replace(request.filters, **kept))
