"""Members of types, and the order in which base types are asked for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from app.domain.code import SymbolKind
from app.indexing.resolution.families import RUST, C, Openness
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.meaning import Meaning, meaning_of

TypeNamed = Callable[[Module, Definition | None, str], Meaning | None]
_MOST_ANCESTORS = 200
_MOST_NAMESAKES = 50


class Inheritance:
    """Looks members up. ``type_named`` says which type a name in a base list means."""

    def __init__(self, index: DefinitionIndex, type_named: TypeNamed) -> None:
        self._index = index
        self._type_named = type_named
        self._bases: dict[int, tuple[Definition, ...]] = {}
        self._lines: dict[int, tuple[Definition, ...]] = {}
        self._below: dict[tuple[int, str], Sequence[Definition]] = {}
        self._members: dict[tuple[int, str, bool], Meaning | None] = {}

    def member(self, definition: Definition, name: str, *, above: bool = False) -> Meaning | None:
        """The first definition of a member along the line of descent; ``above`` leaves the type itself out."""
        key = (definition.id, name, above)
        if key in self._members:
            return self._members[key]
        line = self.line_of_descent(definition)
        found: Meaning | None = None
        for ancestor in line[1:] if above else line:
            own = self._own(ancestor, name)
            found = meaning_of(own) if own else None
            if found is not None:
                break
        self._members[key] = found
        return found

    def _own(self, owner: Definition, name: str) -> Sequence[Definition]:
        local = f"{owner.local}.{name}"
        family = owner.module.family
        here = owner.module.by_local.get(local, ())
        if family.openness is Openness.FILE or (here and family is not C):
            return here
        if family.openness is Openness.DIRECTORY:
            modules = self._index.in_directory(family, owner.module.directory)
            return [d for module in modules for d in module.by_local.get(local, ())]
        elsewhere = self._index.qualified(family, f"{owner.full}.{name}")
        if family is not RUST or not elsewhere:
            return elsewhere or here
        namesakes = [d for d in self._index.qualified(family, owner.full) if d.is_type and d.kind is not SymbolKind.IMPL]
        return elsewhere if len(namesakes) == 1 else ()

    def line_of_descent(self, definition: Definition) -> tuple[Definition, ...]:
        """A type and its ancestors inside the repository, in the order in which members are looked for.

        Depth first; of a type met twice the last place counts, which agrees with C3 but for rare lattices.
        """
        known = self._lines.get(definition.id)
        if known is not None:
            return known
        order: list[Definition] = []
        self._descend(definition, (), order)
        seen: set[int] = set()
        kept = [d for d in reversed(order) if not (d.id in seen or seen.add(d.id))]  # type: ignore[func-returns-value]
        line = self._lines[definition.id] = tuple(reversed(kept))
        return line

    def _descend(self, definition: Definition, path: tuple[int, ...], order: list[Definition]) -> None:
        if definition.id in path or len(order) > _MOST_ANCESTORS:
            return
        order.append(definition)
        for base in self.bases(definition):
            self._descend(base, (*path, definition.id), order)

    def bases(self, definition: Definition) -> tuple[Definition, ...]:
        """The direct base types, interfaces and traits that are in the repository, in the order of the source."""
        known = self._bases.get(definition.id)
        if known is not None:
            return known
        self._bases[definition.id] = ()
        found: list[Definition] = []
        for part in self._parts_of(definition):
            for reference in part.module.bases.get(part.ordinal, ()):
                written = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
                meaning = self._type_named(part.module, part.container, written)
                found += [t for t in meaning.types if t is not definition and t not in found] if meaning else []
        self._bases[definition.id] = tuple(found)
        return self._bases[definition.id]

    def below(self, definition: Definition, name: str) -> Sequence[Definition]:
        """The members of that name of the types that inherit from this one; none when the name is an everyday one."""
        key = (definition.id, name)
        found = self._below.get(key)
        if found is None:
            named = self._index.named(definition.module.family, name)
            owners = [(member, self._owner(member)) for member in named] if len(named) <= _MOST_NAMESAKES else []
            found = self._below[key] = [m for m, owner in owners if owner is not None and definition in self.line_of_descent(owner)[1:]]
        return found

    def _owner(self, member: Definition) -> Definition | None:
        return member.container if member.container is not None and member.container.is_type else None

    def _parts_of(self, definition: Definition) -> Iterable[Definition]:
        """The pieces that can each name bases: ``impl`` blocks, partial classes."""
        family = definition.module.family
        if family.openness is not Openness.ANYWHERE:
            return (definition,)
        pieces = [d for d in self._index.qualified(family, definition.full) if d.is_type]
        if family is RUST:
            pieces = [d for d in pieces if d.module is definition.module]
        return pieces or (definition,)
