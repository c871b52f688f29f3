"""Whether every grammar loads and every query compiles, for whoever checks an installation."""

from __future__ import annotations

from app.languages import registry


def load_grammars() -> int:
    """The number of languages that are parsed; raises ConfigurationError naming what does not load."""
    registry.validate()
    return sum(spec.grammar is not None for spec in registry.registry().languages.values())
