"""Paths in the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "hushfade"
DOCS = ROOT / "docs"
RESULTS = DOCS / "results"
IMAGES = DOCS / "images"
IN_MEMORY = Path("/dev/shm")  # a file system in memory, if the machine has one
