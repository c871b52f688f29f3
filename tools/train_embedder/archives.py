"""Reads the source files and the licence out of a downloaded package, whatever its format."""

from __future__ import annotations

import io
import json
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LARGEST: Final = 400_000  # bytes; larger sources are bundles or tables
_LONGEST_LICENCE: Final = 120  # characters
_LICENCE_FILE: Final = re.compile(r"(?:^|/)(?:licen[cs]e|copying|copyright)[^/]*$", re.IGNORECASE)
_COPYLEFT: Final = re.compile(r"\b[AL]?GPL|GNU (?:Lesser |Affero |Library )?General Public|Business Source|proprietary", re.IGNORECASE)
_PERMISSIVE: Final = re.compile(
    r"\bMIT\b|\bBSD|Apache|\bISC\b|\bZlib\b|\bPSF|Python Software Foundation|\bMPL|Mozilla Public|\bExpat\b|Unlicense|CC0|\b0BSD"
    r"|public[- ]domain|Boost|Ruby['’]?s? license|\bRuby or\b|\bHPND\b|Artistic|libpng|OpenSSL|WTFPL|Zope Public|\bEPL\b|BlueOak"
    r"|Permission is hereby granted, free of charge|Redistribution and use in source and binary forms|Permission to use, copy, modify",
    re.IGNORECASE,
)
_METADATA: Final = re.compile(r"^(?:License(?:-Expression)?|Classifier: License(?: :: OSI Approved)?) *::?(?! OSI) *(.+)", re.MULTILINE)
_PLACE: Final = re.compile(
    r"^(?:\./)?(?:usr/)?(?:(?:share|lib|src)/)*(?:gocode/src/|cargo/registry/|ruby/(?:vendor_ruby|gems)/|php/|rubygems-integration/all/gems/)?"
)
"""Where Debian's packages put sources; it says nothing of them."""


@dataclass(frozen=True, slots=True)
class Member:
    path: str
    data: bytes


def members(archive: Path) -> Iterator[Member]:
    """The files of a wheel, tarball or Debian package that are small enough to be written by people."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield from (Member(item.filename, wheel.read(item)) for item in wheel.infolist() if item.file_size <= _LARGEST)
    elif archive.suffix == ".deb":
        unpacked = subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(unpacked)) as tar:
            yield from _tar_members(tar)
    else:
        with tarfile.open(archive) as tar:
            yield from _tar_members(tar)


def _tar_members(tar: tarfile.TarFile) -> Iterator[Member]:
    for entry in tar:
        content = tar.extractfile(entry) if entry.isfile() and entry.size <= _LARGEST else None
        if content is not None:
            yield Member(_PLACE.sub("", entry.name), content.read())


def licence(archive: Path) -> str:
    """What the package says of its licence, in a few words; empty when it says nothing that is known."""
    found = ""
    for member in members(archive):
        text = member.data.decode("utf-8", "replace")
        if member.path.endswith(".dist-info/METADATA"):
            found = " ".join(dict.fromkeys(_METADATA.findall(text)))
        elif member.path.endswith("package/package.json") or member.path == "package.json":
            found = str(json.loads(text).get("license", ""))
        elif member.path.startswith("doc/") and member.path.endswith("/copyright"):
            stanza = re.search(r"^Files: *\*.*?^License: *([^\n]+)", text, re.M | re.S)
            found = stanza[1] if stanza else " ".join(dict.fromkeys(re.findall(_PERMISSIVE, text)[:3] + re.findall(_COPYLEFT, text)[:2]))
        if _known(found):
            return _short(found)
    for member in members(archive):
        if _LICENCE_FILE.search(member.path):
            text = member.data.decode("utf-8", "replace")[:4_000]
            return _short(" ".join(dict.fromkeys(re.findall(_COPYLEFT, text)[:1] + re.findall(_PERMISSIVE, text)[:2])))
    return ""


def permissive(words: str) -> bool:
    """Whether a licence allows the use: a permissive one is named, alone or as an alternative to a copyleft one."""
    return bool(_PERMISSIVE.search(words)) and (not _COPYLEFT.search(words) or " or " in words.lower())


def _known(words: str) -> bool:
    return bool(_PERMISSIVE.search(words) or _COPYLEFT.search(words))


def _short(words: str) -> str:
    words = re.sub(r"\s+", " ", words).strip()
    if len(words) > _LONGEST_LICENCE:  # a whole licence in the place of its name
        words = " ".join(dict.fromkeys(_COPYLEFT.findall(words)[:1] + _PERMISSIVE.findall(words)[:2]))
    return words
