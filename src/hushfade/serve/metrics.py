"""The newest releases for a monitor, as OpenMetrics text.  A scrape draws and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hushfade.serve.registry import Facts, Registry
from hushfade.serve.release_formats import labels

KIND = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_HELP = {
    "hushfade_value": "The newest release: an unbiased private value of the decayed sum.",
    "hushfade_stddev": "The standard deviation of the newest release's error.",
    "hushfade_step": "The last step that is closed.",
}


def text(registry: Registry) -> str:
    """All streams' newest releases."""
    lines = []
    for name, told in _HELP.items():
        lines += [f"# TYPE {name} gauge", f"# HELP {name} {told}"]
        for facts in registry.all():
            found = _SAMPLES[name](registry, facts)
            lines += [f"{name}{labelled} {number!r}" for labelled, number in found]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _values(registry: Registry, facts: Facts) -> Iterator[tuple[str, float]]:
    release, named = registry.newest(facts.name), labels(facts)
    for place, value in enumerate([] if release is None else release.values.tolist()):
        key = {} if named is None else {"key": named[place]}
        yield _labels(stream=facts.name, **key), value


def _stddevs(registry: Registry, facts: Facts) -> Iterator[tuple[str, float]]:
    release = registry.newest(facts.name)
    if release is not None:
        yield _labels(stream=facts.name), release.stddev


def _steps(registry: Registry, facts: Facts) -> Iterator[tuple[str, float]]:
    yield _labels(stream=facts.name), registry.step(facts.name)


def _labels(**given: str) -> str:
    """Labels in braces; backslash, quote and line feed are escaped, as the format asks."""
    escaped = (
        (name, text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
        for name, text in given.items()
    )
    return "{" + ",".join(f'{name}="{text}"' for name, text in escaped) + "}"


_SAMPLES: dict[str, Callable[[Registry, Facts], Iterator[tuple[str, float]]]] = {
    "hushfade_value": _values,
    "hushfade_stddev": _stddevs,
    "hushfade_step": _steps,
}
