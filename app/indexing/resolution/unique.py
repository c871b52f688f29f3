"""The last resort for ``thing.method()`` when nothing is known of ``thing``: a method that exists once and is no everyday name."""

from __future__ import annotations

import re

from app.domain.code import SymbolKind
from app.indexing.resolution.index import Definition, DefinitionIndex, Module, is_member

# Methods of built-in and standard types, in any of the languages: a call of one of these is seldom the repository's own.
EVERYDAY = frozenset(
    "add all any append apply assert_called_once assert_called_with assert_not_called at bind call capitalize catch ceil char_at chars "
    "clear clone close collect commit compare compare_to concat connect contains contains_key copy count create cursor decode default "
    "delete describe difference dispatch display done dump dumps each emit empty encode end ends_with entries entry equals error errors "
    "every exec execute exists expect expand extend fetch fetch_all fetch_one field fields file files fill filter find find_all "
    "find_index finditer first flat_map flatten flush fold for_each format from from_iter fullmatch get get_class get_item get_name "
    "getvalue group groups handle has has_key hash hash_code head hexdigest id includes index index_of info init insert into into_iter "
    "invoke is_alive is_dir is_empty is_file is_some is_none is_ok is_err isalnum isalpha isdigit items iter iterator join json key "
    "keys kill last last_index_of len length limit list listen load loads lock log lower lstrip main map map_err mapping match max "
    "message min mkdir name new next none not_equals notify now of on once open ok_or or_else order parse partition path pop pop_back "
    "pop_front popitem post pre prepend print println push push_back push_front put query raise read read_text read_line readline "
    "readlines recv reduce register release remove render repeat replace request reset resolve reverse rollback rpartition rsplit "
    "rstrip run save scan schedule search seek select send set set_item setdefault setup shift show shutdown size skip sleep slice some "
    "sort sorted splice split splitlines start starts_with startswith endswith stat status step stop str string strip sub substr "
    "substring sum swap symmetric_difference sync tail take tell test text then throw timeout title to_array to_dict to_list to_lower "
    "to_lower_case to_owned to_string to_upper to_upper_case to_vec total_seconds trim truncate type union unwrap unwrap_or unlink "
    "unlock unshift update upper url use value value_of values verify view wait warn warning warnings with write write_text "
    "writelines yield zip isoformat strftime strptime timestamp utcnow fromtimestamp is_set set_result set_exception cancel result "
    "run_until_complete create_task get_event_loop getattr setattr has_attr get_or_default put_if_absent compute_if_absent "
    "add_event_listener remove_event_listener query_selector get_element_by_id append_child has_own_property prevent_default "
    "assert_equal assert_true assert_false assert_raises assert_in set_up tear_down add_argument parse_args get_logger add_handler "
    "set_level read_to_string as_str as_ref as_mut borrow borrow_mut unwrap_or_else unwrap_or_default and_then or_insert_with".split()
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")


def unique_member(index: DefinitionIndex, module: Module, name: str, receiver: str) -> Definition | None:
    """The only member of that name, when a second sign speaks for it; None else.

    Signs: a name of several words, a receiver named like the type (``blueprint`` for ``Blueprint``), a definition in the same
    folder that ``module`` imports from.
    """
    words = [word.lower() for word in _HUMP.split(name) if word]
    if not words or "_".join(words) in EVERYDAY or (name.startswith("__") and name.endswith("__")):
        return None
    named = [d for d in index.named(module.family, name) if d.kind is not SymbolKind.VARIABLE or d.container is None]
    if not named or not is_member(named[0]):
        return None
    first = named[0]
    if any(d.module is not first.module or d.local != first.local for d in named[1:]):
        return None
    several = len(words) > 1 and len(name) >= 8
    return first if several or _resembles(receiver, first.owner) else None


def _resembles(receiver: str, owner: str) -> bool:
    words = re.findall(r"\w+", receiver)
    said = words[-1].replace("_", "").lower() if words else ""
    meant = owner.rpartition(".")[2].lower()
    return len(said) >= 3 and (said == meant or meant.endswith(said) or said.endswith(meant))
