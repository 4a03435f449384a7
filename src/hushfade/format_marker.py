"""The format marker of a document, such as "hushfade plan draft".

Until version 1.0.0 each kind of document has one format, 'draft', and the format may change with
every commit.  A loader refuses any other marker; it compares no versions and converts nothing.
"""

from __future__ import annotations

import re

from hushfade.errors import HushfadeError, InvalidValue

_KNOWN = re.compile(
    "hushfade (correlated noise|key use|loss|mark|part|plan|releases|store|stream|trace) "
    r"(draft|[0-9]{1,3})"
)


def check_marker(
    what: str,
    found: object,
    marker: str,
    *,
    remedy: str,
    error: type[HushfadeError] = InvalidValue,
) -> None:
    """Raise the error unless the found marker is the right one.

    The message quotes the found marker only if hushfade could have written it, because any other
    text may be a part of somebody's data.

    >>> check_marker("the plan", "hushfade plan 1", "hushfade plan draft", remedy="make it again")
    Traceback (most recent call last):
        ...
    hushfade.errors.InvalidValue: the plan must have the format 'hushfade plan draft', got 'hushfade plan 1': make it again
    """  # noqa: E501
    if found == marker:
        return
    known = isinstance(found, str) and _KNOWN.fullmatch(found)
    raise error(
        f"{what} must have the format {marker!r}", got=repr(found) if known else None, remedy=remedy
    )
