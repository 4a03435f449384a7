"""Finished chapters are stored, so that an interrupted report can continue."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import astuple
from pathlib import Path

import numpy as np

from hushfade.atomic_files import whole
from hushfade.errors import InvalidValue
from hushfade.paper.document import Chapter, Extent, Written, from_json, to_json

PLACE = ".unfinished"  # in the report's directory, until the report is complete


class Journal:
    """One file per finished chapter, with the fingerprint of the code that computed it.

    The fingerprint covers every module of this package, the extent and the library versions.  A
    chapter with a different fingerprint is computed again.
    """

    def __init__(self, directory: Path, extent: Extent) -> None:
        self._place = directory / PLACE
        self._place.mkdir(exist_ok=True)
        self._fingerprint = fingerprint(extent)

    def find(self, chapter: Chapter) -> Written | None:
        """The chapter if this code has computed it before, else None (also if unreadable)."""
        try:
            kept = json.loads(self._file(chapter.name).read_text(encoding="utf-8"))
            if kept["fingerprint"] != self._fingerprint:
                return None
            return from_json(kept["chapter"])
        except (OSError, ValueError, KeyError, TypeError, InvalidValue):
            return None

    def keep(self, chapter: Written) -> None:
        """Store the chapter atomically."""
        kept = {"fingerprint": self._fingerprint, "chapter": to_json(chapter)}
        with whole(self._file(chapter.name)) as file:
            file.write_text(json.dumps(kept), encoding="utf-8")

    def forget(self) -> None:
        """Remove the files: the report is complete."""
        shutil.rmtree(self._place, ignore_errors=True)

    def _file(self, name: str) -> Path:
        return self._place / f"{name}.json"


def fingerprint(extent: Extent) -> str:
    """A digest of everything that determines the content of a report."""
    import scipy

    digest = hashlib.sha256(repr((astuple(extent), np.__version__, scipy.__version__)).encode())
    root = Path(__file__).parents[1]
    for module in sorted(root.rglob("*.py")):
        digest.update(module.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(module.read_bytes()).digest())
    return digest.hexdigest()
