"""Row lifetimes: a row is shown by the generations ``from_gen <= g < to_gen`` of its branch."""

from __future__ import annotations

from typing import Final

FOREVER: Final = 2_147_483_647
"""``to_gen`` of a row that is still live."""

BRANCH_TABLES: Final = ("file", "skipped_file", "edge", "file_link", "centrality")
"""The tables whose rows a branch shows from one generation to another."""

SHOWN_FIRST: Final = BRANCH_TABLES[:2]
"""Those that a run writes before all others, in one transaction."""
