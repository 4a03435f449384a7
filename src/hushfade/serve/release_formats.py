"""Releases as JSON, CSV and Arrow.  All fields are public.

step   closed   key   value   stddev   margin     CSV and Arrow: one row per step and key

`margin` is half the width of the 95 % confidence interval.  `statistic_formats` has the fields of
releases with a statistic.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.responses import Response

from hushfade.serve import statistic_formats
from hushfade.serve.error_responses import Refusal, answer
from hushfade.serve.registry import CONFIDENCE, Facts, shown

if TYPE_CHECKING:
    from hushfade.store import Published

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
MOST = 10_000  # releases per response
NUMBERS = 100_000  # values per response

_VARIES = {"Vary": "Accept"}
_GIVEN = {kind: kind for kind in (JSON, CSV, ARROW)}
_GIVEN |= {"": JSON, "*/*": JSON, "application/*": JSON, "text/*": CSV}


def wanted(accept: str) -> str:
    """The media type that an Accept header prefers.  Raise if it accepts none of them.

    The default is JSON, also if the header accepts everything.

    >>> wanted("text/html, text/csv;q=0.9, */*;q=0.1")
    'text/csv'
    """
    liked = sorted(map(_liked, accept.split(",")), reverse=True, key=lambda part: part[0])
    for quality, kind in liked:
        if quality > 0 and kind in _GIVEN:
            return _GIVEN[kind]
    told = f"the releases are {JSON}, {CSV} or {ARROW}: Accept must have one of these"
    raise Refusal(406, "not_acceptable", told)


def _liked(part: str) -> tuple[float, str]:
    """The quality and the media type of an item of an Accept header."""
    kind, *parameters = (text.strip().lower() for text in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        name, _, text = parameter.partition("=")
        if name.strip() == "q":
            with suppress(ValueError):
                quality = float(text)
    return (quality if 0 <= quality <= 1 else 1.0), kind


def most(facts: Facts, limit: int) -> int:
    """The largest number of releases in a response: with many keys, fewer than requested."""
    return max(1, min(limit, NUMBERS // facts.plan.grid.lanes))


def plain(facts: Facts, release: Published, below: float | None = None) -> dict[str, Any]:
    """One release as plain data; `below` suppresses values of a statistic with a smaller count."""
    (found,) = _plain(facts, [release], below)
    return found


def _plain(
    facts: Facts, releases: Sequence[Published], below: float | None
) -> list[dict[str, Any]]:
    if facts.plan.statistic is not None:
        return statistic_formats.plain(facts, releases, below)
    return [
        {
            "step": release.step,
            "closed": shown(release.closed),
            "value": float(release.values[0]) if facts.scalar else release.values.tolist(),
            "stddev": release.stddev,
            "margin": facts.margin(release),
        }
        for release in releases
    ]


def response(
    facts: Facts,
    releases: Sequence[Published],
    newest: int,
    kind: str,
    below: float | None = None,
) -> Response:
    """The releases with this media type.  JSON also states the newest step of the stream."""
    if kind == CSV:
        return Response(_csv(facts, releases, below), headers=_VARIES, media_type=CSV)
    if kind == ARROW:
        return Response(_arrow(facts, releases, below), headers=_VARIES, media_type=ARROW)
    statistic = facts.plan.statistic
    outputs = None if statistic is None or statistic.outputs is None else list(statistic.outputs)
    content = {
        "stream": facts.name,
        "keys": None if facts.plan.keys is None else list(facts.plan.keys),
        "outputs": outputs,
        "newest": newest,
        "releases": _plain(facts, releases, below),
    }
    return answer(content, headers=_VARIES)


def labels(facts: Facts) -> list[str] | None:
    """The names of the values of a release: keys, or coordinates of a vector; None for one."""
    if facts.scalar:
        return None
    return list(facts.plan.keys or map(str, range(facts.plan.grid.lanes)))


def _csv(facts: Facts, releases: Sequence[Published], below: float | None) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    if facts.plan.statistic is not None:
        table = statistic_formats.columns(facts, releases, below)
        times = {one.closed: shown(one.closed) for one in releases}
        table["closed"] = [times[closed] for closed in table["closed"]]
        table["whole_range"] = [_word(whole) for whole in table["whole_range"]]
        rows.writerow(table)
        rows.writerows(zip(*table.values(), strict=True))
        return text.getvalue()
    named = labels(facts)
    rows.writerow(["step", "closed", *(["key"] if named else []), "value", "stddev", "margin"])
    for release in releases:
        closed, margin = shown(release.closed), repr(facts.margin(release))
        for place, value in enumerate(release.values.tolist()):
            key = [named[place]] if named else []
            rows.writerow([release.step, closed, *key, repr(value), repr(release.stddev), margin])
    return text.getvalue()


def _word(whole: bool | None) -> str:
    """True and false as in JSON; an empty cell if the value is suppressed."""
    return "" if whole is None else str(whole).lower()


def _arrow(facts: Facts, releases: Sequence[Published], below: float | None) -> bytes:
    pa: Any = import_module("pyarrow")
    time = pa.timestamp("ns", tz="UTC")
    if facts.plan.statistic is not None:
        kinds = {"step": pa.int64(), "closed": time, "key": pa.string(), "whole_range": pa.bool_()}
        kinds |= dict.fromkeys(("bin", "quantile"), pa.string())
        found = statistic_formats.columns(facts, releases, below)
        schema = pa.schema([(name, kinds.get(name, pa.float64())) for name in found])
        return _stream(pa, pa.table(found, schema=schema))
    lanes, named = facts.plan.grid.lanes, labels(facts)
    steps = np.array([release.step for release in releases], dtype=np.int64)
    closed = np.array([release.closed for release in releases], dtype=np.int64)
    stddevs = np.array([release.stddev for release in releases], dtype=np.float64)
    margins = facts.plan.errors.margins(steps, CONFIDENCE, stddevs=stddevs)
    values = [release.values for release in releases] or [np.zeros(0)]
    columns = {
        "step": pa.array(np.repeat(steps, lanes)),
        "closed": pa.array(np.repeat(closed, lanes)).cast(time),
        **({"key": pa.array(named * len(releases), pa.string())} if named else {}),
        "value": pa.array(np.concatenate(values).astype(np.float64)),
        "stddev": pa.array(np.repeat(stddevs, lanes)),
        "margin": pa.array(np.repeat(margins, lanes)),
    }
    return _stream(pa, pa.table(columns))


def _stream(pa: Any, table: Any) -> bytes:
    """The table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())
