"""``python -m tests.relevance.update``: writes the golden rankings anew and says what moved."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path

from app.storage import embedded
from tests.relevance.golden import GOLDEN, files, rankings


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="fourfold-golden-") as folder:
        root = Path(folder)
        root.chmod(0o711)  # the server's account must be able to pass when this runs as root
        server = embedded.acquire(root / "state")
        try:
            ranked = asyncio.run(rankings(server.url, root))
        finally:
            server.release(wait_seconds=60)
    _write(files(ranked))


def _write(pages: Mapping[str, str]) -> None:
    GOLDEN.mkdir(exist_ok=True)
    for path in GOLDEN.glob("*.txt"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = GOLDEN / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"changed: {name}")
    print(pages["summary.txt"], end="")


if __name__ == "__main__":
    main()
