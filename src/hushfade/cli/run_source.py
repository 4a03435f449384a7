"""The input of `hushfade run`: files, columns, and the totals of the steps as they close."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade.cli import console
from hushfade.cli.options.parameters import naming_options
from hushfade.errors import InvalidValue
from hushfade.records import Batch, Columns, Reader, Tally, Timed, batches, tally
from hushfade.records.files import delimiter_of, form_of, line_reader
from hushfade.records.live_lines import OpenSteps, by_clock, by_empty_lines

if TYPE_CHECKING:
    from hushfade.check import Signed
    from hushfade.cli.options.run import RunGuaranteeOptions, RunRecordOptions, RunTimeOptions
    from hushfade.planning.plan import Plan
    from hushfade.records.calendar import Order
    from hushfade.records.stamped_lines import StampedLines


@dataclass(frozen=True)
class Source:
    """The files of records, and how to read them."""

    paths: tuple[Path | None, ...]  # None is the standard input
    columns: Columns
    form: str | None = None
    time_unit: str | None = None
    skip_empty: bool = False
    delimiter: str | None = None

    @classmethod
    def of(
        cls,
        files: Sequence[Path],
        records: RunRecordOptions,
        time: RunTimeOptions,
        guarantee: RunGuaranteeOptions,
        denominator: str | None = None,
    ) -> Source:
        """The source that the options describe."""
        paths = tuple(None if str(path) == "-" else path for path in files)
        delimiter = "\t" if records.delimiter == "\\t" else records.delimiter
        with naming_options(records):
            for path in paths:
                delimiter_of(records.input_format or form_of(path), delimiter)
        keys = (*records.key_columns, None, None, None)
        return cls(
            paths,
            Columns(
                value=records.value,
                time=time.time,
                key=keys[0],
                second_key=keys[1],
                third_key=keys[2],
                user=guarantee.user,
                denominator=denominator,
            ),
            records.input_format,
            time.time_unit,
            records.skip_empty,
            delimiter,
        )

    def batches(self, progress: Callable[[int], object] | None = None) -> Iterator[Batch]:
        """The batches of records of all files, one file after another."""
        for number, path in enumerate(self.paths):
            for batch in batches(
                path, self.columns, form=self.form, delimiter=self.delimiter, progress=progress
            ):
                yield replace(batch, source=number)

    def reader(self, plan: Plan, order: Order) -> Reader:
        """The reader of batches.  With a column of persons it enforces the guarantee's limits."""
        return Reader(
            plan, self.columns, order, time_unit=self.time_unit, skip_empty=self.skip_empty
        )

    def tally(self, reader: Reader) -> Tally:
        """The totals of all steps, with a progress bar over the bytes of all files."""
        size = sum(path.stat().st_size for path in self.paths if path is not None)
        with console.progress("reading", total=size or None) as advance:
            seen = 0

            def show(read: int) -> None:  # bytes of the current file so far
                nonlocal seen
                advance(max(read - seen, 0))
                seen = read

            return tally(self.batches(show), reader, may_wait=None in self.paths)

    def live_totals(
        self, arriving: StampedLines, reader: Reader, order: Order, lateness: int
    ) -> Iterator[Signed]:
        """The totals of each step, when the clock or an empty line closes it."""
        lines = line_reader(
            self.form or "csv",
            "standard input",
            self.columns,
            delimiter=self.delimiter,
            live=True,
        )
        steps = OpenSteps(reader, lines)
        if not isinstance(order, Timed):
            return by_empty_lines(arriving, steps, most=order.steps)
        if lateness and self.columns.time is None:
            raise InvalidValue("--lateness needs --time: without times no record is late")
        return by_clock(arriving, steps, order, lateness=lateness)

    def digest(self, order: Order, totals: Signed) -> bytes:
        """SHA-256 of the input of a run and how it is read: columns, steps, totals."""
        words = (self.columns, self.time_unit, self.skip_empty, order, totals.shape)
        return hashlib.sha256(repr(words).encode() + totals.tobytes()).digest()
