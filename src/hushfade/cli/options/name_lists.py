"""Lists of distinct names, from an option or from a file with one name per line.

Errors state the position of a name, never the name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hushfade.cli import console
from hushfade.errors import InvalidValue


def names_in(path: Path, what: str) -> tuple[str, ...]:
    """The names in a UTF-8 file with one name per line; `what` names them in errors."""
    with console.reading(path):
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidValue("the file must be UTF-8") from None
        # only line feeds end a line: splitlines would also cut at characters that names may have
        lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        return distinct(lines, what, "line")


def distinct(names: Sequence[str], what: str, place: str) -> tuple[str, ...]:
    """The names.  Raise if a name is empty, has white space around it, or occurs twice.

    >>> distinct(["at", "ch"], "keys", "line")
    ('at', 'ch')
    """
    first: dict[str, int] = {}
    for at, name in enumerate(names, 1):
        if not name.strip():
            raise InvalidValue(
                f"must not contain an empty name: {place} {at} is empty", argument=what
            )
        if name != name.strip():
            raise InvalidValue(
                f"must not start or end with white space: see {place} {at}", argument=what
            )
        if name in first:
            raise InvalidValue(
                f"must not contain a name twice: {place} {at} repeats {place} {first[name]}",
                argument=what,
            )
        first[name] = at
    return tuple(names)
