"""The newest releases as OpenMetrics text.  A scrape draws no noise and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hushfade.serve import json_pieces
from hushfade.serve.key_selection import ALL, Selection, labels
from hushfade.serve.statistic_formats import hidden_in, of_keys

if TYPE_CHECKING:
    from hushfade.serve.registry import Facts, Registry
    from hushfade.store import Published

KIND = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_HELP = {
    "hushfade_value": "The newest release: a private estimate of the decayed sum or statistic.",
    "hushfade_stddev": "The standard deviation of the error of the newest release of a sum.",
    "hushfade_lower": "The lower end of the 95 % confidence interval of a statistic.",
    "hushfade_upper": "The upper end of the 95 % confidence interval of a statistic.",
    "hushfade_whole_range": "1 if the interval of a statistic is its whole range: noise hides it.",
    "hushfade_part": "A noisy sum behind a statistic, such as its count.",
    "hushfade_part_stddev": "The standard deviation of the error of a part.",
    "hushfade_step": "The last closed step.",
    "hushfade_lag_steps": "Steps behind the clock; negative if the stream is ahead of the clock.",
    "hushfade_clock_held": "1 if the wall clock jumped and no step closes until it is confirmed.",
    "hushfade_clock_offset_seconds": "The wall clock minus the trusted clock.",
    "hushfade_store_available": "1 if the store accepts changes.",
    "hushfade_listeners": "Connections that receive events.",
    "hushfade_listeners_dropped": "Listeners that were disconnected because they read too slowly.",
    "hushfade_response_bytes": "Memory that large responses use now.",
}


def pieces(
    registry: Registry, lags: Mapping[str, int], asked: Scraped, own: Mapping[str, float]
) -> Iterator[bytes]:
    """The newest releases of the streams, as OpenMetrics text, in pieces.

    `lags` has the steps by which each stream is behind the clock.  `own` are numbers of the service
    itself, by name.
    """
    return json_pieces.gathered(_lines(registry, lags, asked, own))


def _lines(
    registry: Registry, lags: Mapping[str, int], asked: Scraped, own: Mapping[str, float]
) -> Iterator[str]:
    chosen = [
        (facts, registry.newest(facts.name), keys) for facts, keys in asked.streams(registry.all())
    ]
    for name, sentence in _HELP.items():
        yield f"# TYPE {name} gauge\n# HELP {name} {sentence}\n"
        if name in own:
            yield f"{name} {own[name]!r}\n"
        for facts, release, keys in chosen:
            stream = _labels(stream=facts.name)
            if name == "hushfade_step":
                yield f"{name}{stream} {registry.step(facts.name)}\n"
            elif name == "hushfade_lag_steps":
                if facts.name in lags:
                    yield f"{name}{stream} {lags[facts.name]}\n"
            elif release is not None and name not in own:
                found = _sum if facts.plan.statistic is None else _statistic
                for named, value in found(facts, release, keys, name):
                    yield f"{name}{_labels(stream=facts.name, **named)} {value!r}\n"
    yield "# EOF\n"


class Scraped(NamedTuple):
    """The streams and keys that a scrape asks for; nothing means all."""

    names: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()

    def streams(self, listed: Sequence[Facts]) -> Iterator[tuple[Facts, Selection]]:
        """The streams, each with its selected keys.  A stream without any of the keys is left out.

        Streams without keys are left out if keys are selected.
        """
        for facts in listed:
            if self.names and facts.name not in self.names:
                continue
            if not self.keys:
                yield facts, ALL
                continue
            lane_of = facts.plan.grid.lane_of
            places = tuple(lane_of[key] for key in self.keys if key in lane_of)
            if places:
                yield facts, Selection(places)


Sample = tuple[dict[str, str], Any]


def _sum(facts: Facts, release: Published, chosen: Selection, name: str) -> Iterator[Sample]:
    if name == "hushfade_stddev":
        yield {}, release.stddev
    if name != "hushfade_value":
        return
    named = labels(facts)
    places = range(len(release.values)) if chosen.places is None else chosen.places
    for at in range(0, len(places), 1024):
        part = np.array(places[at : at + 1024], dtype=np.int64)
        for place, value in zip(part.tolist(), release.values[part].tolist(), strict=True):
            yield {} if named is None else {"key": named[place]}, value


_BY_OUTPUT = {
    "hushfade_value": "value",
    "hushfade_lower": "lower",
    "hushfade_upper": "upper",
    "hushfade_whole_range": "whole",
}


def _statistic(facts: Facts, release: Published, chosen: Selection, name: str) -> Iterator[Sample]:
    """The samples of a statistic.  A suppressed value has no sample."""
    statistic = facts.plan.statistic
    assert statistic is not None
    (whole,) = facts.blocks.readings([release])
    reading = of_keys(whole, chosen)
    hidden = hidden_in(reading, facts.suppress_below)
    keys = [{}] if facts.plan.keys is None else [{"key": x} for x in chosen.of(facts.plan.keys)]
    outputs = [{}] if statistic.outputs is None else [
        {statistic.output_name: output} for output in statistic.outputs
    ]  # fmt: skip
    if name in _BY_OUTPUT:
        values = getattr(reading, _BY_OUTPUT[name])
        kind = int if name == "hushfade_whole_range" else float
        for (group, key), (place, output) in product(enumerate(keys), enumerate(outputs)):
            if not hidden[group]:
                yield key | output, kind(values[group, place])
    elif name == "hushfade_part":
        for part_name, part in reading.parts.items():
            for group, key in enumerate(keys):
                if part_name == "count" or not hidden[group]:
                    yield {**key, "part": part_name}, float(part.value[group])
    elif name == "hushfade_part_stddev":
        for part_name, part in reading.parts.items():
            yield {"part": part_name}, part.stddev


def size(registry: Registry, asked: Scraped) -> int:
    """About the bytes of a scrape, at most."""
    return 2048 + sum(
        256 + 80 * (1 if facts.plan.statistic is None else 8) * keys.count(facts)
        for facts, keys in asked.streams(registry.all())
    )


def _labels(**given: str) -> str:
    """Labels in braces, with escaped backslashes, quotes and line feeds."""
    escaped = (
        (name, text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
        for name, text in given.items()
    )
    return "{" + ",".join(f'{name}="{text}"' for name, text in escaped) + "}"
