"""The last resort for ``thing.method()`` when nothing is known of ``thing``: a method that exists once and is no everyday name."""

from __future__ import annotations

import re
from functools import lru_cache

from app.domain.code import PathClass, SymbolKind
from app.domain.paths import path_class
from app.indexing.resolution.index import Definition, DefinitionIndex, Module, is_member

# Methods of built-in and standard types, in any of the languages: a call of one of these is seldom the repository's own.
_EVERYDAY_WORDS = """
add add_argument add_event_listener add_handler add_range all and_then any append append_child apply as_mut as_ref as_str
assert_called_once assert_called_with assert_equal assert_false assert_in assert_not_called assert_raises assert_true at bind borrow
borrow_mut call cancel capitalize catch ceil char_at chars chomp chop class_eval clear clone close close_read close_write collect commit
compare compare_to compute_if_absent concat connect const_get contains contains_key copy count create create_task cursor decode default
define_method delete describe detect difference dispatch display done downcase dump dumps dup each each_char each_key each_line each_pair
each_slice each_value each_with_index each_with_object emit empty encode end end_with ends_with endswith entries entry equals error errors
every except exec execute exists expand expect extend fetch fetch_all fetch_one field fields file files fill filter find find_all
find_index finditer first flat_map flatten flush fold for_each force_encoding format freeze from from_iter fromtimestamp frozen fullmatch
get get_async get_bytes get_class get_class_name get_element_by_id get_event_loop get_full_year get_item get_key get_logger get_message
get_method get_name get_or_default get_status get_time get_type get_value getattr getvalue group group_by groups gsub handle has has_attr
has_key has_own_property hash hash_code head hexdigest id include includes index index_of index_of_any info init inject insert
instance_eval instance_variable_get instance_variable_set into into_iter invoke is_a is_alive is_assignable_from is_dir is_empty is_err
is_file is_instance is_none is_ok is_set is_some isalnum isalpha isdigit isoformat items iter iterator join json key keys kill kind_of
last last_index_of len length limit list listen load loads lock log lower lstrip main map map_err mapping match max max_by merge message
min min_by mkdir module_eval name new next nil none not_equals notify now of ok_or on once open or_else or_insert_with order parse
parse_args partition path pop pop_back pop_front popitem post post_async pre prepend prevent_default print print_stack_trace println
public_send push push_back push_front put put_if_absent query query_selector raise read read_bytes read_line read_text read_to_string
readline readlines recv reduce register reject release remove remove_event_listener render repeat replace request reset resolve respond_to
result reverse rollback rpartition rsplit rstrip run run_until_complete save scan schedule search seek select send set set_exception
set_item set_level set_result set_up setattr setdefault setup shift show shutdown size skip sleep slice some sort sort_by sorted splice
split splitlines squeeze start start_with starts_with startswith stat status step stop str strftime string strip strptime sub substr
substring sum swap symmetric_difference sync tail take tap tear_down tell test text then throw timeout timestamp title to_a to_array
to_dict to_h to_i to_iso_string to_list to_lower to_lower_case to_owned to_proc to_s to_string to_string_async to_sym to_upper
to_upper_case to_vec total_seconds tr trim truncate type union unlink unlock unshift unwrap unwrap_or unwrap_or_default unwrap_or_else
upcase update upper url use user_agent utcnow value value_of values verify view wait warn warning warnings with write write_bytes
write_text writelines yield zip
"""
EVERYDAY = frozenset(_EVERYDAY_WORDS.split())
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")


def unique_member(index: DefinitionIndex, module: Module, name: str, receiver: str) -> Definition | None:
    """The only member of that name, when a second sign speaks for it; None else.

    Signs: a name of several words; a receiver named like the type (``blueprint`` for ``Blueprint``). A test's method is never meant
    from outside of tests.
    """
    words = _telling_words(name)
    if not words:
        return None
    named = [d for d in index.named(module.family, name) if d.kind is not SymbolKind.VARIABLE or d.container is None]
    if not named or not is_member(named[0]):
        return None
    first = named[0]
    if any(d.module is not first.module or d.local != first.local for d in named[1:]):
        return None
    if is_test(first.module.path) and not is_test(module.path):
        return None
    several = words > 1 and len(name) >= 8
    return first if several or _resembles(receiver, first.owner) else None


@lru_cache(maxsize=100_000)
def _telling_words(name: str) -> int:
    """How many words a name consists of; none for everyday names and for what the language itself calls."""
    words = [word.lower() for word in _HUMP.split(name) if word]
    everyday = "_".join(words).rstrip("?!") in EVERYDAY or (name.startswith("__") and name.endswith("__"))
    return 0 if everyday else len(words)


@lru_cache(maxsize=100_000)
def is_test(path: str) -> bool:
    """Whether a file is a test or an example."""
    return path_class(path) in (PathClass.TEST, PathClass.EXAMPLE)


def _resembles(receiver: str, owner: str) -> bool:
    words = re.findall(r"\w+", receiver)
    said = words[-1].replace("_", "").lower() if words else ""
    meant = owner.rpartition(".")[2].lower()
    return len(said) >= 3 and (said == meant or meant.endswith(said) or said.endswith(meant))
