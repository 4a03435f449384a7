"""The committed releases of a stream as a file, always with the same values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushfade.cli import console
from hushfade.cli.options.parameters import naming_options
from hushfade.cli.run_statement import Promise
from hushfade.cli.run_steps import steps_document
from hushfade.errors import InvalidValue
from hushfade.records.calendar import Timed
from hushfade.releases import files
from hushfade.releases.files import Meaning, Rows, times_written
from hushfade.releases.statistic_rows import StatisticRows

if TYPE_CHECKING:
    from pathlib import Path

    from hushfade.cli.options.run import RunOutputOptions
    from hushfade.planning.plan import Plan
    from hushfade.store import Reader

_PIECE = 1 << 12  # steps read at a time
_NAMED = 10  # streams that a message names


def write(
    reader: Reader,
    name: str,
    output: RunOutputOptions,
    *,
    after: int = 0,
    suppress_below: float | None = None,
) -> int:
    """Write the releases after a step to --output or the standard output; return their number.

    The file appears only when it is complete.
    """
    from hushfade.store import step_times

    if name not in reader.streams():
        raise InvalidValue(
            "--stream must be in the store", got=repr(name), remedy=named_streams(reader)
        )
    plan, settings, steps = reader.plan(name), reader.settings(name), reader.steps(name)
    told = settings.get("files")
    order = None if told is None else step_times.of_settings(settings, plan.every)
    count = max(steps - after, 0)
    form, meaning = form_of(plan, order, output)
    promise = Promise.of_stream(reader, name)
    described = {"count": count, "first": after + 1}
    if order is not None:
        first = times_written(order.starts(np.array([after])).astype("datetime64[ns]"), order.zoned)
        described = steps_document(order, count) | {"start": str(first[0]), "first": after + 1}
    keyed = told is not None and told["keyed"]
    companion = files.document(
        plan,
        meaning,
        steps=described,
        noise="from a secret key" if keyed else "fresh, from the operating system",
        person=promise.person,
        epochs=promise.epochs,
        stream=name,
    )
    target = (
        files.standard_output(meaning, form)
        if output.output is None
        else files.whole_file(output.output, meaning, form, companion, new=not output.force)
    )
    with target as writer:
        while piece := reader.releases(name, after=after, most=_PIECE):
            numbers = np.array([one.step for one in piece], dtype=np.int64)
            values = np.stack([one.values for one in piece]).astype(np.float64)
            stddevs = np.array([one.stddev for one in piece])
            ends = None if order is None else order.ends(numbers)
            if plan.statistic is None:
                writer.write(Rows(numbers, ends, values, stddevs, plan.errors))
            else:
                readings = plan.readings(values, numbers, stddevs)
                writer.write(StatisticRows(readings, ends, suppress_below))
            after = piece[-1].step
    return count


def check_replaces(path: Path, plan: Plan, stream: str | None) -> bool:
    """Return whether a file of releases or its companion exists.

    Raise unless an existing file has releases of this stream and plan, as its companion states.
    The stream is None if it is new: then it has no releases.
    """
    beside = files.companion(path)
    for one in (path, beside):
        if one.exists() and (stream is None or not files.describes(beside, plan, stream)):
            whose = "" if stream is None else f", without releases of stream {stream!r}"
            raise console.Failure(
                f"{one} already exists{whose}: choose another --output, or use --force to replace "
                "it",
                console.Exit.FILE,
            )
    return path.exists() or beside.exists()


def named_streams(reader: Reader) -> str:
    """The streams of the store, for a message about a wrong name."""
    names = reader.streams()
    if not names:
        return "the store has no streams yet"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    kind = "its only stream is" if len(names) == 1 else "its streams are"
    return f"{kind} {', '.join(map(repr, names[:_NAMED]))}{more}"


def form_of(plan: Plan, order: Timed | None, output: RunOutputOptions) -> tuple[str, Meaning]:
    """The format of the output, and the meaning of its columns.  Raise if an option is wrong."""
    with naming_options(output, format="output_format"):
        zoned = None if order is None else order.zoned
        meaning = Meaning(plan.keys, zoned, output.confidence, output.changes, plan.statistic)
        return files.form_of(output.output, output.output_format), meaning


def time_text(time: int, *, zoned: bool) -> str:
    """A time in nanoseconds since 1970, as ISO 8601."""
    return str(times_written(np.array([time]).astype("datetime64[ns]"), zoned)[0])
