"""Releases as JSON, CSV and Arrow.  All fields are public.

step   closed   key   value   stddev   margin     CSV and Arrow: one row per step and key

`margin` is half the width of the 95 % confidence interval.  `statistic_formats` has the fields of
releases with a statistic.  Each format is made in pieces, so that the memory does not depend on the
number of releases.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from hushfade.serve import json_pieces, statistic_formats
from hushfade.serve.error_responses import Refusal
from hushfade.serve.key_selection import ALL, Selection, labels
from hushfade.serve.registry import CONFIDENCE, Facts, shown

if TYPE_CHECKING:
    from hushfade.store import Published

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
MOST = 10_000  # releases per response
NUMBERS = 100_000  # values per response
READ = 20_000_000  # values that a response may read, to select some keys of them
CHUNK = 16_384  # values that are read and formatted at a time, or one release
_ROWS = 4096  # keys in a batch of an Arrow stream

VARIES = {"Vary": "Accept"}
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


def most(facts: Facts, limit: int, chosen: Selection = ALL) -> int:
    """The largest number of releases in a response: with many keys, fewer than requested."""
    lanes = facts.plan.grid.lanes
    values = lanes if chosen.places is None else len(chosen.places)
    return max(1, min(limit, NUMBERS // values, READ // lanes))


def held(facts: Facts, releases: int) -> int:
    """The bytes that a response of this many releases keeps in memory while it is sent."""
    lanes = facts.plan.grid.lanes
    return 8 * min(releases * lanes, max(CHUNK, lanes)) + 4 * json_pieces.PIECE


def read(facts: Facts, releases: int) -> int:
    """The bytes of the values that a response reads from the database, also of other keys."""
    return 8 * releases * facts.plan.grid.lanes


def size(facts: Facts, releases: int, chosen: Selection = ALL) -> int:
    """About the bytes of a response, at most."""
    rows = releases * chosen.count(facts)
    width = facts.plan.grid.lanes // max(1, ALL.count(facts))  # numbers per key
    return 1024 + rows * (128 + 64 * width) + 16 * chosen.count(facts)


def plain(
    facts: Facts, release: Published, below: float | None = None, chosen: Selection = ALL
) -> dict[str, Any]:
    """One release as plain data; `below` suppresses values of a statistic with a smaller count."""
    (found,) = _plain(facts, [release], below, chosen)
    return found


def unlisted(
    facts: Facts, release: Published, below: float | None = None, chosen: Selection = ALL
) -> dict[str, Any]:
    """One release for `json_pieces.texts`: the values of a sum stay a column, which is smaller."""
    if facts.plan.statistic is not None or facts.scalar:
        return plain(facts, release, below, chosen)
    return {
        "step": release.step,
        "closed": shown(release.closed),
        "value": release.values[chosen.rows()],
        "stddev": release.stddev,
        "margin": facts.margin(release),
    }


def _plain(
    facts: Facts, releases: Sequence[Published], below: float | None, chosen: Selection
) -> list[dict[str, Any]]:
    if facts.plan.statistic is not None:
        return statistic_formats.plain(facts, releases, below, chosen)
    index = chosen.rows()
    return [
        {
            "step": release.step,
            "closed": shown(release.closed),
            "value": float(release.values[0]) if facts.scalar else release.values[index].tolist(),
            "stddev": release.stddev,
            "margin": facts.margin(release),
        }
        for release in releases
    ]


def pieces(
    facts: Facts,
    chunks: Iterable[Sequence[Published]],
    newest: int,
    kind: str,
    below: float | None = None,
    chosen: Selection = ALL,
) -> Iterator[bytes]:
    """The releases with this media type.  JSON also states the newest step of the stream."""
    if kind == ARROW:
        return _arrow(facts, chunks, below, chosen)
    if kind == CSV:
        return json_pieces.gathered(_csv(facts, chunks, below, chosen))
    return json_pieces.gathered(_json(facts, chunks, newest, below, chosen))


def _json(
    facts: Facts,
    chunks: Iterable[Sequence[Published]],
    newest: int,
    below: float | None,
    chosen: Selection,
) -> Iterator[str]:
    statistic = facts.plan.statistic
    outputs = None if statistic is None or statistic.outputs is None else list(statistic.outputs)
    keys = None if facts.plan.keys is None else chosen.of(facts.plan.keys)
    if chosen.places is not None and keys is None:
        keys = chosen.of(labels(facts) or ())
    head = {"stream": facts.name, "keys": keys, "outputs": outputs, "newest": newest}
    *parts, _ = json_pieces.texts(head)
    yield from parts
    yield ',"releases":['
    first = True
    for chunk in chunks:
        for release in chunk:
            if not first:
                yield ","
            first = False
            yield from json_pieces.texts(unlisted(facts, release, below, chosen))
    yield "]}"


def _csv(
    facts: Facts, chunks: Iterable[Sequence[Published]], below: float | None, chosen: Selection
) -> Iterator[str]:
    names = labels(facts)
    named = None if names is None else chosen.of(names)
    head = ["step", "closed", *(["key"] if named else []), "value", "stddev", "margin"]
    if facts.plan.statistic is not None:
        head = list(statistic_formats.columns(facts, [], below, chosen))
    yield _rows([head])
    for chunk in chunks:
        for release in chunk:
            if facts.plan.statistic is not None:
                table = statistic_formats.columns(facts, [release], below, chosen)
                table["closed"] = [shown(release.closed)] * len(table["closed"])
                table["whole_range"] = [_word(whole) for whole in table["whole_range"]]
                yield _rows(zip(*table.values(), strict=True))
                continue
            closed, margin = shown(release.closed), repr(facts.margin(release))
            values, stddev = release.values[chosen.rows()], repr(release.stddev)
            for at in range(0, len(values), 1024):
                part = values[at : at + 1024].tolist()
                keys = [()] * len(part) if named is None else zip(named[at : at + 1024])
                yield _rows(
                    (release.step, closed, *key, repr(value), stddev, margin)
                    for key, value in zip(keys, part, strict=True)
                )


def _rows(rows: Iterable[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _word(whole: bool | None) -> str:
    """True and false as in JSON; an empty cell if the value is suppressed."""
    return "" if whole is None else str(whole).lower()


def _arrow(
    facts: Facts, chunks: Iterable[Sequence[Published]], below: float | None, chosen: Selection
) -> Iterator[bytes]:
    pa: Any = import_module("pyarrow")
    time = pa.timestamp("ns", tz="UTC")
    names = labels(facts)
    keys = None if names is None else _key_array(tuple(chosen.of(names)))
    kinds = {"step": pa.int64(), "closed": time, "key": pa.string(), "whole_range": pa.bool_()}
    kinds |= dict.fromkeys(("bin", "quantile"), pa.string())
    fields = ["step", "closed", *(["key"] if keys is not None else []), "value", "stddev", "margin"]
    if facts.plan.statistic is not None:
        fields = list(statistic_formats.columns(facts, [], below, chosen))
    schema = pa.schema([(name, kinds.get(name, pa.float64())) for name in fields])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as stream:
        for chunk in chunks:
            if facts.plan.statistic is not None:
                table = statistic_formats.columns(facts, chunk, below, chosen)
                stream.write_table(pa.table(table, schema=schema), max_chunksize=CHUNK)
                yield from _drained(sink)
                continue
            for columns in _columns(pa, facts, chunk, keys, chosen):
                stream.write_table(pa.table(columns, schema=schema))
                yield from _drained(sink)
    yield sink.getvalue()


def _drained(sink: io.BytesIO) -> Iterator[bytes]:
    """What was written, in pieces; afterwards the sink is empty."""
    content = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return json_pieces.cut(content)


@lru_cache(4)
def _key_array(keys: tuple[str, ...]) -> Any:
    """The keys as an Arrow array, which all responses share."""
    pa: Any = import_module("pyarrow")
    return pa.array(keys, pa.string())


def _columns(
    pa: Any, facts: Facts, releases: Sequence[Published], keys: Any, chosen: Selection
) -> Iterator[list[Any]]:
    """The columns of the releases, of at most _ROWS keys at a time."""
    lanes = chosen.count(facts)
    steps = np.array([release.step for release in releases], dtype=np.int64)
    closed = np.array([release.closed for release in releases], dtype=np.int64)
    stddevs = np.array([release.stddev for release in releases], dtype=np.float64)
    margins = facts.plan.errors.margins(steps, CONFIDENCE, stddevs=stddevs)
    values = [release.values[chosen.rows()] for release in releases]
    for at in range(0, lanes, _ROWS):
        part = np.concatenate([column[at : at + _ROWS] for column in values])
        width = min(_ROWS, lanes - at)
        named = []
        if keys is not None:
            named = [pa.chunked_array([keys.slice(at, width)] * len(releases), pa.string())]
        yield [
            pa.array(np.repeat(steps, width)),
            pa.array(np.repeat(closed, width)).cast(pa.timestamp("ns", tz="UTC")),
            *named,
            pa.array(part.astype(np.float64)),
            pa.array(np.repeat(stddevs, width)),
            pa.array(np.repeat(margins, width)),
        ]
