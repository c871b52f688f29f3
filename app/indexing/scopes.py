"""Names that a file binds for itself: the scope that binds what is read at a place. By ``locals.scm``, for one file on demand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node, QueryCursor

from app.indexing.source_text import SourceText
from app.languages.registry import LanguageSpec

_MATCH_LIMIT: Final = 65_536


@dataclass(slots=True)
class Scope:
    """A node that names are bound in. ``kind``: file, function, class or block; ``names``: name → the nodes that bind it."""

    node: Node
    kind: str
    outer: Scope | None = None
    names: defaultdict[str, list[Node]] = field(default_factory=lambda: defaultdict(list))


class Scopes:
    """The scopes of one syntax tree. A language without ``locals.scm`` has the file's alone, and nothing is bound in it."""

    def __init__(self, spec: LanguageSpec, text: SourceText, root: Node) -> None:
        self._text = text
        self.file: Final = Scope(root, "file")
        self._by_node: dict[int, Scope] = {root.id: self.file}
        self._members: defaultdict[str, list[Node]] = defaultdict(list)
        self._keys: set[int] = set()
        self._blocks: Final = frozenset(spec.rules.blocks)
        query = spec.locals_query
        if query is not None:
            found = QueryCursor(query, match_limit=_MATCH_LIMIT).captures(root)
            self._nest(found)
            self._bind(found)

    def _nest(self, found: dict[str, list[Node]]) -> None:
        kinds = {node.id: (name.partition(".")[2], node) for name, nodes in found.items() if name.startswith("scope.") for node in nodes}
        for kind, node in sorted(kinds.values(), key=lambda item: (item[1].start_byte, -item[1].end_byte)):
            if node.id not in self._by_node:
                self._by_node[node.id] = Scope(node, kind, self._around(node.parent))

    def _bind(self, found: dict[str, list[Node]]) -> None:
        self._keys = {node.id for node in found.get("key", ())}
        for node in found.get("bind.member", ()):
            self._members[self._text.of(node)].append(node)
        for node in found.get("bind.property", ()):
            self._members[self._dotted(node)].append(node)
        seen: set[int] = set()
        for name in ("bind.outer", "bind.hoisted", "bind"):
            for node in found.get(name, ()):
                if node.id not in seen:
                    seen.add(node.id)
                    self._binder(name, node).names[self._text.of(node)].append(node)
        for node in [node for node in found.get("bind.global", ()) if self.binder(node) is None]:
            self.file.names[self._text.of(node)].append(node)
        for scope in self._by_node.values():
            for nodes in scope.names.values():
                nodes.sort(key=lambda node: node.start_byte)

    def _binder(self, how: str, node: Node) -> Scope:
        """The scope that a node binds its name in: the nearest, the one outside of it, the nearest function's."""
        scope = self._around(node)
        if how == "bind.outer":
            return scope.outer or scope
        while how == "bind.hoisted" and scope.kind == "block" and scope.outer is not None:
            scope = scope.outer
        return scope

    def _dotted(self, node: Node) -> str:
        """The name of a property with those of the objects and the variable around it: ``x.f`` in ``x = {f: 1}``."""
        path, at = [self._text.of(node)], node.parent
        while at is not None and at.id not in self._by_node:
            named = at.child_by_field_name("key") or at.child_by_field_name("name")
            if named is not None and named.id != node.id:
                path.insert(0, self._text.of(named))
            if at.type.endswith("declarator"):
                break
            at = at.parent
        return ".".join(path)

    def _around(self, node: Node | None) -> Scope:
        while node is not None and node.id not in self._by_node:
            node = node.parent
        return self.file if node is None else self._by_node[node.id]

    def is_key(self, node: Node) -> bool:
        """Whether a name is no variable where it stands: the name of an argument, the key of an object."""
        return node.id in self._keys

    def binder(self, node: Node) -> Scope | None:
        """The scope whose name is read, or bound, at a node; None for a name that the file does not bind."""
        name = self._text.of(node)
        return next((scope for scope in self._visible(node) if name in scope.names), None)

    def _visible(self, node: Node) -> Iterator[Scope]:
        """The scopes whose names can be read at a node, innermost first. What a class binds is not seen by the functions in it."""
        scope: Scope | None = self._around(node)
        if scope is not None and scope.node.child_by_field_name("name") == node:
            scope = scope.outer
        inside_function = False
        while scope is not None:
            if not (scope.kind == "class" and inside_function):
                yield scope
            inside_function = inside_function or scope.kind == "function"
            scope = scope.outer

    def in_force(self, scope: Scope, node: Node) -> Sequence[Node]:
        """Of the nodes that bind a name in a scope those that may count at ``node``, latest first; all when none is before it.

        A later one ends the earlier ones if its block is around the node.
        """
        nodes = scope.names[self._text.of(node)]
        if node in nodes:
            return [node]
        found: list[Node] = []
        for bound in reversed(nodes):
            if _effective(bound) <= node.start_byte:
                found.append(bound)
                if self._block(bound).end_byte >= node.end_byte:
                    break
        return found or nodes

    def _block(self, node: Node) -> Node:
        """The innermost block around a node, or the file."""
        around = node.parent
        while around is not None and around.type not in self._blocks:
            around = around.parent
        return around or self.file.node

    def members(self, written: str) -> Sequence[Node]:
        """Where ``a.b`` as it is written is assigned to."""
        return self._members.get(written, ())

    def occurrences(self, scope: Scope, name: str) -> list[Node]:
        """Every place in the file that reads or binds a scope's name, in order."""
        found: list[Node] = []
        waiting = [scope.node]
        while waiting:
            node = waiting.pop()
            if not node.child_count:
                if self._text.of(node) == name and not self.is_key(node) and not self.is_member(node) and self.binder(node) is scope:
                    found.append(node)
            else:
                waiting += node.children
        return sorted(found, key=lambda node: node.start_byte)

    def is_member(self, node: Node) -> bool:
        """Whether a name is reached through what stands before it."""
        return bool(self.receiver(node))

    def receiver(self, node: Node) -> str:
        """What a name is reached through, as it is written; empty for a bare name."""
        parent = node.parent
        if parent is None or parent.start_byte == node.start_byte:
            return ""
        before = self._text.slice(parent.start_byte, node.start_byte).rstrip()
        for separator in ("?.", "::", "->", "."):
            if before.endswith(separator):
                return before.removesuffix(separator).rstrip()
        return ""


def _effective(bound: Node) -> int:
    """The byte from which on a name is bound: after the value that it is given."""
    parent = bound.parent
    if parent is not None and (parent.child_by_field_name("right") is not None or parent.child_by_field_name("value") is not None):
        return bound.end_byte if parent.type in ("for_statement", "for_in_clause", "for_in_statement") else parent.end_byte
    return bound.start_byte
