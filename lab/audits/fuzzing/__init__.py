"""Every parser and loader under malformed input, made by grammars and guided by coverage.

This module imports nothing: the coverage-guided engine must be the first to import hushfade.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.audits.effort import Size
    from lab.findings import Part


def part(size: Size) -> Part:
    """All targets under both engines, and planted faults.  A full run takes minutes."""
    from lab.audits.fuzzing import run

    return run.part(size)
