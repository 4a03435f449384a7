"""hushfade run: read records, and write differentially private releases."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade.cli import console, run_checks
from hushfade.cli.options import DecayOptions
from hushfade.cli.options.noise import NoiseOptions
from hushfade.cli.options.parameters import naming_options
from hushfade.cli.options.run import (
    Files,
    RunGuaranteeOptions,
    RunMechanismOptions,
    RunOutputOptions,
    RunRecordOptions,
    RunStoreOptions,
    RunTimeOptions,
)
from hushfade.cli.options.statistics import StatisticOptions
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from hushfade.decays import Decay
    from hushfade.planning.plan import Plan
    from hushfade.records.stamped_lines import StampedLines
    from hushfade.releases.files import Meaning, Writer


def run(
    files: Files,
    /,
    *,
    decay: DecayOptions = DecayOptions(),
    time: RunTimeOptions = RunTimeOptions(),
    guarantee: RunGuaranteeOptions = RunGuaranteeOptions(),
    records: RunRecordOptions = RunRecordOptions(),
    statistic: StatisticOptions = StatisticOptions(),
    mechanism: RunMechanismOptions = RunMechanismOptions(),
    noise: NoiseOptions = NoiseOptions(),
    store: RunStoreOptions = RunStoreOptions(),
    output: RunOutputOptions = RunOutputOptions(),
) -> None:
    """Release a differentially private series from files of records, or from lines as they arrive.

    hushfade clips each record to the range from --low to --high, adds it to the total of its step
    and key, and releases the decayed sums with noise. The output has one row per step and key,
    with the standard deviation of the error. With -o FILE, the file FILE.plan.json contains the
    guarantee and the plan. --mean, --share, --variance, --histogram, --quantiles and --ratio
    release these statistics in place of sums. With --store each file continues the series.

    `hushfade run events.csv --time at --every 1h --start 2026-01-01 --end 2026-02-01
    --value amount --low 0 --high 1 --key country --keys at,ch,de --half-life 24h --epsilon 1
    --delta 1e-6 -o releases.parquet`
    """
    run_checks.check_inputs(files, time, output)
    run_checks.check_statistic(statistic, mechanism, output)
    records = statistic.read_from(records)
    if store.store is not None:
        from hushfade.cli.run_series import Options
        from hushfade.cli.run_store import run_store

        options = Options(decay, time, guarantee, records, statistic, mechanism, noise, output)
        run_store(files, options, store)
        return
    for option in store.given():
        raise InvalidValue(f"{option} needs --store")
    if mechanism.plan_file is None:
        run_checks.check_declared(records, guarantee)
    else:
        run_checks.check_plan_alone(decay, time, guarantee, records, mechanism)
    noise.check(live=time.live)
    with closing(_standard_input()) if time.live else nullcontext() as lines:
        _run(files, lines, decay, time, guarantee, records, statistic, mechanism, noise, output)


def _standard_input() -> StampedLines:
    """The lines of the standard input, each with its time of arrival from now on."""
    from hushfade.records.stamped_lines import StampedLines, SteadyClock

    if sys.stdin is None:  # descriptor 0 may be another file by now
        raise console.Failure("cannot read the standard input: it is closed", console.Exit.FILE)
    return StampedLines(0, SteadyClock.set_now())


def _run(
    files: Files,
    lines: StampedLines | None,
    decay: DecayOptions,
    time: RunTimeOptions,
    guarantee: RunGuaranteeOptions,
    records: RunRecordOptions,
    statistic: StatisticOptions,
    mechanism: RunMechanismOptions,
    noise: NoiseOptions,
    output: RunOutputOptions,
) -> None:
    """Plan, read and release; `lines` are the lines that arrive live, None for files."""
    from hushfade import duration
    from hushfade.cli.live_chart import SeriesView
    from hushfade.cli.run_source import Source
    from hushfade.cli.run_statement import Outcome, Promise
    from hushfade.cli.run_steps import live_order, order_of, steps_document
    from hushfade.records import Timed
    from hushfade.releases.files import Meaning, document, form_of
    from hushfade.releases.rows import released_rows, released_rows_live

    with naming_options(output, format="output_format"):
        form = form_of(output.output, output.output_format)
    others = (mechanism.plan_file, records.keys_file, noise.noise_key)
    run_checks.check_outputs([*files, *(path for path in others if path is not None)], output)
    source = Source.of(files, records, time, guarantee, statistic.denominator)
    given = None
    if mechanism.plan_file is not None:
        given = plan_in_file(mechanism.plan_file)
        time = time.of_plan(given)
    order = order_of(time, source) if lines is None else live_order(time, source, lines.clock)
    plan = given or plan_of(decay, time, guarantee, records, statistic, mechanism, order.steps)
    suppress_below = statistic.suppress_below
    if suppress_below is not None and plan.statistic is None:
        raise InvalidValue("--suppress-below needs a statistic, such as --mean")
    calendar = order if isinstance(order, Timed) else None
    zoned = None if calendar is None else calendar.zoned
    with naming_options(output, guarantee, records, time):
        changes = output.changes
        meaning = Meaning(plan.keys, zoned, output.confidence, changes, plan.statistic)
        reader = source.reader(plan, order)
    if lines is not None:
        late = time.lateness
        wait = 0 if late is None else duration.nanoseconds(late, name="--lateness")
        totals = source.live_totals(lines, reader, order, wait)
        stream, count = plan.start(noise.source(b"")), order.steps
        pieces = released_rows_live(stream, totals, calendar, suppress_below=suppress_below)
    else:
        read = source.tally(reader)
        run_checks.check_counted(source.paths, read.by_source, allow_empty=records.allow_empty)
        table = read.totals
        stream, count = plan.start(noise.claimed(plan, source.digest(order, table))), len(table)
        pieces = released_rows(stream, table, calendar, suppress_below=suppress_below)
    promise = Promise(plan, guarantee.user is not None, noise.unsafe)
    companion = (
        None
        if output.output is None
        else document(
            plan,
            meaning,
            steps=steps_document(order, count),
            noise=noise.description,
            person=promise.person,
        )
    )
    if not output.json:
        promise.show(plan, count, meaning.confidence)
    outcome = Outcome(plan, promise, reader, output.output, output.plot)
    label, kept = output.plot_label or statistic.label, output.plot is not None
    view = SeriesView(plan, meaning, shown=output.watch, kept=kept, label=label)
    try:
        with _writer(output, meaning, form, companion, live=time.live) as writer, view:
            for piece in pieces:
                writer.write(piece)
                view.add(piece)
    except KeyboardInterrupt:
        if time.live:  # the usual end
            outcome.show(stream.steps, as_json=output.json)
        raise
    if output.plot is not None:
        view.plot(output.plot)
    outcome.show(stream.steps, as_json=output.json)


def plan_of(
    decay: DecayOptions,
    time: RunTimeOptions,
    guarantee: RunGuaranteeOptions,
    records: RunRecordOptions,
    statistic: StatisticOptions,
    mechanism: RunMechanismOptions,
    steps: int | None,
) -> Plan:
    """The plan that the options describe."""
    fading, horizon = decay.function(time.step), time.steps_to_horizon
    if horizon is None and mechanism.expect is None and _needs_horizon(fading, mechanism.method):
        horizon = steps  # declared, like a horizon
    promised = guarantee.guarantee(time.step)
    valued = records.value is not None
    return mechanism.plan(
        fading,
        promised,
        records,
        horizon=horizon,
        time=time,
        valued=valued,
        statistic=statistic.statistic(records),
    )


def plan_in_file(path: Path) -> Plan:
    """The plan in a plan file."""
    from hushfade.planning.plan import Plan

    with console.reading(path):
        return Plan.from_json(path.read_bytes())


def _needs_horizon(decay: Decay, method: str) -> bool:
    return method == "normalized" or (method != "unbounded" and not decay.horizon_free)


def _writer(
    output: RunOutputOptions,
    meaning: Meaning,
    form: str,
    companion: str | None,
    *,
    live: bool,
) -> AbstractContextManager[Writer]:
    """The writer of the releases.  A file has a companion file, standard output has none."""
    from hushfade.releases import files

    if output.output is None or companion is None:
        return files.standard_output(meaning, form)
    make = files.growing_file if live else files.whole_file
    return make(output.output, meaning, form, companion, new=not output.force)
