"""What differs between languages when a name is looked up. Languages of one family see each other's definitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from app.domain.code import SymbolKind


class Package(Enum):
    """What makes the names of other files visible without an import."""

    NONE = auto()
    DIRECTORY = auto()
    NAMESPACE = auto()


class Openness(Enum):
    """Where the members of a type may stand: in its own file, in its package's files, in any file."""

    FILE = auto()
    DIRECTORY = auto()
    ANYWHERE = auto()


_EVERY_TYPE = frozenset(kind for kind in SymbolKind if kind.is_type)
_NAMED_TYPE = _EVERY_TYPE - {SymbolKind.IMPL}
_LINKED = _EVERY_TYPE | {SymbolKind.FUNCTION, SymbolKind.MACRO, SymbolKind.CONSTANT, SymbolKind.VARIABLE, SymbolKind.ENUM_MEMBER}


@dataclass(frozen=True, slots=True)
class Family:
    """The lookup rules of a family of languages.

    ``bare_members``: a bare name in a method can be a member of the class. ``global_kinds``: kinds of definitions that are visible
    everywhere by their bare name, so that a unique one is likely meant. ``self_names`` stand for the own instance, ``self_types``
    for the own type, ``super_names`` for the base. ``constructor`` is the name of the method that runs when a
    type is instantiated. ``own_words`` are all words for the own instance, the own type and what is above it.
    """

    name: str
    package: Package = Package.NONE
    openness: Openness = Openness.FILE
    bare_members: bool = False
    global_kinds: frozenset[SymbolKind] = frozenset()
    self_names: frozenset[str] = frozenset({"this"})
    self_types: frozenset[str] = frozenset()
    super_names: frozenset[str] = frozenset({"super"})
    constructor: str = ""
    full_paths: bool = False
    own_words: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        object.__setattr__(self, "own_words", self.self_names | self.self_types | self.super_names)


PYTHON = Family("python", self_names=frozenset({"self"}), self_types=frozenset({"cls"}), constructor="__init__")
JAVASCRIPT = Family("javascript", constructor="constructor")
GO = Family("go", Package.DIRECTORY, Openness.DIRECTORY, self_names=frozenset(), super_names=frozenset())
JAVA = Family("java", Package.DIRECTORY, bare_members=True)
CSHARP = Family("csharp", Package.NAMESPACE, Openness.ANYWHERE, bare_members=True, super_names=frozenset({"base"}))
PHP = Family(
    "php",
    Package.NAMESPACE,
    self_names=frozenset({"$this", "this"}),
    self_types=frozenset({"self", "static"}),
    super_names=frozenset({"parent"}),
    constructor="__construct",
)
RUST = Family(
    "rust",
    openness=Openness.ANYWHERE,
    global_kinds=frozenset({SymbolKind.MACRO}),
    self_names=frozenset({"self"}),
    self_types=frozenset({"Self"}),
    super_names=frozenset(),
)
C = Family("c", openness=Openness.ANYWHERE, bare_members=True, global_kinds=_LINKED, super_names=frozenset())
RUBY = Family(
    "ruby",
    openness=Openness.ANYWHERE,
    bare_members=True,
    global_kinds=_EVERY_TYPE,
    self_names=frozenset({"self"}),
    constructor="initialize",
)
KOTLIN = Family("kotlin", Package.NAMESPACE, bare_members=True, constructor="constructor", full_paths=True)
SCALA = Family("scala", Package.NAMESPACE, bare_members=True, full_paths=True)
SWIFT = Family(
    "swift",
    openness=Openness.ANYWHERE,
    bare_members=True,
    global_kinds=_NAMED_TYPE | {SymbolKind.FUNCTION, SymbolKind.VARIABLE},
    self_names=frozenset({"self"}),
    self_types=frozenset({"Self"}),
    constructor="init",
)
LUA = Family("lua", global_kinds=frozenset({SymbolKind.FUNCTION}), self_names=frozenset({"self"}), super_names=frozenset())
BASH = Family(
    "bash",
    global_kinds=frozenset({SymbolKind.FUNCTION, SymbolKind.VARIABLE, SymbolKind.CONSTANT}),
    self_names=frozenset(),
    super_names=frozenset(),
)
HASKELL = Family("haskell", self_names=frozenset(), super_names=frozenset())
ELIXIR = Family(
    "elixir",
    bare_members=True,
    global_kinds=frozenset({SymbolKind.MODULE, SymbolKind.INTERFACE}),
    self_names=frozenset(),
    self_types=frozenset({"__MODULE__"}),
    super_names=frozenset(),
    full_paths=True,
)
ZIG = Family("zig", self_names=frozenset({"self"}), self_types=frozenset({"Self"}), super_names=frozenset())

NAMESPACED = (CSHARP, PHP, C, KOTLIN, SCALA, HASKELL, JAVASCRIPT)
"""Families whose names have a namespace before them."""

FAMILIES: dict[str, Family] = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": JAVASCRIPT,
    "tsx": JAVASCRIPT,
    "go": GO,
    "java": JAVA,
    "csharp": CSHARP,
    "php": PHP,
    "rust": RUST,
    "c": C,
    "cpp": C,
    "ruby": RUBY,
    "kotlin": KOTLIN,
    "scala": SCALA,
    "swift": SWIFT,
    "lua": LUA,
    "bash": BASH,
    "haskell": HASKELL,
    "elixir": ELIXIR,
    "zig": ZIG,
}


def family_of(language: str) -> Family:
    """The family of a language; a language without rules of its own is a family by itself, with lexical scopes only."""
    return FAMILIES.get(language) or Family(language)
