"""hushfade compare: the errors of hushfade's mechanisms and of all other mechanisms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hushfade.cli import console, plain_words
from hushfade.cli.options import (
    BoundsOptions,
    DecayOptions,
    MechanismOptions,
    PersonOptions,
    PictureOptions,
    TimeOptions,
)
from hushfade.cli.options.parameters import naming_options
from hushfade.errors import InvalidValue
from hushfade.privacy.rounding import rounded_up

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.baselines import Comparison

OURS = "hushfade"

_WIDE = 110  # the columns of a terminal that has room for the complete table


def compare(
    *,
    decay: DecayOptions = DecayOptions(),
    time: TimeOptions = TimeOptions(),
    guarantee: PersonOptions = PersonOptions(),
    records: BoundsOptions = BoundsOptions(),
    mechanism: MechanismOptions = MechanismOptions(),
    output: PictureOptions = PictureOptions(),
) -> None:
    """Compare the error of hushfade with the errors of about twenty other mechanisms.

    All mechanisms have the same guarantee and the same number of steps (--horizon). Errors are
    exact standard deviations, not simulations. The first row is hushfade's plan: the mechanism
    with the smallest error, or the mechanism that --method and --law choose. Up to 1024 steps the
    table includes the best Gaussian factorization, which takes about ten seconds. With
    records of a person in several steps the table contains hushfade's mechanisms only, because the
    others are defined for one record.

    `hushfade compare --half-life 24 --horizon 256 --epsilon 1 --delta 1e-6`
    """
    output.check_files()
    bottom, top = records.bounds(valued=False)
    steps = time.steps_to_horizon
    if steps is None:
        raise InvalidValue("--horizon must be given: the number of steps to compare")
    fading, promised = decay.function(time.step), guarantee.guarantee(time.step)
    from hushfade import baselines

    if mechanism.expect is not None:
        raise InvalidValue("--expect must not be given: --horizon sets the length of the stream")
    with console.progress("comparing"), naming_options(records, time, mechanism):
        found = baselines.compare(
            fading,
            promised,
            steps,
            low=bottom,
            high=top,
            resolution=1.0 if records.counting else None,
            method=mechanism.method,
            law=mechanism.law,
        )
    if output.plot is not None:
        from hushfade import plots

        plots.write(plots.errors(found), output.plot)
    if output.json:
        console.document(json.loads(found.to_json()))
        return
    page = console.out()
    page.print(f"{found.decay!r} over {plain_words.in_time(found.horizon, time.step)}.")
    if records.counting:
        page.print(plain_words.COUNTED)
    page.print(promised.sentence(every=time.declared_step))
    page.print(found.lower_bound)
    if promised.protects.steps > 1:
        page.print("Other mechanisms are left out: they are defined for one record only.")
    page.print(_table(found, wide=page.width >= _WIDE))
    page.print(
        "Errors are standard deviations in the unit of the records. Ratio: the largest error, "
        "divided by the smallest possible error with Gaussian noise. Memory: numbers kept between "
        "steps. Work: operations per step."
    )


def _table(found: Comparison, *, wide: bool) -> Table:
    """The table, with hushfade's mechanisms in bold; `wide` adds memory, work and notes."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("mechanism")  # the only column that may wrap: numbers must not be cut
    for head in ("largest error", "rms error", "ratio", *(("memory", "work") if wide else ())):
        table.add_column(head, justify="right", no_wrap=True)
    if wide:
        table.add_column("notes")
    for row in found.rows:
        notes = ["needs no delta"] if row.pure else []
        notes += [row.notes] if row.notes else []
        table.add_row(
            row.method,
            f"{row.max_error:.4g}",
            f"{row.rms_error:.4g}",
            "-" if row.ratio is None else rounded_up(row.ratio),
            *((str(row.memory), f"{row.work:.3g}", ", ".join(notes)) if wide else ()),
            style="bold green" if row.method.startswith(OURS) else None,
        )
    return table
