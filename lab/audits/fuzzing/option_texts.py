"""Fuzz targets for texts that people type: durations, calendars, command options, lists of keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import hushfade as hf
from hushfade import duration
from hushfade.cli.console import Failure
from hushfade.cli.options import (
    BoundsOptions,
    DecayOptions,
    PersonOptions,
    RecordOptions,
    StepOptions,
)
from hushfade.records.calendar import calendar
from lab.audits.fuzzing.invariants import Target

HOUR = 3600 * 10**9
# characters that Python's float reads and hushfade's numbers must not contain
ODD = re.compile(r"_|[^\x00-\x7f\s]")
DURATIONS = (
    b"24h", b"90min", b"7d", b"2w", b"1h30m", b"500ms", b"24", b"1.5h", b" 1d 12 h ", b"3us",
)  # fmt: skip
UNITS = (
    b"w", b"d", b"h", b"min", b"m", b"s", b"ms", b"us", b"ns", b"mo", b"y", b"0", b"1", b"24",
    b"1.5", b"999999999999999", b".", b" ", b"e", b"-", "１".encode(), b"\t", b"\n", b"\x00",
)  # fmt: skip
PARTS = (
    b"2026", b"-01", b"-31", b"T12:00", b":00", b".5", b"Z", b"+01:00", b"|", b"1h", b"1ns",
    b"0h", b"1677-09-21", b"2262-04-12", b"0001", b"9999-12-31", b" ", b"T24:00", b":60", b"\x00",
)  # fmt: skip


@contextmanager
def durations(directory: Path) -> Iterator[Target]:
    """Durations as text, and their number of steps."""

    def read(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        _any(
            lambda: duration.nanoseconds(text),
            lambda: duration.whole_steps(text, HOUR, name="window"),
            lambda: duration.steps(text, HOUR, name="half_life"),
            lambda: duration.steps(text, None, name="half_life"),
        )
        if ODD.search(text.strip()):
            raise AssertionError("hushfade read a text that is not a number")

    yield Target("durations", DURATIONS, read, words=UNITS)


@contextmanager
def calendars(directory: Path) -> Iterator[Target]:
    """Start, length and end of steps, separated by bars."""
    times = np.array([-(2**63), -1, 0, 10**18, 2**63 - 1])

    def read(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        start, every, end = (*text.split("|", 2), "1h", "")[:3]
        length = duration.length(every)
        assert length is not None
        found = calendar(start, length, end=end or None)
        places = found.places(times)
        assert np.all(np.diff(places) >= 0)
        if found.steps is not None:
            assert found.places(np.array([found.end_of(found.steps) - 1])) == [found.steps - 1]

    seeds = (
        b"2026-01-01|1h|2026-01-08", b"2026-01-31T12:00|1d|", b"2026-01-01Z|1min|2026-01-02Z",
        b"2026-01-05|week Europe/Vienna|2026-04-06",
        b"2026-01-01T00:00:00.5+01:00|1s|2026-01-01T00:00:09.5Z",
    )  # fmt: skip
    yield Target("calendars", seeds, read, words=PARTS)


@contextmanager
def options(directory: Path) -> Iterator[Target]:
    """Options of the command line as lines name=value, and a file of keys."""
    path = directory / "keys.txt"

    def read(data: bytes) -> None:
        text, _, listed = data.partition(b"\n\n")
        given = _given(text.decode("utf-8", "surrogateescape"))
        path.write_bytes(listed)
        _all(
            lambda: StepOptions(every=given.get("every")).step,
            lambda: _decay(given),
            lambda: _guarantee(given),
            lambda: _bounds(given),
            lambda: _keys(given, path).declared_keys(),
        )

    seeds = (
        b"half_life=24h\nevery=1h\nepsilon=1\ndelta=1e-6\nlow=0\nhigh=1\nkeys=at,ch,de",
        b"window=7d\nevery=1d\nmu=0.5\nlow=-1\nhigh=2.5\napart=2d\n\nat\nch\nde\n",
        b"weights=1,.5,.25\nrho=0.1\nlow=0\nhigh=10\n\n\xef\xbb\xbfat\r\nch\r\n",
        b"power=1\nepsilon=2\ndelta=1e-9\nlow=0\nhigh=1\nkind=power\n\nat\n",
        b"alpha=1.03\nkind=exponential\nmu=1\nlow=0\nhigh=1\nkeys=a",
    )
    refusals = (hf.HushfadeError, Failure)
    yield Target("command-line options", seeds, read, refusals=refusals)


def _given(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.split("\n"))
    return {name: value for name, _, value in pairs if value}


def _decay(given: dict[str, str]) -> None:
    names = ("half_life", "window", "weights")
    chosen: dict[str, Any] = {name: given[name] for name in names if name in given}
    chosen |= {name: _float(given, name) for name in ("alpha", "power") if name in given}
    kinds = ("none", "exponential", "power", "window", "custom")
    kind: Any = given.get("kind") if given.get("kind") in kinds else None
    DecayOptions(decay=kind, **chosen).function(HOUR if "every" in given else None)
    if any(ODD.search(given.get(name, "").strip()) for name in names):
        raise AssertionError("hushfade read a text that is not a number")


def _guarantee(given: dict[str, str]) -> None:
    chosen: dict[str, Any] = {
        name: _float(given, name) for name in ("epsilon", "delta", "mu", "rho") if name in given
    }
    if "apart" in given:
        chosen["apart"] = given["apart"]
    PersonOptions(**chosen).guarantee(HOUR if "every" in given else None)


def _bounds(given: dict[str, str]) -> None:
    BoundsOptions(low=_float(given, "low"), high=_float(given, "high")).bounds(valued=True)


def _keys(given: dict[str, str], path: Path) -> RecordOptions:
    if "keys" in given:
        return RecordOptions(keys=given["keys"])
    return RecordOptions(keys_file=path)


def _float(given: dict[str, str], name: str) -> float | None:
    """The number, by the command line's own reader, which refuses other texts."""
    try:
        return float(given[name]) if name in given else None
    except ValueError:
        raise hf.InvalidValue(f"{name} must be a number") from None


def _refusals(reads: Sequence[Callable[[], object]]) -> list[Exception]:
    found: list[Exception] = []
    for read in reads:
        try:
            read()
        except (hf.HushfadeError, Failure) as error:
            found.append(error)
    return found


def _any(*reads: Callable[[], object]) -> None:
    """Call all functions; raise a refusal if all of them refuse."""
    found = _refusals(reads)
    if len(found) == len(reads):
        raise found[-1]


def _all(*reads: Callable[[], object]) -> None:
    """Call all functions; raise a refusal if one of them refuses."""
    found = _refusals(reads)
    if found:
        raise found[-1]
