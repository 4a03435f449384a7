"""python -m hushfade: the command line."""

from __future__ import annotations

from hushfade.cli import main

if __name__ == "__main__":
    main()
