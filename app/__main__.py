"""``python -m app`` is the same as ``fourfold``."""

from app.cli import main

if __name__ == "__main__":
    main()
