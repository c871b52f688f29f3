"""Reads the language folders, compiles their queries and tells the language of a file.

A folder holds ``language.toml`` (names, extensions, rules), ``tags.scm`` (definitions and references), ``imports.scm``, and for a
language whose variables can be asked for by their place, ``locals.scm`` (scopes and what they bind).
A folder without ``grammar`` is a base that others inherit from. Only grammars named here are ever loaded: the pack holds
some that never return. ``docs/languages.md`` describes the format.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, cast

from tree_sitter import Parser, Query, QueryError
from tree_sitter_language_pack import get_language

from app.domain.code import BindingKind, ReferenceKind, SymbolKind
from app.domain.errors import ConfigurationError
from app.domain.language_names import LanguageNames

FOLDER: Final = Path(__file__).parent
QUERY_FILES: Final = ("tags.scm", "imports.scm")
SCOPE_FILES: Final = ("locals.scm",)
PARSED: Final = (
    *("python", "javascript", "typescript", "tsx", "go", "java", "rust", "c", "cpp", "csharp", "ruby", "php"),
    *("kotlin", "swift", "scala", "lua", "bash", "haskell", "elixir", "zig"),
)
CONSTANT_READ: Final = "constant"  # a read that only counts when the name is UPPER_CASE
VALUE_CALL: Final = "value"  # a call of what a call or a subscript gives: nothing names it

_SYMBOL_KINDS: Final = frozenset(kind.value for kind in SymbolKind)
_REFERENCE_KINDS: Final = frozenset(kind.value for kind in ReferenceKind) | {CONSTANT_READ, VALUE_CALL}
_BINDING_KINDS: Final = frozenset(kind.value for kind in BindingKind)
_MARKS: Final = frozenset(
    {"comment", "leading", "barrier", "local", "export", "exported", "own", "access", "docstring", "error", "argument"}
)
_DETAILS: Final = frozenset({"name", "receiver", "scope", "body", "module", "alias", "target", "value"})
_CAPTURE: Final = re.compile(r"@([\w.]+)")
_SCM_COMMENT: Final = re.compile(r';[^"\n]*$', re.MULTILINE)
_INTERPRETER: Final = re.compile(r"^#!\s*\S*?(?:/env\s+(?:-\S+\s+|\w+=\S+\s+)*)?([A-Za-z+#-]+)[\d.]*(?:\s|$)")

Group = Literal["definition", "reference", "binding", "import", "mark"]


@dataclass(frozen=True, slots=True)
class PatternRole:
    """What a match of one pattern means: its group, the kind within it, the capture that carries it, its ``#set!`` values."""

    group: Group
    kind: str
    capture: str
    settings: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ExtractionRules:
    """How a language's matches are read; the keys of ``[rules]`` in ``language.toml``.

    ``exported`` is the visibility of a definition that nothing else decides; the other ``…_words`` and ``…_prefixes`` decide it
    from the header or the name. With ``exported_without_statement`` a file that has no export statement exports everything.
    ``blanked`` are patterns whose first group the parser does not see: macros where the grammar knows no names.
    ``ascii_only`` shows it letters for all else: its scanner reads beyond the end of C's table of characters.
    ``name_trim`` are characters around a name that are no part of it: the colon of ``:symbol``, the quotes of ``@"name"``.
    """

    exported: bool = True
    exported_words: tuple[str, ...] = ()
    hidden_words: tuple[str, ...] = ()
    hidden_words_outside_types: tuple[str, ...] = ()
    hidden_prefixes: tuple[str, ...] = ()
    exported_capitals: bool = False
    exported_by_statement: bool = False
    exported_without_statement: bool = False
    constructors: tuple[str, ...] = ()
    constructor_is_class_name: bool = False
    upper_case_is_constant: bool = False
    declaring_words: tuple[str, ...] = ()
    members_hidden_in: tuple[str, ...] = ()
    module_members_are_methods: bool = False
    members_need_receiver: bool = False
    reads: Literal["known", "unbound"] = "known"
    self_names: tuple[str, ...] = ("self", "this")
    ignored_names: tuple[str, ...] = ()
    ignored_calls: tuple[str, ...] = ()
    name_trim: str = ""
    blanked: tuple[str, ...] = ()
    ascii_only: bool = False
    blocks: tuple[str, ...] = ("block", "module")
    scope_separator: str = "."
    scope_ignored: tuple[str, ...] = ()
    module_binding: Literal["module", "last_segment", "none"] = "none"
    import_separator: str = ""


@dataclass(frozen=True)
class CompiledQuery:
    """A query and, by pattern index, what its matches mean. A lower index is the more specific pattern."""

    query: Query
    roles: tuple[PatternRole, ...]


@dataclass(frozen=True)
class LanguageSpec:
    """One language; ``grammar`` is None when its files are text without a parser. Compare and pass on by ``name``."""

    name: str
    grammar: str | None = None
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    contested: Mapping[str, str] | None = None
    rules: ExtractionRules = ExtractionRules()
    query_source: str = ""
    locals_source: str = ""

    @cached_property
    def compiled(self) -> CompiledQuery:
        """The folder's queries, compiled once per process; raises ConfigurationError naming the pattern that is wrong."""
        if self.grammar is None:
            raise ConfigurationError(f"language {self.name}: has no grammar")
        try:
            query = Query(get_language(cast(Any, self.grammar)), self.query_source)
        except (QueryError, LookupError) as error:
            raise ConfigurationError(f"language {self.name}: {error}") from None
        return CompiledQuery(query, tuple(_roles(self.name, query, self.query_source)))

    @cached_property
    def locals_query(self) -> Query | None:
        """The scopes of the language and what they bind; None where nothing is known of them. Raises as ``compiled`` does."""
        if self.grammar is None or not self.locals_source:
            return None
        try:
            return Query(get_language(cast(Any, self.grammar)), self.locals_source)
        except QueryError as error:
            raise ConfigurationError(f"language {self.name}, locals.scm: {error}") from None

    @cached_property
    def blanked(self) -> tuple[re.Pattern[bytes], ...]:
        """The rule of that name, compiled; raises ConfigurationError for a pattern that is wrong or has no group."""
        patterns = []
        for written in self.rules.blanked:
            try:
                patterns.append(re.compile(written.encode(), re.MULTILINE | re.VERBOSE))
            except re.error as error:
                raise ConfigurationError(f"language {self.name}: {error}: {written}") from None
            if not patterns[-1].groups:
                raise ConfigurationError(f"language {self.name}: a blanked pattern needs a group: {written}")
        return tuple(patterns)

    @cached_property
    def parser(self) -> Parser:
        """One parser per process; not to be shared between threads."""
        return Parser(get_language(cast(Any, self.grammar)))


class Registry:
    """All languages by name, extension, file name and interpreter. Raises ConfigurationError when two claim the same."""

    def __init__(self, languages: tuple[LanguageSpec, ...]) -> None:
        self.languages: Final = {spec.name: spec for spec in languages}
        self.names: Final = language_names(languages)
        self._by_extension = _index(languages, "extensions")
        self._by_filename = _index(languages, "filenames")
        self._by_interpreter = _index(languages, "interpreters")
        self._contested = {
            extension: (re.compile(pattern, re.MULTILINE), spec)
            for spec in languages
            for extension, pattern in (spec.contested or {}).items()
        }

    def language_of(self, path: str, head: str) -> LanguageSpec | None:
        name = PurePosixPath(path).name.lower()
        if spec := self._by_filename.get(name):
            return spec
        parts = name.split(".")
        for start in range(1, len(parts)):
            extension = "." + ".".join(parts[start:])
            if (contested := self._contested.get(extension)) and contested[0].search(head):
                return contested[1]
            if spec := self._by_extension.get(extension):
                return spec
        if (shebang := _INTERPRETER.match(head)) and (spec := self._by_interpreter.get(shebang.group(1).lower())):
            return spec
        return self._by_filename.get(parts[0])  # Dockerfile.dev, README.unknown


def language_names(languages: Iterable[LanguageSpec]) -> LanguageNames:
    """What each may be called, the surest first: its name, its ``aliases``, its interpreters, its extensions. Raises ConfigurationError."""
    every = {spec.name: spec for spec in languages}
    names = {name: name for name in every}
    for alias, spec in _index(tuple(every.values()), "aliases").items():
        if alias in every:
            raise ConfigurationError(f"language {spec.name}: its alias {alias} is the name of another")
        names[alias] = spec.name
    for spec in every.values():
        for text in (*spec.interpreters, *(extension.removeprefix(".") for extension in spec.extensions)):
            names.setdefault(text.lower(), spec.name)
    return LanguageNames(names)


@cache
def registry() -> Registry:
    """The languages, read once per process; their queries are compiled on first use."""
    parsed = tuple(_parsed_language(name) for name in PARSED)
    return Registry(parsed + tuple(_text_languages()))


def validate() -> None:
    """Compile every query; raises ConfigurationError for anything that a start should not survive."""
    for spec in registry().languages.values():
        if spec.grammar is not None:
            _ = spec.compiled, spec.locals_query, spec.blanked


def language(name: str) -> LanguageSpec:
    """The language of that name; raises KeyError."""
    return registry().languages[name]


def language_of(path: str, first_line: str) -> LanguageSpec | None:
    """The language by file name, extension or shebang; None for a file of no known language.

    ``first_line`` may be more of the file's beginning: an extension that two languages share (``.h``) is decided by what it says.
    """
    return registry().language_of(path, first_line)


def _parsed_language(name: str) -> LanguageSpec:
    table = _read_table(FOLDER / name / "language.toml")
    chain = list(_lineage(name))
    rules: dict[str, Any] = {}
    for ancestor in reversed(chain):
        rules |= _read_table(FOLDER / ancestor / "language.toml").get("rules", {})
    known = {key: value for key, value in table.items() if key not in ("rules", "inherits")}
    return _spec(name, known, rules, _queries(chain, QUERY_FILES), _queries(chain, SCOPE_FILES))


def _queries(chain: list[str], files: tuple[str, ...]) -> str:
    paths = [FOLDER / ancestor / file for ancestor in chain for file in files]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if path.exists())


def _lineage(name: str) -> Iterator[str]:
    """The language and its bases, the most specific first."""
    yield name
    for base in _read_table(FOLDER / name / "language.toml").get("inherits", ()):
        yield from _lineage(base)


def _text_languages() -> Iterator[LanguageSpec]:
    for name, table in _read_table(FOLDER / "text_languages.toml").items():
        yield _spec(name, table, {}, "")


def _spec(name: str, table: Mapping[str, Any], rules: Mapping[str, Any], source: str, scopes: str = "") -> LanguageSpec:
    try:
        return LanguageSpec(name=name, rules=ExtractionRules(**_frozen(rules)), query_source=source, locals_source=scopes, **_frozen(table))
    except TypeError as error:
        raise ConfigurationError(f"language {name}: {error}") from None


def _frozen(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


@cache
def _read_table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path.parent.name}/{path.name}: {error}") from None


def _index(languages: tuple[LanguageSpec, ...], attribute: str) -> dict[str, LanguageSpec]:
    index: dict[str, LanguageSpec] = {}
    for spec in languages:
        for key in getattr(spec, attribute):
            if key in index:
                raise ConfigurationError(f"languages {index[key].name} and {spec.name} both claim {key}")
            index[key] = spec
    return index


def _roles(language_name: str, query: Query, source: str) -> Iterator[PatternRole]:
    encoded = source.encode()
    for index in range(query.pattern_count):
        text = encoded[query.start_byte_for_pattern(index) : query.end_byte_for_pattern(index)].decode()
        captures = {name for name in _CAPTURE.findall(_SCM_COMMENT.sub("", text)) if not name.startswith("_")}
        roles = [name for name in captures if name not in _DETAILS]
        if len(roles) != 1 or _group(roles[0]) is None:
            raise ConfigurationError(f"language {language_name}: a pattern needs exactly one role, not {sorted(roles)}: {text.strip()}")
        group, kind = cast(tuple[Group, str], _group(roles[0]))
        yield PatternRole(group, kind, roles[0], query.pattern_settings(index))


def _group(capture: str) -> tuple[Group, str] | None:
    group, _, kind = capture.partition(".")
    if group == "definition" and kind in _SYMBOL_KINDS:
        return "definition", kind
    if group == "reference" and kind in _REFERENCE_KINDS:
        return "reference", kind
    if group == "binding" and kind in _BINDING_KINDS:
        return "binding", kind
    if group == "import" and not kind:
        return "import", kind
    return ("mark", capture) if capture in _MARKS else None
