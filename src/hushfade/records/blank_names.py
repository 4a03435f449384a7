"""Blank names: texts without any visible character, which name nobody."""

from __future__ import annotations

import re

BLANK = r"[\x00-\x20\x7f-\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]*"
"""Matches a blank name.  For Python and Java."""

_BLANK = re.compile(BLANK)


def blank(name: str) -> bool:
    """True if the name has no visible character.

    >>> blank(""), blank(" \\u200b"), blank(" x")
    (True, True, False)
    """
    return _BLANK.fullmatch(name) is not None
