"""Releases as a CSV, JSON lines or Parquet file, with a companion file that describes them.

    step  time  key  value  stddev  lower  upper

`time` is the end of the step.  The interval from `lower` to `upper` contains the true sum with the
stated confidence.  The companion `FILE.plan.json` contains the guarantee, in words and as numbers,
and the complete plan.  Both files are written atomically, and everything in them may be published.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np

from hushfade import check
from hushfade.atomic_files import whole
from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidValue
from hushfade.releases.statistic_rows import (
    COLUMNS,
    StatisticRows,
    check_changes,
    statistic_columns,
)

if TYPE_CHECKING:
    from hushfade.planning.epochs import Epochs
    from hushfade.planning.plan import Plan
    from hushfade.public.statistics import LaneStatistic
    from hushfade.public.step_errors import StepErrors

FORMAT = "hushfade releases draft"
FORMS = ("csv", "jsonl", "parquet")
_ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


@dataclass(frozen=True)
class Meaning:
    """The meaning of the rows: keys, clock, confidence, and changes to values after release."""

    keys: tuple[str, ...] | None
    zoned: bool | None  # None if steps have no time
    confidence: float = 0.95
    changed: tuple[str, ...] = ()  # non_negative, whole
    statistic: LaneStatistic | None = None  # of several lanes; None for sums and counts

    def __post_init__(self) -> None:
        if self.statistic is not None:
            check_changes(self.statistic, self.changed)
        confidence = check.real(confidence=self.confidence)
        if not 0 < confidence < 1:
            raise InvalidValue("must be in (0, 1)", argument="confidence", got=repr(confidence))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        time = () if self.zoned is None else ("time",)
        key = () if self.keys is None else ("key",)
        if self.statistic is not None:
            return ("step", *time, *key, *statistic_columns(self.statistic))
        return ("step", *time, *key, "value", "stddev", "lower", "upper")


@dataclass(frozen=True)
class Rows:
    """Releases of n steps: values (n, lanes), one deviation per step, ends in ns since 1970."""

    steps: Signed
    ends: Signed | None
    values: Matrix
    stddevs: Column
    errors: StepErrors

    def margins(self, confidence: float) -> Column:
        """The margin of each step: the error exceeds it with probability 1 - confidence."""
        return self.errors.margins(self.steps, confidence, stddevs=self.stddevs)

    def table(self, meaning: Meaning) -> dict[str, Any]:
        """One array per column, with one row per step and key, ordered by step."""
        n, lanes = self.values.shape
        value, stddev = self.values.ravel(), np.repeat(self.stddevs, lanes)
        margin = np.repeat(self.margins(meaning.confidence), lanes)
        lower, upper = value - margin, value + margin
        if "non_negative" in meaning.changed:
            value, lower, upper = (np.maximum(x, 0.0) for x in (value, lower, upper))
        if "whole" in meaning.changed:
            value = np.rint(value)
        found: dict[str, Any] = {"step": np.repeat(self.steps, lanes)}
        if self.ends is not None:
            found["time"] = np.repeat(self.ends, lanes).astype("datetime64[ns]")
        if meaning.keys is not None:
            found["key"] = np.tile(np.array(meaning.keys, dtype=object), n)
        return {**found, "value": value, "stddev": stddev, "lower": lower, "upper": upper}


class Writer(Protocol):
    """A writer of rows, one piece at a time."""

    def write(self, rows: Rows | StatisticRows) -> None: ...


class TextWriter:
    """CSV with a header, or one JSON object per line; flushed after each piece."""

    def __init__(self, file: IO[str], meaning: Meaning, form: str) -> None:
        self._file, self._meaning, self._form = file, meaning, form
        self._csv = csv.writer(file, lineterminator="\n")
        if form == "csv":
            self._csv.writerow(meaning.columns)
            file.flush()

    def write(self, rows: Rows | StatisticRows) -> None:
        """Write the rows.  Floats have enough digits to be read back exactly."""
        table = rows.table(self._meaning)
        if "time" in table:
            table["time"] = times_written(table["time"], bool(self._meaning.zoned))
        names = self._meaning.columns
        listed = zip(*(_shown(table[name]) for name in names), strict=True)
        if self._form == "csv":
            self._csv.writerows(listed)
        else:
            for row in listed:
                self._file.write(json.dumps(dict(zip(names, row, strict=True))) + "\n")
        self._file.flush()


class ParquetWriter:
    """Parquet, with one row group per piece."""

    def __init__(self, path: Path, meaning: Meaning) -> None:
        self._arrow: Any = import_module("pyarrow")
        pa, zone = self._arrow, "UTC" if meaning.zoned else None
        kinds = {"step": pa.int64(), "time": pa.timestamp("ns", zone), "key": pa.string()}
        kinds |= dict.fromkeys(("bin", "quantile"), pa.string())
        self._meaning = meaning
        self._schema = pa.schema([(c, kinds.get(c, pa.float64())) for c in meaning.columns])
        self._writer: Any = import_module("pyarrow.parquet").ParquetWriter(path, self._schema)

    def write(self, rows: Rows | StatisticRows) -> None:
        """Write the rows as a row group."""
        self._writer.write_table(self._arrow.table(rows.table(self._meaning), schema=self._schema))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


def form_of(path: Path | None, form: str | None) -> str:
    """The format: as given, else from the file's name, else CSV."""
    found = form or ("csv" if path is None else _ENDINGS.get(path.suffix.lower()))
    if found not in FORMS:
        if form is None:
            *most, last = (f".{one}" for one in FORMS)
            raise InvalidValue(
                f"the name {path} must end in {', '.join(most)} or {last}, unless a format is given"
            )
        raise InvalidValue(f"must be one of {', '.join(FORMS)}", argument="format", got=form)
    return found


def companion(path: Path) -> Path:
    """The path of the companion file that describes the releases."""
    return path.with_name(path.name + ".plan.json")


def describes(path: Path, plan: Plan, stream: str) -> bool:
    """Whether the companion file at this path describes releases of this stream and plan."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        named = found["format"], found["stream"], found["plan"]["digest"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False
    return named == (FORMAT, stream, plan.digest.hex())


@contextmanager
def whole_file(
    path: Path, meaning: Meaning, form: str, told: str, *, new: bool = False
) -> Iterator[Writer]:
    """A writer whose file and companion appear only if the block succeeds.

    With `new` neither file may exist before.  The companion appears first: whoever replaces the
    file looks for it, also after a crash between the two.
    """
    with whole(path, new=new) as hidden, whole(companion(path), new=new) as beside:
        beside.write_text(told, encoding="utf-8")
        if form == "parquet":
            writer = ParquetWriter(hidden, meaning)
            try:
                yield writer
            finally:
                writer.close()
        else:
            with hidden.open("w", encoding="utf-8", newline="") as file:
                yield TextWriter(file, meaning, form)


@contextmanager
def growing_file(
    path: Path, meaning: Meaning, form: str, told: str, *, new: bool = False
) -> Iterator[Writer]:
    """A writer that first writes the companion, and then adds each release to the file."""
    if form == "parquet":
        raise InvalidValue("format must be csv or jsonl for live releases")
    with whole(companion(path), new=new) as beside:
        beside.write_text(told, encoding="utf-8")
    with path.open("x" if new else "w", encoding="utf-8", newline="") as file:
        yield TextWriter(file, meaning, form)


@contextmanager
def standard_output(meaning: Meaning, form: str) -> Iterator[Writer]:
    """A writer of text to standard output, without a companion."""
    if form == "parquet":
        raise InvalidValue("format must be csv or jsonl on standard output")
    yield TextWriter(sys.stdout, meaning, form)


def document(
    plan: Plan,
    meaning: Meaning,
    *,
    steps: dict[str, Any],
    noise: str,
    person: bool = False,
    epochs: Epochs | None = None,
    stream: str | None = None,
) -> str:
    """The companion's text: guarantee and accuracy in words, columns, steps, and the plan.

    `person`: hushfade enforced the limits per person.  `epochs` and the name `stream` belong to a
    stored stream.  `companion_file.read` reads the text.
    """
    import hushfade
    from hushfade.planning import promise
    from hushfade.planning.epochs import Epochs
    from hushfade.planning.summary import lower_bounds

    n = plan.horizon or 1000
    composed = Epochs.one(plan) if epochs is None else epochs
    explained = _COLUMNS if meaning.statistic is None else _COLUMNS | COLUMNS
    found = {
        "format": FORMAT,
        "hushfade": hushfade.__version__,
        "stream": stream,
        "guarantee": promise.sentence(
            plan,
            enforced=person,
            guarantee=composed.guarantee,
            unsafe=noise.startswith(promise.UNSAFE),
        ),
        "composed": composed.document(),
        "unit": "person" if person else "record",
        "limits": promise.limits(plan, enforced=person),
        "noise": noise,
        "optimum": " ".join(lower_bounds(plan, n)),
        "steps": steps,
        "columns": {name: explained[name] for name in meaning.columns},
        "confidence": meaning.confidence,
        "changed": list(meaning.changed),
        "plan": json.loads(plan.to_json()),
    }
    return json.dumps(found, indent=1) + "\n"


_COLUMNS = {
    "step": "number of the step, the first is 1",
    "time": "when the step closed",
    "key": "one of the declared keys",
    "value": "the decayed sum with noise",
    "stddev": "standard deviation of the noise in value, the same whatever the data are",
    "lower": "value minus the margin of the stated confidence",
    "upper": "value plus the margin of the stated confidence",
}


def _shown(column: Any) -> list[Any]:
    """The column as a list; a suppressed value is empty."""
    listed: list[Any] = column.tolist()
    if column.dtype.kind == "f" and bool(np.isnan(column).any()):
        return [None if math.isnan(one) else one for one in listed]
    return listed


def times_written(times: Any, zoned: bool) -> Any:
    """The times as ISO 8601, to the second if this is exact; with Z if the clock is UTC."""
    seconds = times.astype("datetime64[s]")
    exact = bool(np.all(seconds == times))
    text = np.datetime_as_string(seconds if exact else times)
    return np.char.add(text, "Z") if zoned else text
