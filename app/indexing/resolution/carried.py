"""How a change of what one name means passes to another name: by values that are given back, kept in attributes or passed on.

Names of a function's own variables mean nothing outside of it; they are replaced by what they are given. The parameters of a function
are written ``f(``: what its calls pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from sys import intern

from app.domain.code import Binding, BindingKind, Symbol
from app.domain.facts import FileFacts
from app.indexing.resolution.index import Module

_WORD = re.compile(r"[^\W\d]\w*")
_STEPS = {BindingKind.ITEM: frozenset({"__iter__", "__next__"}), BindingKind.ENTER: frozenset({"__enter__"})}
_GIVEN_BACK = frozenset({BindingKind.RETURN, BindingKind.YIELD})

_Symbols = Mapping[int, tuple[str, str, str, bool]]
"""Name, signature, owner's name and whether it is callable, by ordinal."""

Carried = tuple[str, frozenset[str]]
"""A name, and the names that its meaning depends on."""


def carried_by(module: Module) -> Iterator[Carried]:
    """What a file's bindings carry on."""
    symbols = {d.ordinal: (d.name, d.signature, d.owner.rpartition(".")[2], d.is_callable) for d in module.definitions}
    return _carried(module.assigned, symbols)


def binding_words(module: Module) -> frozenset[str]:
    """All names in a file's bindings, read once."""
    if module.words is None:
        module.words = words_of(module.assigned)
    return module.words


def vocabulary(module: Module) -> frozenset[str]:
    """All words that anything in a file can depend on (``carried_by``, ``signature_words`` and what definitions declare), read once."""
    if module.vocabulary is None:
        decorated = (binding.target for binding in module.assigned if binding.kind is BindingKind.DECORATE)
        signatures = "\n".join([definition.signature for definition in module.definitions])
        module.vocabulary = binding_words(module).union(map(intern, _WORD.findall(signatures)), decorated, *_STEPS.values())
    return module.vocabulary


def words_of(bindings: Sequence[Binding]) -> frozenset[str]:
    return frozenset(map(intern, _WORD.findall("\n".join([binding.value for binding in bindings]))))


def changed_bindings(was: FileFacts | None, now: FileFacts | None) -> set[str]:
    """The names whose values may be others than before; lines play no part, the order within a scope does."""
    if was is None or now is None:
        return {name for name, _ in _all_carried(was) | _all_carried(now)}
    before, after = _ordered(was), _ordered(now)
    moved = {scope for scope in before.keys() | after.keys() if before.get(scope) != after.get(scope)}
    if not moved:
        return set()
    carried = {name for name, _ in _all_carried(was) ^ _all_carried(now)}
    return carried | {name for name, scope in (*_named(was), *_named(now)) if scope in moved}


def _all_carried(file: FileFacts | None) -> set[Carried]:
    if file is None:
        return set()
    symbols = _symbols(file)
    return set(_carried(file.bindings, symbols))


def _symbols(file: FileFacts) -> _Symbols:
    return {n: (s.name, s.signature, _owner(file.symbols, s), s.kind.is_callable) for n, s in enumerate(file.symbols)}


def _owner(symbols: Sequence[Symbol], symbol: Symbol) -> str:
    return symbols[symbol.container].name if symbol.container is not None else ""


def _ordered(file: FileFacts) -> Mapping[str, Sequence[tuple[object, ...]]]:
    """Scope → its bindings in order, each with the number of bindings that follow before its block ends."""
    scopes: dict[str, list[Binding]] = {}
    for binding in file.bindings:
        scopes.setdefault(_scope(file, binding), []).append(binding)
    return {
        scope: [(b.kind, b.target, b.value, sum(b.line < other.line <= b.until for other in bindings)) for b in bindings]
        for scope, bindings in scopes.items()
    }


def _scope(file: FileFacts, binding: Binding) -> str:
    return "" if binding.enclosing is None else file.symbols[binding.enclosing].qualified


def _named(file: FileFacts) -> Iterator[tuple[str, str]]:
    """Each name that a binding carries something to, with the binding's scope."""
    symbols = _symbols(file)
    for binding in file.bindings:
        for name, _ in _carried([binding], symbols):
            yield name, _scope(file, binding)


def _carried(bindings: Sequence[Binding], symbols: _Symbols) -> Iterator[Carried]:
    given: dict[tuple[int | None, str], set[str]] = {}
    for binding in bindings:
        if _is_local(binding, symbols):
            for name in _WORD.findall(binding.target):
                given.setdefault((binding.enclosing, name), set()).update(_words(binding))
    for binding in bindings:
        words = _outside(_words(binding), binding.enclosing, given, symbols)
        scope = symbols.get(binding.enclosing) if binding.enclosing is not None else None
        if binding.kind in _GIVEN_BACK and scope is not None:
            yield scope[0], words
        elif binding.kind is BindingKind.CALL:
            callee = set(_WORD.findall(binding.value.partition("(")[0]))
            for name in _outside(callee, binding.enclosing, given, symbols):
                yield f"{name}(", words
        elif binding.kind is BindingKind.DECORATE:
            yield binding.target, words
            for name in words:
                yield f"{name}(", frozenset({binding.target})
        elif not _is_local(binding, symbols):
            for name in _WORD.findall(binding.target):
                yield name, words


def _words(binding: Binding) -> set[str]:
    return set(_WORD.findall(binding.value)) | _STEPS.get(binding.kind, frozenset())


def _is_local(binding: Binding, symbols: _Symbols) -> bool:
    """A function's own variable: its items and attributes can be seen from elsewhere, it cannot."""
    inside = binding.enclosing is not None and binding.enclosing in symbols and symbols[binding.enclosing][3]
    return inside and bool(binding.target) and "." not in binding.target and "[" not in binding.target


def _outside(words: Set[str], scope: int | None, given: Mapping[tuple[int | None, str], Set[str]], symbols: _Symbols) -> frozenset[str]:
    """The words with a function's variables replaced by what they are given, and with its parameters' calls."""
    found, waiting = set(words), list(words)
    while waiting:
        for word in given.get((scope, waiting.pop()), ()):
            if word not in found:
                found.add(word)
                waiting.append(word)
    if scope is not None and scope in symbols:
        name, signature, owner, _ = symbols[scope]
        if not found.isdisjoint(_WORD.findall(signature.partition("(")[2])):
            found |= {f"{name}(", f"{owner}("}
    return frozenset(found)


def signature_words(module: Module) -> Iterator[Carried]:
    """Defaults of parameters: what a call passes, if it passes nothing."""
    for definition in module.definitions:
        if definition.is_callable and "=" in definition.signature:
            words = frozenset(_WORD.findall(definition.signature.partition("(")[2]))
            yield f"{definition.name}(", words


__all__ = ["Carried", "binding_words", "carried_by", "changed_bindings", "signature_words", "vocabulary", "words_of"]
