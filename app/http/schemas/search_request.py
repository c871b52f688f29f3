"""What a search or a classification is asked with."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import ConfigDict, Field, JsonValue

from app.domain.query import Dedupe, Filters, Preset, SearchRequest
from app.http.schemas.fields import (
    Examples,
    JsonModel,
    Kinds,
    Modalities,
    Query,
    QueryOrNone,
    Repeated,
    ScopeName,
    StrictModel,
    Text,
    TextList,
)

_LIMIT = Field(ge=1, le=100)
_SNIPPET_LINES = Field(ge=1, le=1_000)
_MAX_BYTES = Field(ge=1_000, le=10_000_000)
_TIMEOUT_MS = Field(ge=1, le=3_600_000)


class FilterFields(StrictModel):
    """What a result must satisfy, beside the filters written in the query text itself."""

    languages: TextList = ()
    """Languages by name, such as `python`; a leading `!` excludes."""
    paths: TextList = ()
    """Path globs, git's way; a leading `!` excludes."""
    kinds: Kinds = ()
    """Kinds of the definition a result shows."""
    symbols: TextList = ()
    """Names of the definition a result shows."""
    include_tests: bool = False
    """Do not demote tests and examples."""
    include_docs: bool = False
    """Do not demote documentation and configuration."""
    include_vendor: bool = False
    """Do not demote vendored and generated code."""
    case: bool | None = None
    """True: in the case given; false: in any. By default literals and patterns are taken in the case given, and a question's string in any
    case only where it occurs in no other."""
    regex: bool = False
    """The whole query is one RE2 pattern."""
    word: bool = False
    """Whole words only."""
    without: TextList = ()
    """Strings that the code of a result must not hold; in any case unless `case` is true."""
    revision: Text | None = None
    """The branch, tag or indexed commit to search; each repository's default branch when absent."""


class BodyFilters(FilterFields, JsonModel):
    """What a result must satisfy, beside the filters written in the query text itself."""


class ClassifyRequest(JsonModel):
    """The question, and what else decides its route."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "who calls parse_config"}]})

    query: Query
    """The question: plain words, an identifier, an error message, a quoted string, code."""
    preset: Preset = Preset.BALANCED
    """How much work the search may do."""
    modalities: Modalities = ()
    """Exactly these retrievers instead of the preset's choice."""
    literal: bool = False
    """The whole query is one literal: no filter syntax, no classification."""
    filters: BodyFilters = BodyFilters()

    def to_domain(self) -> SearchRequest:
        return SearchRequest(
            query=self.query,
            preset=self.preset,
            modalities=self.modalities,
            literal=self.literal,
            filters=to_filters(self.filters),
        )


SEARCH_EXAMPLES: Final[list[JsonValue]] = [
    {"query": "who calls parse_config"},
    {
        "query": "how does authentication work",
        "repositories": ["api"],
        "preset": "thorough",
        "filters": {"languages": ["python"], "paths": ["src/**", "!src/legacy/**"]},
        "limit": 20,
        "explain": True,
    },
    {"like": ["c7-1234", "5d41402abc4b2a76"], "unlike": ["c7-98"], "filters": {"languages": ["go"]}},
]


class SearchBody(ClassifyRequest):
    """One search."""

    model_config = ConfigDict(json_schema_extra={"examples": SEARCH_EXAMPLES})

    query: QueryOrNone = ""
    """The question: plain words, an identifier, an error message, a quoted string, code. It may be absent where `like` gives examples."""
    like: Examples = ()
    """Ids of chunks and symbols: find code that is like them, by their stored embeddings."""
    unlike: Examples = ()
    """Ids of chunks and symbols: and unlike these."""
    repositories: TextList = ()
    """Repositories to search, by name; all of them when empty."""
    scope: ScopeName | None = None
    """A saved scope: its repositories, and its filters where this request sets none of the same name."""
    limit: Annotated[int, _LIMIT] = 10
    """Results on this page."""
    cursor: Text | None = None
    """`next_cursor` of the page before."""
    dedupe: Dedupe = Dedupe.FILE
    """One result per file, one per distinct content, or every chunk."""
    snippet_lines: Annotated[int, _SNIPPET_LINES] | None = None
    """Lines of a snippet at most."""
    max_bytes: Annotated[int, _MAX_BYTES] | None = None
    """Bytes of the answer, roughly: results that do not fit come with the next page; the first is shown all the same, its snippet cut."""
    timeout_ms: Annotated[int, _TIMEOUT_MS] | None = None
    """Deadline of this search; the service's own bounds it from above."""
    explain: bool = False
    """Show every rank, weight, boost and demotion."""
    rescore: bool = True
    """Re-order the best files of the fusion; false gives the plain fusion."""
    min_revision: Annotated[Text, Field(max_length=300)] | None = None
    """Answer only from an index that contains this revision of the one repository that is searched; else 425."""
    wait: Annotated[float, Field(ge=0, le=60)] = 0.0
    """Seconds to wait for `min_revision`."""

    def to_domain(self) -> SearchRequest:
        return SearchRequest(
            query=self.query,
            repositories=self.repositories,
            preset=self.preset,
            modalities=self.modalities,
            literal=self.literal,
            filters=to_filters(self.filters),
            limit=self.limit,
            cursor=self.cursor,
            dedupe=self.dedupe,
            snippet_lines=self.snippet_lines,
            max_bytes=self.max_bytes,
            timeout_ms=self.timeout_ms,
            explain=self.explain,
            rescore=self.rescore,
            min_revision=self.min_revision,
            wait=self.wait,
            like=self.like,
            unlike=self.unlike,
            scope=self.scope,
        )


class SearchParameters(FilterFields):
    """The same search as a query string. Lists are repeated or separated by commas."""

    q: QueryOrNone = ""
    """The question; it may be absent where `like` gives examples."""
    like: Annotated[Examples, Repeated] = ()
    """Ids of chunks and symbols: find code that is like them, by their stored embeddings."""
    unlike: Annotated[Examples, Repeated] = ()
    """Ids of chunks and symbols: and unlike these."""
    repositories: Annotated[TextList, Repeated] = ()
    """Repositories to search, by name; all of them when absent."""
    scope: ScopeName | None = None
    """A saved scope: its repositories, and its filters where this request sets none of the same name."""
    preset: Preset = Preset.BALANCED
    """How much work the search may do."""
    modalities: Annotated[Modalities, Repeated] = ()
    """Exactly these retrievers instead of the preset's choice."""
    languages: Annotated[TextList, Repeated] = ()
    """Languages by name, such as `python`; a leading `!` excludes."""
    paths: Annotated[TextList, Repeated] = ()
    """Path globs, git's way; a leading `!` excludes."""
    kinds: Annotated[Kinds, Repeated] = ()
    """Kinds of the definition a result shows."""
    symbols: Annotated[TextList, Repeated] = ()
    """Names of the definition a result shows."""
    without: Annotated[TextList, Repeated] = ()
    """Strings that the code of a result must not hold; in any case unless `case` is true."""
    literal: bool = False
    """The whole query is one literal."""
    limit: Annotated[int, _LIMIT] = 10
    """Results on this page."""
    cursor: Text | None = None
    """`next_cursor` of the page before."""
    dedupe: Dedupe = Dedupe.FILE
    """One result per file, one per distinct content, or every chunk."""
    snippet_lines: Annotated[int, _SNIPPET_LINES] | None = None
    """Lines of a snippet at most."""
    max_bytes: Annotated[int, _MAX_BYTES] | None = None
    """Bytes of the answer, roughly: results that do not fit come with the next page; the first is shown all the same, its snippet cut."""
    timeout_ms: Annotated[int, _TIMEOUT_MS] | None = None
    """Deadline of this search."""
    explain: bool = False
    """Show every rank, weight, boost and demotion."""
    rescore: bool = True
    """Re-order the best files of the fusion; false gives the plain fusion."""
    min_revision: Annotated[Text, Field(max_length=300)] | None = None
    """Answer only from an index that contains this revision of the one repository that is searched; else 425."""
    wait: Annotated[float, Field(ge=0, le=60)] = 0.0
    """Seconds to wait for `min_revision`."""

    def to_domain(self) -> SearchRequest:
        fields = {name: getattr(self, name) for name in SearchParameters.model_fields if name != "q"}
        filters = {name: fields.pop(name) for name in FilterFields.model_fields}
        asked = {"query": self.q} if self.q else {}
        return SearchBody(**asked, filters=BodyFilters(**filters), **fields).to_domain()


def to_filters(fields: FilterFields) -> Filters:
    return Filters(
        languages=fields.languages,
        paths=fields.paths,
        kinds=tuple(kind.value for kind in fields.kinds),
        symbols=fields.symbols,
        include_tests=fields.include_tests,
        include_docs=fields.include_docs,
        include_vendor=fields.include_vendor,
        case=fields.case,
        regex=fields.regex,
        word=fields.word,
        without=fields.without,
        revision=fields.revision,
    )
