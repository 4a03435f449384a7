"""Every parser and loader, fed with what it must refuse: by grammars, and guided by coverage.

Nothing is loaded here: whoever is guided by coverage must be the first to load hushfade.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dev.audits.effort import Size
    from dev.findings import Part


def part(size: Size) -> Part:
    """All targets under both engines, and parsers with planted faults; minutes if it is full."""
    from dev.audits.fuzzing import run

    return run.part(size)
