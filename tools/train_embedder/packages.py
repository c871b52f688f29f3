"""The packages that are trained and evaluated on, and the projects that must not be among them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

HERE: Final = Path(__file__).parent
Role = Literal["training", "evaluation"]
_ROLES: Final[tuple[Role, ...]] = ("training", "evaluation")
_DEBIAN_SUFFIX: Final = re.compile(r"-(?:dev|java)$")


@dataclass(frozen=True, slots=True)
class Package:
    """A package of a registry: ``pypi``, ``npm``, ``debian`` (binary packages) or ``debian-source``."""

    registry: str
    name: str
    role: Role

    def file(self, folder: Path) -> Path | None:
        """Its downloaded archive below ``folder``, None when it is not there."""
        name = self.name.lstrip("@").replace("/", "-")
        stem = re.sub(r"[-_.]+", "[-_.]", name) if self.registry == "pypi" else re.escape(name)
        ending = {"pypi": r"-.*\.whl", "npm": r"-\d.*\.tgz", "debian": r"_.*\.deb", "debian-source": r"_.*\.orig\.tar\.\w+"}[self.registry]
        pattern = re.compile(stem + ending, re.IGNORECASE)
        place = folder / self.registry
        found = sorted(path for path in place.iterdir() if pattern.fullmatch(path.name)) if place.is_dir() else []
        return found[-1] if found else None


def listed() -> list[Package]:
    """Every package of packages.toml."""
    tables = _tables()
    return [Package(registry, name, role) for role in _ROLES for registry, names in tables[role].items() for name in names]


def stated_licence(name: str) -> str | None:
    """The licence of a package that does not say it in a form that can be read; None when it should."""
    licence: str | None = _tables()["licences"].get(name)
    return licence


def excluded(name: str) -> bool:
    """Whether a package's or a folder's name is that of a project that others are judged by, or ends with it."""
    parts = _DEBIAN_SUFFIX.sub("", name.lower()).split("-")
    return not _excluded().isdisjoint("-".join(parts[start:]) for start in range(len(parts)))


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    return tomllib.loads((HERE / "packages.toml").read_text("utf-8"))


@lru_cache(maxsize=1)
def _excluded() -> frozenset[str]:
    lines = (HERE / "excluded.txt").read_text("utf-8").lower().splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))
