"""The keys of a stream that a request selects, such as ?key=at&key=ch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushfade.check import Signed
from hushfade.errors import InvalidValue, Malformed

if TYPE_CHECKING:
    from hushfade.serve.registry import Facts

MOST = 1000  # keys that a request may select


class Selection(NamedTuple):
    """The places of the selected keys; None: all of them."""

    places: tuple[int, ...] | None = None

    def of(self, labels: Sequence[str]) -> Sequence[str]:
        """The selected labels."""
        return labels if self.places is None else tuple(labels[place] for place in self.places)

    def rows(self) -> Signed | slice:
        """What selects from an array with one row per key."""
        return slice(None) if self.places is None else np.array(self.places, dtype=np.int64)

    def count(self, facts: Facts) -> int:
        """The number of selected keys."""
        return cells(facts) if self.places is None else len(self.places)


ALL = Selection()


def cells(facts: Facts) -> int:
    """The number of keys or coordinates of a stream; 1 without keys."""
    if facts.plan.keys is not None:
        return len(facts.plan.keys)
    return 1 if facts.plan.statistic is not None else facts.plan.grid.lanes


def labels(facts: Facts) -> Sequence[str] | None:
    """The keys, or the numbers of the coordinates of a vector; None for one value."""
    if facts.plan.keys is not None:
        return facts.plan.keys
    if facts.scalar or facts.plan.statistic is not None:
        return None
    return _numbers(facts.plan.grid.lanes)


@lru_cache(8)
def _numbers(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


def selection(facts: Facts, keys: Sequence[str]) -> Selection:
    """The places of these keys, in the order of the request.  Raise if one does not exist."""
    if not keys:
        return ALL
    named = labels(facts)
    if named is None:
        raise Malformed("key is for streams with keys")
    if len(keys) > MOST or len(set(keys)) < len(keys):
        raise Malformed(f"key must be given at most {MOST} times, each with another key")
    known: Mapping[str, int] = facts.plan.grid.lane_of
    if facts.plan.keys is None:
        known = {key: int(key) for key in keys if _is_number_below(len(named), key)}
    found = [known.get(key, -1) for key in keys]
    if min(found) < 0:
        raise InvalidValue("key must be one of the stream's keys")
    return Selection(tuple(found))


def _is_number_below(count: int, key: str) -> bool:
    """Whether the key is the name of a coordinate: a number below `count`, without leading zeros.

    >>> [_is_number_below(10, key) for key in ("0", "9", "10", "09", "٣", "-1")]
    [True, True, False, False, False, False]
    """
    written = key.isascii() and key.isdecimal() and len(key) <= len(str(count))
    return written and str(int(key)) == key and int(key) < count


class KeyPage(NamedTuple):
    """Some keys in order, and the place after the last one, or None at the end."""

    keys: list[str]
    following: int | None
    matching: int  # the number of all keys that match


def page(facts: Facts, search: str, after: int, limit: int) -> KeyPage:
    """The keys that contain the text, in any case, from a place on.

    Cost: one pass over the keys.
    """
    named = labels(facts) or ()
    sought = search.casefold()
    places = [place for place, key in enumerate(named) if not sought or sought in key.casefold()]
    rest = [place for place in places if place >= after]
    shown = rest[:limit]
    following = rest[limit] if len(rest) > limit else None
    return KeyPage([named[place] for place in shown], following, len(places))
