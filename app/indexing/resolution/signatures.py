"""Declared types, read out of the text of a signature. A type is given as its dotted name, without decoration; of a collection, what it
holds stands in brackets behind it: ``dict[str, Foo]`` is ``dict[Foo]``, ``Foo[]`` is ``Array[Foo]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.indexing.resolution.families import CSHARP, GO, JAVA, JAVASCRIPT, PHP, PYTHON, RUBY, RUST, C, Family

_NAME = re.compile(r"[^\W\d]\w*")
_MODIFIERS = """
public private protected internal readonly static final const mut ref out in params override abstract async export default let var val dyn
impl struct class enum union typename volatile register extern inline virtual unsigned signed pub declare sealed transient synchronized
new required
"""
_WORDS_BEFORE = frozenset(_MODIFIERS.split())
_TRANSPARENT = """
Optional Annotated Final ClassVar Promise Awaitable Readonly Partial Required Box Rc Arc Option Ref RefCell Mutex RwLock shared_ptr
unique_ptr weak_ptr Nullable Task Lazy
"""
_WRAPPERS = frozenset(_TRANSPARENT.split())
_ITEMS = """
list List Sequence MutableSequence Iterable Iterator Generator AsyncIterable AsyncIterator Collection set Set frozenset FrozenSet
AbstractSet tuple Tuple deque Array ReadonlyArray ReadonlySet IterableIterator
"""
_COLLECTIONS = frozenset(_ITEMS.split())
MAPPINGS = frozenset(
    ["dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict", "Map", "ReadonlyMap", "Record"]
)
"""Types whose second argument is what they hold."""

_NOTHING = frozenset({"None", "null", "undefined", "nil", "void"})
_TYPE_FIRST = frozenset({C.name, CSHARP.name, JAVA.name, PHP.name})
_CONSTRUCTION = re.compile(r"=\s*(?:await\s+)?(?:new\s+)?&?\s*((?:[^\W\d]\w*(?:\.|::|\\))*[^\W\d]\w*)\s*[({]")


def parameters(signature: str, name: str, family: Family) -> dict[str, str | None]:
    """Parameter name → declared type; None when there is none or it is no single named type. A Go receiver counts as one."""
    found: dict[str, str | None] = {}
    for group in _parameter_groups(signature, name, family):
        pending: list[str] = []
        for part in _split(group, ","):
            _read_parameter(part.strip(), family, found, pending)
    return found


def defaults(signature: str, name: str, family: Family) -> dict[str, str]:
    """Parameter name → the text of its default value."""
    found: dict[str, str] = {}
    for group in _parameter_groups(signature, name, family):
        for part in _split(group, ","):
            before, *after = _split(part, "=")
            names = _NAME.findall(before.partition(":")[0])
            if names and after:
                found[names[-1]] = after[0].strip()
    return found


def value_type(signature: str, name: str, family: Family) -> tuple[str, bool] | None:
    """What a variable, constant or field holds: (type or called name, whether it is a call's name rather than a type)."""
    declared = _annotated(signature, name, family)
    if declared:
        return declared, False
    construction = _CONSTRUCTION.search(signature)
    if construction:
        return _dotted(construction[1]), True
    return None


def return_type(signature: str, name: str, family: Family) -> str | None:
    """The declared type of what a function gives back."""
    if family in (PYTHON, RUST):
        arrow = signature.rpartition("->")
        return named_type(arrow[2].rstrip(": {")) if arrow[1] else None
    if family.name in _TYPE_FIRST and family is not PHP:
        before = signature.partition("(")[0].rstrip()
        return named_type(before.removesuffix(name)) if before.endswith(name) else None
    if family is RUBY:
        return None
    end = _closing(signature, _opening(signature, name))
    after = signature[end + 1 :].strip().removesuffix("{").rstrip().removesuffix("=>").strip()
    if family is GO:
        first = next(_split(after.strip("()"), ","), "").strip()
        return named_type(first.split()[-1]) if first else None
    return named_type(after[1:]) if after.startswith(":") else None


def named_type(text: str) -> str | None:
    """The one named type in a type expression: ``Optional[Foo]``, ``*pkg.Foo``, ``Foo | None`` → Foo; None for several or none."""
    text = text.strip().strip("\"'").strip()
    alternatives = [part.strip() for part in _split(text, "|")]
    alternatives = [part for part in alternatives if part and part not in _NOTHING]
    if len(alternatives) != 1:
        return None
    text = re.sub(r"^(?:[*&?\s]|'\w+\s)+", "", alternatives[0]).rstrip("*&?! ")
    words = text.split()
    while len(words) > 1 and words[0] in _WORDS_BEFORE:
        words.pop(0)
    text = " ".join(words).lstrip("*& ").rstrip("*&?! ")
    head = re.match(r"((?:[^\W\d]\w*(?:\.|::|\\))*[^\W\d]\w*)\s*(.*)$", text.lstrip("\\"), re.DOTALL)
    if not head:
        return None
    outer, rest = _dotted(head[1]), head[2]
    if not rest:
        return outer
    if rest[0] in "[<" and rest[-1] in "]>":
        if outer.rpartition(".")[2] in _WRAPPERS:
            return named_type(next(_split(rest[1:-1], ","), ""))
        element = outer if rest == "[]" else _element(outer.rpartition(".")[2], rest[1:-1])
        return f"{'Array' if rest == '[]' else outer}[{element}]" if element else outer
    return None


def _element(collection: str, arguments: str) -> str | None:
    """What a collection of these type arguments holds."""
    parts = list(_split(arguments, ","))
    if collection in MAPPINGS:
        return named_type(parts[1]) if len(parts) > 1 else None
    return named_type(parts[0]) if collection in _COLLECTIONS else None


def _annotated(signature: str, name: str, family: Family) -> str | None:
    if family.name in _TYPE_FIRST:
        declared = signature.partition("=")[0].rstrip("; ")
        before, found, after = declared.rpartition(("$" if family is PHP else "") + name)
        return named_type(_without_modifiers(before)) if found and not after.strip("[]; ") else None
    if family is GO:
        after = signature[_after(signature, name) :]
        return named_type(after.partition("=")[0].partition("`")[0]) if after[:1].isspace() else None
    after = signature[_after(signature, name) :].lstrip("?! ")
    if after[:1] != ":" or after[1:2] in (":", "="):
        return None
    return named_type(next(_split(after[1:].rstrip(",; "), "="), ""))


def _read_parameter(part: str, family: Family, found: dict[str, str | None], pending: list[str]) -> None:
    """Add one parameter. Go shares a type among names (``a, b Foo``): the names wait in ``pending`` for it."""
    part = next(_split(part, "="), "").strip()
    if family.name in _TYPE_FIRST:
        names = _NAME.findall(part.rstrip("[] "))
        if names:
            before = part[: part.rfind(names[-1])]
            found[names[-1]] = named_type(_without_modifiers(before.rstrip("$"))) if before.strip() else None
        return
    if family is GO:
        words = part.split(None, 1)
        if len(words) == 1:
            pending.append(words[0])
            found[words[0]] = None
        elif words:
            for name in (*pending, words[0]):
                found[name] = named_type(words[1])
            pending.clear()
        return
    name, colon, annotation = part.partition(":")
    names = _NAME.findall(name.rstrip("?! "))
    if not names:
        return
    if name.lstrip().startswith(("{", "[")):
        found.update(dict.fromkeys(_NAME.findall(part), None))
    else:
        found[names[-1]] = named_type(annotation) if colon else None


def _parameter_groups(signature: str, name: str, family: Family) -> Iterator[str]:
    start = _opening(signature, name)
    if family is GO and signature.startswith("func ("):
        yield signature[6 : _closing(signature, 5)]
    if start >= 0:
        yield signature[start + 1 : _closing(signature, start)]
    elif family is PYTHON:
        after = signature.partition("lambda")
        if after[1]:
            yield after[2].strip().rstrip(":")
    elif family is JAVASCRIPT:
        lone = re.search(r"=\s*(?:async\s+)?([^\W\d]\w*)\s*=>", signature)
        if lone:
            yield lone[1]


def _opening(signature: str, name: str) -> int:
    """Where the parameter list begins: the first parenthesis after the name."""
    return signature.find("(", _after(signature, name, absent=0))


def _after(text: str, name: str, *, absent: int | None = None) -> int:
    """Where the first occurrence of ``name`` as a whole word ends; ``absent``, or the text's end, when there is none."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not (at and _is_word(text[at - 1])) and not _is_word(text[end : end + 1]):
            return end
        at = text.find(name, end)
    return len(text) if absent is None else absent


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _closing(text: str, start: int) -> int:
    """The index of the parenthesis that closes the one at ``start``, or the text's end when it was cut."""
    if start < 0:
        return len(text)
    depth = 0
    for index in range(start, len(text)):
        if text[index] == "(":
            depth += 1
        elif text[index] == ")":
            depth -= 1
            if not depth:
                return index
    return len(text)


def _split(text: str, separator: str) -> Iterator[str]:
    """The parts of a text between separators that stand outside of brackets; ``=>`` and ``->`` are no brackets, ``==`` no ``=``."""
    depth = begin = 0
    for index, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[index - 1 : index] not in ("=", "-")):
            depth -= 1
        elif character == separator and depth <= 0 and not (separator == "=" and text[index + 1 : index + 2] == ">"):
            yield text[begin:index]
            begin = index + 1
    yield text[begin:]


def _without_modifiers(text: str) -> str:
    return " ".join(word for word in text.split() if word not in _WORDS_BEFORE and not word.startswith("@"))


def _dotted(name: str) -> str:
    return name.replace("::", ".").replace("\\", ".").strip(".")
