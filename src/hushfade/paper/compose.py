"""A report: chapters computed, one after the other, and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hushfade.errors import InvalidValue
from hushfade.paper import pages
from hushfade.paper.document import Chapter, Extent, Figure, Table, Written
from hushfade.paper.journal import Journal


def report(
    directory: Path,
    extent: Extent,
    chapters: Sequence[Chapter],
    *,
    watch: Callable[[Chapter, int | None], None] = lambda chapter, parts: None,
) -> list[Written]:
    """The chapters, computed and written to the directory.

        report.md  report.html  figures/NAME.svg and .png  data/NAME.csv

    A chapter that an interrupted run of the same code has finished is taken from the directory;
    `watch(chapter, parts)` is told after each part, and with None when a chapter is complete.  The
    same code gives the same bytes on the same machine.
    """
    directory.mkdir(parents=True, exist_ok=True)
    journal = Journal(directory, extent)
    found = []
    for chapter in chapters:
        written = journal.find(chapter)
        if written is None:
            blocks = []
            for block in chapter.blocks(extent):
                blocks.append(block)
                watch(chapter, len(blocks))
            written = Written(chapter.name, chapter.title, tuple(blocks))
            journal.keep(written)
        watch(chapter, None)
        found.append(written)
    _told_apart(found)
    pages.write(directory, extent, found)
    journal.forget()
    return found


def _told_apart(chapters: Iterable[Written]) -> None:
    """Each table and each figure is a file of its own."""
    blocks = [block for chapter in chapters for block in chapter.blocks]
    names = Counter(block.name for block in blocks if isinstance(block, Table | Figure))
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise InvalidValue(f"names of tables and figures must be unique, got {twice} twice")
