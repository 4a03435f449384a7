"""Third-party auditors on hushfade's releases, compared with the μ-test.

`jax_privacy`, `privacy_estimates` and `empirical_privacy` are scripts that run under another
Python, which has that library and not hushfade.  Neither they nor this module import hushfade.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.audits.effort import Size
    from lab.findings import Part


def part(size: Size) -> Part:
    """The result of each installable auditor on hushfade and on broken mechanisms."""
    from lab.audits.other_auditors import comparison

    return comparison.part(size)
