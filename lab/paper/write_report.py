"""Compute the chapters of a report one after the other, and write the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hushfade.errors import InvalidValue
from lab.paper import pages
from lab.paper.document import Chapter, Extent, Figure, Table, Written


def report(
    directory: Path,
    extent: Extent,
    chapters: Sequence[Chapter],
    *,
    watch: Callable[[int, str], None] = lambda done, doing: None,
) -> list[Written]:
    """The chapters, after computing them and writing the report to the directory.

        report.md  report.html  figures/NAME.svg and .png  data/NAME.csv

    `watch` receives the number of finished chapters and a description of the current work.  The
    same code gives the same bytes on the same machine.  Raises OSError, before it computes
    anything, if the report cannot be written to the directory.
    """
    pages.prepare(directory)
    found = []
    for done, chapter in enumerate(chapters):
        blocks = []
        watch(done, chapter.name)
        for block in chapter.blocks(extent):
            blocks.append(block)
            watch(done, f"{chapter.name}, part {len(blocks)}")
        found.append(Written(chapter.name, chapter.title, tuple(blocks)))
    _told_apart(found)
    pages.write(directory, extent, found, watch=lambda doing: watch(len(found), doing))
    return found


def _told_apart(chapters: Iterable[Written]) -> None:
    """Check that names are unique, because each table and each figure is a separate file."""
    blocks = [block for chapter in chapters for block in chapter.blocks]
    names = Counter(block.name for block in blocks if isinstance(block, Table | Figure))
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise InvalidValue("names of tables and figures must be unique", got=f"{twice} twice")
