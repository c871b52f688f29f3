"""What differs between languages when a name is looked up. Languages of one family see each other's definitions."""

from __future__ import annotations

from dataclasses import dataclass
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
_LINKED = _EVERY_TYPE | {SymbolKind.FUNCTION, SymbolKind.MACRO, SymbolKind.CONSTANT, SymbolKind.VARIABLE, SymbolKind.ENUM_MEMBER}


@dataclass(frozen=True, slots=True)
class Family:
    """The lookup rules of a family of languages.

    ``bare_members``: a bare name in a method can be a member of the class. ``global_kinds``: kinds of definitions that are visible
    everywhere by their bare name, so that a unique one is likely meant. ``self_names`` stand for the own instance, ``self_types``
    for the own type, ``super_names`` for the base.
    """

    name: str
    package: Package = Package.NONE
    openness: Openness = Openness.FILE
    bare_members: bool = False
    global_kinds: frozenset[SymbolKind] = frozenset()
    self_names: frozenset[str] = frozenset({"this"})
    self_types: frozenset[str] = frozenset()
    super_names: frozenset[str] = frozenset({"super"})


PYTHON = Family("python", self_names=frozenset({"self"}), self_types=frozenset({"cls"}))
JAVASCRIPT = Family("javascript")
GO = Family("go", Package.DIRECTORY, Openness.DIRECTORY, self_names=frozenset(), super_names=frozenset())
JAVA = Family("java", Package.DIRECTORY, bare_members=True)
CSHARP = Family("csharp", Package.NAMESPACE, Openness.ANYWHERE, bare_members=True, super_names=frozenset({"base"}))
PHP = Family(
    "php",
    Package.NAMESPACE,
    self_names=frozenset({"$this", "this"}),
    self_types=frozenset({"self", "static"}),
    super_names=frozenset({"parent"}),
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
RUBY = Family("ruby", openness=Openness.ANYWHERE, bare_members=True, global_kinds=_EVERY_TYPE, self_names=frozenset({"self"}))

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
}


def family_of(language: str) -> Family:
    """The family of a language; a language without rules of its own is a family by itself, with lexical scopes only."""
    return FAMILIES.get(language) or Family(language)
