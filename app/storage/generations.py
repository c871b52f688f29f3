"""Row lifetimes: a row is shown by the generations ``from_gen <= g < to_gen`` of its branch."""

from __future__ import annotations

from typing import Final

FOREVER: Final = 2_147_483_647
"""``to_gen`` of a row that is still live."""
