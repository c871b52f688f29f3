"""Field types that requests share: text that every layer below can take, and lists."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from app.domain.code import SymbolKind
from app.domain.query import Modality

MAX_QUERY: Final = 10_000
EXAMPLE_PATTERN: Final = r"^(?:[0-9a-f]{16}|c[1-9][0-9]{0,9}-[1-9][0-9]{0,9})$"
"""The id of a symbol or of a chunk."""
NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
ID_PATTERN: Final = r"^[0-9a-f]{16}$"
LINES_PATTERN: Final = r"^[1-9][0-9]{0,8}(-([1-9][0-9]{0,8})?)?$"
FORMS: Final = {
    EXAMPLE_PATTERN: "the chunk_id of a result or the id of a symbol",
    NAME_PATTERN: "a name of up to 100 letters, digits, dots, dashes and underscores that begins with a letter or digit",
    ID_PATTERN: "an id of 16 hexadecimal digits, as a list shows it",
    LINES_PATTERN: "lines such as 12, 40-60 or 40-",
}
"""In words, for whoever sends something else."""


class StrictModel(BaseModel):
    """A request body or query string in which an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class JsonModel(StrictModel):
    """A request body: numbers are numbers and truth values are truth values, as JSON tells them apart from strings."""

    @field_validator("*", mode="before")
    @classmethod
    def _not_converted(cls, value: Any, info: ValidationInfo) -> Any:
        kinds = _plain_types(cls.model_fields[info.field_name or ""].annotation)
        if bool in kinds and not isinstance(value, bool | None):
            raise ValueError("Input should be a boolean")
        if float in kinds and (isinstance(value, bool) or not isinstance(value, int | float | None)):
            raise ValueError("Input should be a number")
        if int in kinds and (isinstance(value, bool) or not isinstance(value, int | float | None)):
            raise ValueError("Input should be an integer")
        return value


def _plain_types(annotation: Any) -> tuple[Any, ...]:
    """The types that an annotation allows, if it names them one by one."""
    if get_origin(annotation) is Annotated:
        return _plain_types(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return tuple(kind for option in get_args(annotation) for kind in _plain_types(option))
    return (annotation,)


def storable(text: str) -> str:
    """PostgreSQL stores no NUL, and no encoder writes a lone surrogate."""
    if "\0" in text:
        raise ValueError("contains a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("contains a lone surrogate, which is no valid Unicode")
    return text


def _question(text: str) -> str:
    if not text.strip():
        raise ValueError("the query is empty")
    if len(text) > MAX_QUERY:
        raise ValueError(f"the query has {len(text):,} characters; at most {MAX_QUERY:,} are allowed")
    return storable(text)


def _split(value: Any) -> Any:
    """``a,b`` and ``c`` of a repeated parameter → ``[a, b, c]``."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return value
    return [part for item in value for part in _parts(str(item))]


def _parts(item: str) -> list[str]:
    """What stands between commas; an item that is nothing else stays what it is."""
    return [part for part in (part.strip(" ") for part in item.split(",")) if part] or [item]


def _distinct(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(items))


_NO_NUL: Final = "^[^\\u0000]*$"
_SAYS_SOMETHING: Final = {"minLength": 1, "maxLength": MAX_QUERY, "pattern": "^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$"}

Query = Annotated[str, AfterValidator(_question), Field(json_schema_extra={**_SAYS_SOMETHING})]
QueryOrNone = Query
"""A question that may be absent, but not blank."""
Text = Annotated[str, Field(min_length=1, max_length=1_000, json_schema_extra={"pattern": _NO_NUL}), AfterValidator(storable)]
FreeText = Annotated[str, Field(max_length=1_000, json_schema_extra={"pattern": _NO_NUL}), AfterValidator(storable)]
PathText = Annotated[str, Field(min_length=1, max_length=4_096, json_schema_extra={"pattern": _NO_NUL}), AfterValidator(storable)]
TextList = Annotated[tuple[Text, ...], Field(max_length=100), AfterValidator(_distinct)]
Modalities = Annotated[tuple[Modality, ...], Field(max_length=100), AfterValidator(_distinct)]
ScopeName = Annotated[str, Field(pattern=NAME_PATTERN, examples=["backend"])]
Examples = Annotated[tuple[Annotated[str, Field(pattern=EXAMPLE_PATTERN)], ...], Field(max_length=100), AfterValidator(_distinct)]
Kinds = Annotated[tuple[SymbolKind, ...], Field(max_length=100), AfterValidator(_distinct)]

Repeated = BeforeValidator(_split)
"""Marks a query parameter that may be repeated or separated by commas."""
