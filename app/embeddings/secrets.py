"""What must not be sent to a provider: key files, and texts that hold something that looks like a secret.

Too careful rather than too trusting: a chunk that is withheld without need is still found by the other retrievers.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import Final

_SECRET_FILE: Final = re.compile(
    r"""(?:^|/)(?:
        \.env(?:\.[^/]*)? | [^/]*\.env | \.envrc | \.netrc | _netrc | \.npmrc | \.pypirc | \.pgpass | \.my\.cnf | \.htpasswd | \.dockercfg
        | \.git-credentials | \.docker/config\.json | \.aws/(?:credentials|config) | \.kube/config | kubeconfig | \.ssh/[^/]*
        | id_(?:rsa|dsa|ecdsa|ed25519)[^/]* | [^/]*\.(?:pem|key|p12|pfx|pkcs12|jks|keystore|kdbx|ppk|asc|gpg|tfstate|tfvars|ovpn)
        | (?:client_)?secrets?\.(?:ya?ml|json|toml|ini|properties)
        | credentials(?:\.(?:ya?ml|json|toml|ini|csv))? | service[-_]account[^/]*\.json
    )$""",
    re.VERBOSE | re.IGNORECASE,
)
_EXAMPLE_FILE: Final = re.compile(r"\.(?:example|sample|template|dist|defaults?)$", re.IGNORECASE)

# Every repetition that may fail is bounded: texts come from anywhere, and a pattern must not take the square of their length.
_KNOWN_SECRET: Final = re.compile(
    r"""-----BEGIN\ [A-Z0-9 ]{0,30}PRIVATE\ KEY | -----BEGIN\ PGP\ PRIVATE | \b(?:AKIA|ASIA|AIDA|AROA)[0-9A-Z]{16}\b
        | \bgh[pousr]_[A-Za-z0-9]{30,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bglpat-[\w-]{18,} | \bxox[abeoprs]-[\w-]{10,}
        | \bsk-[A-Za-z0-9_-]{20,} | \b[sr]k_(?:live|test)_[A-Za-z0-9]{16,} | \bpa-[A-Za-z0-9_-]{30,} | \bAIza[\w-]{35} | \bya29\.[\w-]{20,}
        | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[\w-]{40,} | \bhf_[A-Za-z0-9]{30,} | \bSG\.[\w-]{16,64}\.[\w-]{16} | \bdop_v1_[a-f0-9]{60,}
        | \beyJ[\w-]{10,500}\.eyJ[\w-]{10,2000}\.[\w-]{10} | \bhooks\.slack\.com/services/T\w{1,20}/B\w{1,20}/\w
    """,
    re.VERBOSE,
)
_PASSWORD_IN_URL: Final = re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@'\"<>{}$%]{0,100}:([^\s/@'\"<>{}$%]{6,200})@[\w.-]", re.IGNORECASE)
_NAME: Final = (
    r"(?:secret|passwd|password|passphrase|api_?key|access_?key|private_?key|auth_?token|access_?token|credential|signing_?key)"
    r"\w{0,40}[\"']?\s{0,8}(?:=>|:=|[:=])\s{0,8}"
)
_NAMED_SECRET: Final = re.compile(_NAME + r"[\"'`]([^\s\"'`]{12,})[\"'`]", re.IGNORECASE)
_BARE_SECRET: Final = re.compile(_NAME + r"([A-Za-z0-9+/_-]{20,}={0,2})(?=\s|$)", re.IGNORECASE)  # as configuration files have it
_TOKEN: Final = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{24,}={0,2}(?![\w+/=-])")
_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_NAMED_DIGEST: Final = re.compile(r"(?:sha\d|md5|integrity|digest|checksum|hash|commit|revision|@)[\w\"']*[-:=@ \"']*$", re.IGNORECASE)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

_LEAST_BITS: Final = 4.2  # Shannon's entropy per character: names and words stay below, random base64 of this length above
_LEAST_NAMED_BITS: Final = 3.2
_LEAST_HEX_BITS: Final = 3.0
_LONGEST_NAMED_RUN: Final = 3.5
_LONGEST_RUN: Final = 2.6  # characters of one kind in a row, on average: names are made of words, random text is not


def withheld_reason(path: str, text: str) -> str | None:
    """Why this text of this file stays here, in two words for people and counts; None when it may be sent."""
    if _SECRET_FILE.search(path) and not _EXAMPLE_FILE.search(path):
        return "key file"
    return "secret" if has_secret(text) else None


def has_secret(text: str) -> bool:
    """Whether a text holds a key of a known form, a password or a random token."""
    if _KNOWN_SECRET.search(text) or _PASSWORD_IN_URL.search(text):
        return True
    if any(_entropy(match[1]) >= _LEAST_NAMED_BITS and _is_mixed(match[1]) for match in _NAMED_SECRET.finditer(text)):
        return True
    if any(_is_mixed(match[1]) and _mean_run(match[1]) < _LONGEST_NAMED_RUN for match in _BARE_SECRET.finditer(text)):
        return True
    return any(_is_random(match, text) for match in _TOKEN.finditer(text))


def _is_random(match: re.Match[str], text: str) -> bool:
    token = match[0].rstrip("=")
    if _HEX.fullmatch(token):
        # What is called a digest is public; 32 to 128 hex digits without such a name may be a key.
        named = _NAMED_DIGEST.search(text, max(0, match.start() - 40), match.start())
        return len(token) >= 32 and not token.isdigit() and _entropy(token.lower()) >= _LEAST_HEX_BITS and not named
    kinds = (any(map(str.islower, token)), any(map(str.isupper, token)), any(map(str.isdigit, token)))
    if sum(kinds) < 3 or _entropy(token) < _LEAST_BITS:
        return False
    return _mean_run(token) < _LONGEST_RUN


def _is_mixed(value: str) -> bool:
    """Letters and digits: not a sentence, a name or a placeholder."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and not re.search(r"[{}$<>()]|\.\.\.|xxx", value, re.IGNORECASE)


def _mean_run(token: str) -> float:
    runs = _WORD.findall(token)
    return sum(map(len, runs)) / len(runs)


def _entropy(token: str) -> float:
    """Shannon's, in bits per character."""
    counts = Counter(token)
    return -sum(count / len(token) * log2(count / len(token)) for count in counts.values())
