"""The newest releases as OpenMetrics text.  A scrape draws no noise and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from hushfade.serve.release_formats import labels
from hushfade.serve.statistic_formats import hidden_in

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
}


def text(registry: Registry) -> str:
    """The newest releases of all streams, as OpenMetrics text."""
    samples: dict[str, list[str]] = {name: [] for name in _HELP}
    for facts in registry.all():
        release = registry.newest(facts.name)
        if release is not None:
            found = _sum if facts.plan.statistic is None else _statistic
            for name, named, value in found(facts, release):
                samples[name].append(f"{name}{_labels(stream=facts.name, **named)} {value!r}")
        step = registry.step(facts.name)
        samples["hushfade_step"].append(f"hushfade_step{_labels(stream=facts.name)} {step}")
    lines = []
    for name, listed in samples.items():
        lines += [f"# TYPE {name} gauge", f"# HELP {name} {_HELP[name]}", *listed]
    return "\n".join([*lines, "# EOF"]) + "\n"


Sample = tuple[str, dict[str, str], Any]


def _sum(facts: Facts, release: Published) -> Iterator[Sample]:
    named = labels(facts)
    for place, value in enumerate(release.values.tolist()):
        yield "hushfade_value", {} if named is None else {"key": named[place]}, value
    yield "hushfade_stddev", {}, release.stddev


def _statistic(facts: Facts, release: Published) -> Iterator[Sample]:
    """The samples of a statistic.  A suppressed value has no sample."""
    statistic = facts.plan.statistic
    assert statistic is not None
    (reading,) = facts.blocks.readings([release])
    hidden = hidden_in(reading, facts.suppress_below)
    keys = [{}] if facts.plan.keys is None else [{"key": key} for key in facts.plan.keys]
    outputs = [{}] if statistic.outputs is None else [
        {statistic.output_name: output} for output in statistic.outputs
    ]  # fmt: skip
    for (group, key), (place, output) in product(enumerate(keys), enumerate(outputs)):
        if not hidden[group]:
            named = key | output
            yield "hushfade_value", named, float(reading.value[group, place])
            yield "hushfade_lower", named, float(reading.lower[group, place])
            yield "hushfade_upper", named, float(reading.upper[group, place])
            yield "hushfade_whole_range", named, int(reading.whole[group, place])
    for name, part in reading.parts.items():
        for group, key in enumerate(keys):
            if name == "count" or not hidden[group]:
                yield "hushfade_part", {**key, "part": name}, float(part.value[group])
        yield "hushfade_part_stddev", {"part": name}, part.stddev


def _labels(**given: str) -> str:
    """Labels in braces, with escaped backslashes, quotes and line feeds."""
    escaped = (
        (name, text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
        for name, text in given.items()
    )
    return "{" + ",".join(f'{name}="{text}"' for name, text in escaped) + "}"
