"""What the name at a place means, on the wire."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from app.domain.code import EdgeClass
from app.domain.position import PositionRequest
from app.http.schemas.fields import StrictModel, Text
from app.http.schemas.search_answer import Shape
from app.http.schemas.symbol import FRESH, PARSE_CONFIG, BriefShape, Fresh, Repository

_MOST = 2_147_483_647


class PositionParameters(StrictModel):
    """A place in an indexed file."""

    repository: Repository
    """The repository that holds the file."""
    revision: Text | None = None
    """A branch, a tag or an indexed commit; the default branch when absent."""
    path: Annotated[Text, Field(examples=["app/boot.py"])]
    """The file's path in the repository."""
    line: Annotated[int, Field(ge=1, le=_MOST, examples=[44])]
    """1-based."""
    column: Annotated[int, Field(ge=0, le=_MOST, examples=[13])]
    """0-based, in code points; right behind a name is still the name."""

    def to_domain(self) -> PositionRequest:
        return PositionRequest(self.repository, self.path, self.line, self.column, self.revision)


class OccurrenceShape(Shape):
    """Where a name stands."""

    line: int
    column: int


class NameShape(OccurrenceShape):
    """The name at the place, from its first character."""

    name: str


class DefinitionSiteShape(Shape):
    """A definition of the name."""

    model_config = ConfigDict(populate_by_name=True)

    path: str
    line: int
    column: int | None
    """Null where it is not known."""
    name: str
    kind: str
    """That of a symbol, or `variable` for what a function or block binds for itself, `import` for a name whose import leads out of the
    repository, `attribute` for what is assigned without being declared."""
    edge_class: EdgeClass = Field(alias="class", description="`exact` by scope and imports, `likely` where a type had to be inferred.")
    symbol: BriefShape | None
    """Null for what is no symbol."""


class DefinitionAnswerShape(Fresh):
    """What the name at a place means. Neither name nor definitions where there is none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                FRESH
                | {
                    "path": "app/boot.py",
                    "name": {"name": "parse_config", "line": 44, "column": 13},
                    "definitions": [
                        {
                            "path": "app/config.py",
                            "line": 12,
                            "column": 4,
                            "name": "parse_config",
                            "kind": "function",
                            "class": "exact",
                            "symbol": PARSE_CONFIG,
                        }
                    ],
                    "occurrences": [],
                }
            ]
        }
    )

    path: str
    name: NameShape | None
    definitions: list[DefinitionSiteShape]
    occurrences: list[OccurrenceShape]
    """For a name that a function or block binds for itself, all places of it in the file; uses of symbols are listed by their id."""
