"""Releases of a statistic as plain data and as columns: value, 95 % interval, and its parts.

step   closed   key   bin or quantile   value   lower   upper   whole_range   parts with stddev

A value whose noisy count is below a minimum can be suppressed.  That is post-processing: it looks
at released numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hushfade.serve.key_selection import ALL, Selection
from hushfade.serve.registry import Facts, shown

if TYPE_CHECKING:
    from hushfade.serve.statistic_blocks import Reading
    from hushfade.store import Published


def minimum(facts: Facts, asked: float | None) -> float | None:
    """The noisy count below which values are suppressed: a request can only raise the stream's."""
    given = [one for one in (facts.suppress_below, asked) if one is not None]
    return max(given, default=None)


def plain(
    facts: Facts, releases: Sequence[Published], below: float | None, chosen: Selection = ALL
) -> list[dict[str, Any]]:
    """The releases as plain data; null where a value is suppressed."""
    found = zip(releases, facts.blocks.readings(releases), strict=True)
    return [_plain(facts, release, of_keys(reading, chosen), below) for release, reading in found]


def of_keys(reading: Reading, chosen: Selection) -> Reading:
    """The reading of the selected keys."""
    if chosen.places is None:
        return reading
    index = chosen.rows()
    return reading._replace(
        value=reading.value[index],
        lower=reading.lower[index],
        upper=reading.upper[index],
        whole=reading.whole[index],
        parts={
            name: part._replace(value=part.value[index]) for name, part in reading.parts.items()
        },
        derived={name: values[index] for name, values in reading.derived.items()},
    )


def _plain(
    facts: Facts, release: Published, reading: Reading, below: float | None
) -> dict[str, Any]:
    statistic = facts.plan.statistic
    assert statistic is not None
    keyed, several = facts.plan.keys is not None, statistic.outputs is not None
    hidden = hidden_in(reading, below)

    def by_key(values: Any, hide: bool = True) -> Any:
        listed = [
            None if hide and few else value
            for value, few in zip(values.tolist(), hidden.tolist(), strict=True)
        ]
        return listed if keyed else listed[0]

    def by_output(values: Any) -> Any:
        listed = [
            [None] * len(row) if few else row
            for row, few in zip(values.tolist(), hidden.tolist(), strict=True)
        ]
        shaped = listed if several else [row[0] for row in listed]
        return shaped if keyed else shaped[0]

    return {
        "step": release.step,
        "closed": shown(release.closed),
        "value": by_output(reading.value),
        "lower": by_output(reading.lower),
        "upper": by_output(reading.upper),
        "whole_range": by_output(reading.whole),
        "suppressed": hidden.tolist() if keyed else bool(hidden[0]),
        "derived": {name: by_key(values) for name, values in reading.derived.items()},
        "parts": {
            name: {
                "value": by_key(part.value, hide=name != "count"),
                "stddev": part.stddev,
                "margin": part.margin,
            }
            for name, part in reading.parts.items()
        },
        "stddev": reading.stddev,
    }


def hidden_in(reading: Reading, below: float | None) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether the noisy count of each key is below the minimum."""
    count = reading.parts["count"].value
    return np.zeros(len(count), dtype=np.bool_) if below is None else count < below


def columns(
    facts: Facts, releases: Sequence[Published], below: float | None, chosen: Selection = ALL
) -> dict[str, list[Any]]:
    """The releases as columns: a row for each step, key, and bin or quantile, in this order.

    None stands for a suppressed value.
    """
    statistic = facts.plan.statistic
    assert statistic is not None
    keys = None if facts.plan.keys is None else chosen.of(facts.plan.keys)
    outputs = statistic.outputs
    groups, each = len(keys or ("",)), len(outputs or ("",))
    n = len(releases)
    made: dict[str, list[Any]] = {
        "step": [one.step for one in releases for _ in range(groups * each)],
        "closed": [one.closed for one in releases for _ in range(groups * each)],
    }
    if keys is not None:
        made["key"] = [key for key in keys for _ in range(each)] * n
    if outputs is not None:
        made[statistic.output_name] = list(outputs) * (groups * n)
    names = ["value", "lower", "upper", "whole_range", *_derived(facts)]
    for part in statistic.sums:
        names += [part, f"{part}_stddev"]
    made |= {name: [] for name in names}
    for whole in facts.blocks.readings(releases):
        reading = of_keys(whole, chosen)
        hidden = hidden_in(reading, below).repeat(each).tolist()
        for name, values, hide in _cells(reading, each):
            shown_values = zip(values.tolist(), hidden, strict=True)
            made[name] += [None if hide and few else value for value, few in shown_values]
    return made


def _derived(facts: Facts) -> tuple[str, ...]:
    """The other values of the same lanes."""
    statistic = facts.plan.statistic
    assert statistic is not None
    derive = getattr(statistic, "derived", None)
    return () if derive is None else tuple(derive(np.ones((1, len(statistic.parts)))))


def _cells(reading: Reading, each: int) -> list[tuple[str, Any, bool]]:
    """The columns of one step: name, values, and whether they can be suppressed."""
    made: list[tuple[str, Any, bool]] = [
        ("value", reading.value.ravel(), True),
        ("lower", reading.lower.ravel(), True),
        ("upper", reading.upper.ravel(), True),
        ("whole_range", reading.whole.ravel(), True),
    ]
    made += [(name, values.repeat(each), True) for name, values in reading.derived.items()]
    for name, part in reading.parts.items():
        made.append((name, part.value.repeat(each), name != "count"))
        made.append((f"{name}_stddev", np.full(len(part.value) * each, part.stddev), False))
    return made
