"""The newest releases as OpenMetrics text.  A scrape draws no noise and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from hushfade.serve.registry import Registry
from hushfade.serve.release_formats import labels

KIND = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_HELP = {
    "hushfade_value": "The newest release: an unbiased private estimate of the decayed sum.",
    "hushfade_stddev": "The standard deviation of the error of the newest release.",
    "hushfade_step": "The last closed step.",
}


def text(registry: Registry) -> str:
    """The newest releases of all streams, as OpenMetrics text."""
    lines = [*_values(registry), *_stddevs(registry), *_steps(registry), "# EOF"]
    return "\n".join(lines) + "\n"


def _values(registry: Registry) -> Iterator[str]:
    yield from _head("hushfade_value")
    for facts in registry.all():
        release = registry.newest(facts.name)
        if release is None:
            continue
        named = labels(facts)
        for place, value in enumerate(release.values.tolist()):
            key = {} if named is None else {"key": named[place]}
            yield f"hushfade_value{_labels(stream=facts.name, **key)} {value!r}"


def _stddevs(registry: Registry) -> Iterator[str]:
    yield from _head("hushfade_stddev")
    for facts in registry.all():
        release = registry.newest(facts.name)
        if release is not None:
            yield f"hushfade_stddev{_labels(stream=facts.name)} {release.stddev!r}"


def _steps(registry: Registry) -> Iterator[str]:
    yield from _head("hushfade_step")
    for facts in registry.all():
        yield f"hushfade_step{_labels(stream=facts.name)} {registry.step(facts.name)}"


def _head(name: str) -> Iterator[str]:
    yield f"# TYPE {name} gauge"
    yield f"# HELP {name} {_HELP[name]}"


def _labels(**given: str) -> str:
    """Labels in braces, with escaped backslashes, quotes and line feeds."""
    escaped = (
        (name, text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
        for name, text in given.items()
    )
    return "{" + ",".join(f'{name}="{text}"' for name, text in escaped) + "}"
