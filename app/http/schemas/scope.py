"""Saved scopes on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import Path
from pydantic import ConfigDict

from app.domain.scopes import SavedScope
from app.http.schemas.fields import NAME_PATTERN, FreeText, JsonModel, TextList
from app.http.schemas.search_answer import Shape
from app.http.schemas.search_request import BodyFilters, to_filters

ScopeNamePath = Annotated[str, Path(pattern=NAME_PATTERN, description="the scope's name, a slug", examples=["backend"])]

_BODY: Final[dict[str, Any]] = {
    "description": "The services, without their tests",
    "repositories": ["api", "billing"],
    "filters": {"languages": ["python", "go"], "paths": ["!tests/**"]},
}


class ScopeBody(JsonModel):
    """A named set of repositories and filters."""

    model_config = ConfigDict(json_schema_extra={"examples": [_BODY]})

    description: FreeText = ""
    repositories: TextList = ()
    """Repositories by name; all that there are when empty."""
    filters: BodyFilters = BodyFilters()

    def to_domain(self, name: str) -> SavedScope:
        return SavedScope(name, self.repositories, to_filters(self.filters), self.description)


SCOPE_EXAMPLE: Final[dict[str, Any]] = {"name": "backend", **_BODY, "changed_at": "2025-01-31T12:00:00Z"}


class ScopeShape(Shape):
    """A saved scope."""

    model_config = ConfigDict(json_schema_extra={"examples": [SCOPE_EXAMPLE]})

    name: str
    description: str
    repositories: list[str]
    filters: dict[str, Any]
    """Only those that differ from the default."""
    changed_at: datetime | None


class ScopeList(Shape):
    model_config = ConfigDict(json_schema_extra={"examples": [{"scopes": [SCOPE_EXAMPLE]}]})

    scopes: list[ScopeShape]
    """In the order of their names."""
