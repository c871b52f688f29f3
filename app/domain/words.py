"""How text becomes words: one analysis for bodies, names, paths and questions, so that both sides of a match agree.

An identifier is split where its case, digits or underscores say so; each part is lower-cased and stemmed (Snowball English, the
stems of PostgreSQL's ``english_stem``), and a compound's joined lower-case whole is kept beside its parts. Words in other
alphabets are lower-cased as they are; Chinese, Japanese and Korean runs become overlapping pairs of characters.

The recipe is measured in ``docs/ranking.md``; it is used on every chunk of every index run, hence the memoisation per token.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Final

import Stemmer

from app.domain.query import QueryTerms, Translated

CJK: Final = (
    "\u3040-\u30ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Han
    "\uac00-\ud7af"  # Hangul
    "\uff66-\uff9f"  # half-width kana
)
"""Scripts written without spaces between words, as ranges of a regular expression's character class."""

LONGEST_WORD: Final = 120
"""Characters; longer runs (keys, encoded blobs) are no words and would not fit an index row. The trigram index finds them."""

_TOKEN = re.compile(r"[\w$]+")
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_NUMBER = re.compile(r"\b[0-9]+\b")
_CJK = re.compile(f"[{CJK}]")
_SCRIPT_RUN = re.compile(rf"[{CJK}]+|(?:(?![{CJK}])[\w$])+")
_OTHER_PART = re.compile(r"[^\W\d_]+|\d+")
_NAME = rf"(?![\d{CJK}])[\w$](?:(?![{CJK}])[\w$])*"
_QUALIFIED_NAME = re.compile(rf"{_NAME}(?:(?:\.|::|#){_NAME})*")
_SEPARATOR = re.compile(r"\.|::|#")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_EXTENSION = re.compile(r"(?<=.)\.[A-Za-z]+$")
_FILE_ROLE = re.compile(r"(?<=.)(?:\.test|\.spec|_test|_spec|\.d)$")
_SIGILS = "$_@!?"
_ASCII_TOKENS = "".join(chr(code) if _TOKEN.match(chr(code)) else " " for code in range(128))
"""What ``_TOKEN`` finds in ASCII text, as a table for ``str.translate``: four times as fast."""

_Part = tuple[str, int, int]  # lower-case text, start, end

# PyStemmer's own cache is off: it is not safe to share between threads, and parts are memoised here.
_STEMMER = Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The Snowball-English stem of a lower-case word."""
    return str(_STEMMER.stemWord(word))


def body_terms(text: str) -> list[str]:
    """Every term of a text, repeated as often as it occurs: stemmed parts, joined wholes, numbers, CJK pairs."""
    return list(chain.from_iterable(map(token_terms, tokens(text))))


def distinct_terms(text: str) -> frozenset[str]:
    """The terms of a text, each once."""
    return frozenset(chain.from_iterable(map(token_terms, frozenset(tokens(text)))))


def tokens(text: str) -> list[str]:
    """The runs of word characters in a text, composed (NFC)."""
    if text.isascii():
        return text.translate(_ASCII_TOKENS).split()
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return _TOKEN.findall(text)


@lru_cache(maxsize=1 << 15)
def token_terms(token: str) -> tuple[str, ...]:
    """The index terms of a run of word characters."""
    terms: list[str] = []
    for parts in _plain_words(token):
        terms += map(stem, parts)
        if len(parts) > 1:
            terms.append("".join(parts))
    return tuple(terms)


def path_terms(path: str) -> list[str]:
    """The terms of a path without its extension."""
    return body_terms(path_text(path))


def path_text(path: str) -> str:
    """What of a path is analysed: all but its extension."""
    return _EXTENSION.sub("", path)


def symbol_words(name: str) -> tuple[str, ...]:
    """The distinct stemmed parts of a name, in order."""
    return tuple(dict.fromkeys(stem(part) for token in tokens(name) for word in _plain_words(token) for part in word))


def file_name_words(path: str) -> tuple[str, ...]:
    """The distinct stemmed parts of a file's name, without its extension and without what marks a test or a type stub."""
    name = path_text(path.rpartition("/")[2])
    return symbol_words(_FILE_ROLE.sub("", name))


def bare(name: str) -> str:
    """A name without the sigils around it (``$ZodType``, ``_private``, ``save!``)."""
    return name.strip(_SIGILS) or name


def folded(name: str) -> str:
    """A name for lookups: bare and in lower case."""
    return bare(name).lower()


def compound(name: str) -> str:
    """The joined lower-case whole of a name: ``get_user_id`` and ``getUserID`` are both ``getuserid``."""
    return "".join(name_parts(name))


def name_parts(name: str) -> tuple[str, ...]:
    """The lower-case parts of a name or path, not stemmed, in order, as often as they occur."""
    return tuple(part for token in tokens(name) for word in _plain_words(token) for part in word)


MOST_TERMS: Final = 200
"""Of a question: a page of pasted text has a few hundred different words, and the first ones tell what it is about."""


def query_terms(
    text: str, repository_names: Collection[str], stop_words: frozenset[str], translated: Sequence[Translated] = ()
) -> QueryTerms:
    """Analyse a question.

    ``stop_words`` are dropped unless they are part of a compound or all there is; so is the name of the repository when there is
    only one, since in its own repository it tells nothing. A query of one word keeps everything. The English of ``translated`` words
    stands beside them.
    """
    single = len(text.split()) == 1 and not _CJK.search(text)
    own_name = compound(next(iter(repository_names))) if len(repository_names) == 1 and not single else None
    words = [word for token in tokens(_without(text, translated)) for word in _token_words(token, stop_words)]
    terms: dict[str, float] = {}
    for parts in words:
        if "".join(parts) == own_name or (parts[0] in stop_words and len(parts) == 1 and not single):
            continue
        compounded = len(parts) > 1
        terms.update((stem(part), 1.0) for part in parts if not (compounded and len(part) == 1))
        if compounded:
            terms["".join(parts)] = 1.0
    if not terms and not translated:
        terms = {stem(part): 1.0 for parts in words for part in parts}
    translations = {term: frozenset(map(stem, said.english)) for said in translated for term in body_terms(said.word)}
    terms.update((term, 1.0) for said in translated for term in (*body_terms(said.word), *map(stem, said.english)))
    cut = len(terms) > MOST_TERMS
    terms = dict(islice(terms.items(), MOST_TERMS))
    wholes = frozenset("".join(parts) for parts in words if len(parts) > 1)
    return QueryTerms(
        single=single,
        terms=terms,
        words=tuple(term for term in terms if term not in wholes),
        identifiers=tuple(dict.fromkeys(_identifiers(text, single, own_name)))[:MOST_TERMS],
        wholes=wholes,
        only_stop_words=not translated and all(len(parts) == 1 and parts[0] in stop_words for parts in words),
        cut=cut,
        translations=translations,
    )


class TermFinder:
    """Tells where a text says one of some terms."""

    def __init__(self, terms: frozenset[str]) -> None:
        self._terms = terms

    def tokens(self, text: str) -> frozenset[str]:
        """The words of a text in which a term is said."""
        if text.isascii():
            return frozenset([token for token in set(tokens(text)) if not self._terms.isdisjoint(token_terms(token))])
        return frozenset(token for token in set(_TOKEN.findall(text)) if not self._terms.isdisjoint(_terms_in(token)))

    def spans(self, line: str, tokens: Set[str]) -> list[tuple[int, int]]:
        """Half-open spans in code points, in order, neighbours merged; ``tokens`` are those of the text that the line is of."""
        spans = [
            (match.start() + start, match.start() + end)
            for match in _TOKEN.finditer(line)
            if match.group() in tokens
            for term, start, end in _token_spans(match.group())
            if term in self._terms
        ]
        return merge_spans(spans) if spans else spans


def merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, with those that touch or overlap made one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def word_match(query_word: str, word: str) -> float:
    """How far a word of a name answers a word of the question, both stemmed: 1 same, .8 abbreviation, .7 or .42 prefix, 0 none."""
    if query_word == word:
        return 1.0
    if word in abbreviations_of(query_word):
        return 0.8
    shorter, longer = sorted((query_word, word), key=len)
    if len(shorter) >= 4 and longer.startswith(shorter):
        return 0.7
    if len(word) == 3 and query_word.startswith(word):
        return 0.42
    return 0.0


def abbreviations_of(word: str) -> frozenset[str]:
    """The stems that a stemmed word is an abbreviation of, or that abbreviate it."""
    return _abbreviations().get(word, frozenset())


def _terms_in(token: str) -> Iterable[str]:
    """The terms that ``_token_spans`` places; of ASCII the short way, which has them in memory for whole texts."""
    return token_terms(token) if token.isascii() else [term for term, _, _ in _token_spans(token)]


@lru_cache(maxsize=1 << 15)
def _token_spans(token: str) -> tuple[tuple[str, int, int], ...]:
    """The index terms of a run of word characters, each with its span."""
    spans: list[tuple[str, int, int]] = []
    for parts in _words(token):
        spans += ((stem(part), start, end) for part, start, end in parts)
        if len(parts) > 1:
            spans.append(("".join(part for part, _, _ in parts), parts[0][1], parts[-1][2]))
    return tuple(spans)


def _plain_words(token: str) -> list[list[str]]:
    """``_token_words`` without stop words, the short way: it is taken for every new token of an index run."""
    if token.isalpha() and token.isascii() and token.islower() and len(token) <= LONGEST_WORD:
        return [[token]]
    if len(token) > LONGEST_WORD or "$" in token or (not token.isascii() and _CJK.search(token)):
        return [[part for part, _, _ in parts] for parts in _words(token)]
    if not token.isascii():
        words = [_OTHER_PART.findall(token)]
    elif token.isdecimal():
        words = [[token]]
    else:
        words = list(map(_PART.findall, _IDENTIFIER.findall(token)))
    return [list(map(str.lower, parts)) for parts in words if parts]


def _token_words(token: str, stop_words: frozenset[str] = frozenset()) -> list[tuple[str, ...]]:
    return [tuple(part for part, _, _ in parts) for parts in _words(token, stop_words)]


def _words(token: str, stop_words: frozenset[str] = frozenset()) -> list[list[_Part]]:
    """The words of a run of word characters, each as its parts. CJK stop words part a run before it is paired."""
    words: list[list[_Part]] = []
    for run in _SCRIPT_RUN.finditer(token):
        text, offset = run.group(), run.start()
        if text.isascii():
            found = chain(_IDENTIFIER.finditer(text), _NUMBER.finditer(text))
            words += (_parts(_PART, text, offset, *word.span()) for word in found)
        elif _CJK.match(text):
            words += ([(pair, start, start + len(pair))] for pair, start in _pairs(text, offset, stop_words))
        else:
            words.append(_parts(_OTHER_PART, text, offset, 0, len(text)))
    return [parts for parts in words if parts and parts[-1][2] - parts[0][1] <= LONGEST_WORD]


def _parts(pattern: re.Pattern[str], text: str, offset: int, start: int, end: int) -> list[_Part]:
    return [(part.group().lower(), offset + part.start(), offset + part.end()) for part in pattern.finditer(text, start, end)]


def _pairs(run: str, offset: int, stop_words: frozenset[str]) -> Iterator[tuple[str, int]]:
    """The overlapping pairs of a CJK run, and where each begins; a run of nothing but stop words keeps them."""
    pieces = [(0, len(run))]
    if pattern := _cjk_stop_pattern(stop_words):
        stops = [(0, 0), *(match.span() for match in pattern.finditer(run)), (len(run), len(run))]
        pieces = [(before[1], after[0]) for before, after in pairwise(stops) if before[1] < after[0]] or pieces
    for start, end in pieces:
        for position in range(start, max(start + 1, end - 1)):
            yield run[position : min(position + 2, end)], offset + position


@lru_cache(maxsize=8)
def _cjk_stop_pattern(stop_words: frozenset[str]) -> re.Pattern[str] | None:
    words = sorted((word for word in stop_words if _CJK.match(word)), key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, words))) if words else None


def _without(text: str, translated: Sequence[Translated]) -> str:
    """The text without the translated words that stand in a run of characters: they are whole words, and part what is left of the run."""
    runs = sorted((said.word for said in translated if _CJK.match(said.word)), key=len, reverse=True)
    return re.sub("|".join(map(re.escape, runs)), " ", text) if runs else text


def _identifiers(text: str, single: bool, own_name: str | None) -> Iterable[tuple[str, str]]:
    """(name as written, its last segment) for each word of a question that looks like a name in code."""
    for position, match in enumerate(_QUALIFIED_NAME.finditer(text)):
        name = match.group()
        last = _SEPARATOR.split(name)[-1]
        if own_name is not None and compound(name) == own_name:
            continue
        if single or (len(bare(last)) > 1 and _looks_like_code(name, position, text[match.end() :])):
            yield name, last


def is_written_as_code(name: str) -> bool:
    """Whether a name could be no word of a sentence: ``snake_case``, ``camelCase``, ``a.b``, ``call()``."""
    return "_" in name.strip("_") or "(" in name or bool(_SEPARATOR.search(name) or _INNER_CAPITAL.search(name))


def _looks_like_code(name: str, position: int, rest: str) -> bool:
    if is_written_as_code(name) or rest.startswith(("(", " (")):
        return True
    return position > 0 and name[0].isupper() and not name.isupper()


@lru_cache(maxsize=1)
def _abbreviations() -> dict[str, frozenset[str]]:
    related: dict[str, set[str]] = {}
    for line in _ABBREVIATIONS.strip().splitlines():
        full, *short = line.split()
        for abbreviation in short:
            related.setdefault(stem(full), set()).add(stem(abbreviation))
            related.setdefault(stem(abbreviation), set()).add(stem(full))
    return {word: frozenset(others) for word, others in related.items()}


# A word, then what programmers write for it.
_ABBREVIATIONS = """
address addr
argument arg
asynchronous async
attribute attr
authentication auth
buffer buf
button btn
command cmd
configuration config cfg conf
config cfg conf
connection conn
context ctx
database db
dependency deps
dereference deref
deserialize de
destination dst dest
directory dir
documentation doc docs
environment env
error err
execute exec
filesystem fs
function fn func
generate gen
image img
implementation impl
index idx
initialize init
iterator iter
length len
library lib
memory mem
message msg
multiplexer mux
number num
object obj
package pkg
parameter param
password passwd pwd
pointer ptr
previous prev
process proc
reference ref
regular regex
repository repo
request req
response res resp
serialize ser
session sess
signal sig
source src
specification spec
ssl tls
standard std
statement stmt
string str
synchronous sync
temporary tmp temp
utility util utils
value val
variable var
websocket ws
"""
