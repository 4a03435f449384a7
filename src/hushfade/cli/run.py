"""hushfade run: records in, private releases out."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade import duration
from hushfade.cli import choices, console, options
from hushfade.cli import run_options as own
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from hushfade.check import Signed
    from hushfade.cli.job import Source
    from hushfade.decay import Decay
    from hushfade.events import Counts, Reader
    from hushfade.plan import Plan
    from hushfade.published import Meaning, Writer

DROPPED = {  # why a record did not count, in words
    "outside": "outside the steps",
    "late": "too late",
    "over_limit": "beyond a person's limits",
    "other_keys": "of other keys",
    "empty": "without value",
}


def run(
    files: own.Files,
    value: own.Value = None,
    low: options.Low = None,
    high: options.High = None,
    resolution: options.Resolution = None,
    skip_empty: own.SkipEmpty = False,
    key: own.Key = None,
    keys: options.Keys = None,
    keys_file: options.KeysFile = None,
    input_format: own.InputFormat = None,
    method: options.Method = "square_root",
    time: own.Time = None,
    time_unit: own.TimeUnit = None,
    every: options.Every = None,
    start: own.Start = None,
    end: own.End = None,
    steps: own.Steps = None,
    public_range: own.PublicRange = False,
    rows_per_step: own.RowsPerStep = 1,
    live: own.Live = False,
    lateness: own.Lateness = None,
    horizon: options.Horizon = None,
    decay: options.Kind = None,
    half_life: options.HalfLife = None,
    alpha: options.Alpha = None,
    power: options.Power = None,
    window: options.Window = None,
    weights: options.Weights = None,
    plan: own.PlanFile = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    mu: options.Mu = None,
    rho: options.Rho = None,
    neighbours: options.NeighbourRelation = "add_remove",
    user: own.User = None,
    per_user_limit: own.PerUserLimit = 1,
    participations: own.Participations = None,
    separation: options.Separation = "1",
    noise_key: own.NoiseKey = None,
    stream: own.StreamName = None,
    unsafe_seed: own.UnsafeSeed = None,
    output: options.Output = None,
    output_format: own.OutputFormat = None,
    confidence: own.Confidence = 0.95,
    non_negative: own.NonNegative = False,
    whole: own.Whole = False,
    plot: options.Plot = None,
    watch: own.Watch = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Release a private series from files of records, or from lines as they come.

    Every record is clipped to --low and --high, added to the step of its time and to its key, and
    the decayed sums are released with noise: one row for each step and key, with its error. The
    order of the records does not matter. Beside the file of releases stands FILE.plan.json, with
    the guarantee and the plan.

    [cyan]hushfade run events.csv --time at --every 1h --start 2026-01-01 --end 2026-02-01
    --value amount --low 0 --high 1 --key country --keys at,ch,de --half-life 24h --epsilon 1
    --delta 1e-6 -o releases.parquet[/]
    """
    from hushfade.cli import job
    from hushfade.cli.watched import Watched
    from hushfade.events import Calendar, Columns
    from hushfade.events.live import steady_clock
    from hushfade.published import Meaning, document, form_of
    from hushfade.runs import released, released_live

    _check(files, live=live, as_json=json, output=output, lateness=lateness)
    if user is not None and participations is None and plan is None:
        raise InvalidValue("--user needs --participations: in how many steps a person may count")
    if key is not None and keys is None and keys_file is None and plan is None:
        raise InvalidValue(
            "--key needs declared keys, by --keys or --keys-file: a key that were published "
            "because it occurs would tell that somebody has it"
        )
    noise, noise_told = job.noise_of(noise_key, stream, unsafe_seed)
    form = form_of(output, output_format)
    for path, option in ((output, "--output"), (plot, "--plot")):
        console.writable(path, force=force, option=option)
    step, now = choices.every_of(every), steady_clock()
    source = job.Source(
        tuple(None if str(path) == "-" else path for path in files),
        Columns(value=value, time=time, key=key, user=user),
        input_format,
        time_unit,
        skip_empty,
    )
    asked = job.Steps(step, start, end, steps, public_range, rows_per_step)
    order = job.live_order(asked, source, now) if live else job.order_of(asked, source)
    if plan is not None:
        made = _kept(plan)
    else:
        bottom, top = choices.bounds_of(low, high, valued=value is not None)
        fading = choices.decay_of(
            decay, half_life=half_life, alpha=alpha, power=power, window=window, weights=weights,
            every=step,
        )  # fmt: skip
        guarantee = choices.guarantee_of(
            epsilon=epsilon, delta=delta, mu=mu, rho=rho, neighbours=neighbours,
            participations=participations or 1, separation=separation,
            records_per_step=per_user_limit, every=step,
        )  # fmt: skip
        if horizon is None and order.steps is not None and _needs_horizon(fading, method):
            horizon = str(order.steps)  # declared, like the steps
        made = choices.plan_of(
            fading, guarantee, low=bottom, high=top, horizon=horizon, method=method,
            resolution=1.0 if value is None and resolution is None else resolution,
            keys=choices.keys_of(keys, keys_file), every=step,
        )  # fmt: skip
    changed = (("non_negative", non_negative), ("whole", whole))
    zoned = order.zoned if isinstance(order, Calendar) else None
    meaning = Meaning(made.keys, zoned, confidence, tuple(name for name, on in changed if on))
    reader, started = source.reader(made, order), made.start(noise)
    view = Watched(made, meaning, shown=watch, kept=plot is not None)
    told = partial(
        document, made, meaning, noise=noise_told,
        limits=job.limits_sentence(source.columns, made.guarantee),
    )  # fmt: skip
    calendar = order if isinstance(order, Calendar) else None
    if live:
        late = 0 if lateness is None else duration.nanoseconds(lateness, name="--lateness")
        totals = job.live_totals(source, reader, order, late, now)
        pieces, count = released_live(started, totals, calendar), order.steps
    else:
        table = _tallied(source, reader)
        pieces, count = released(started, table, calendar), len(table)
    described = told(steps=job.steps_told(order, count))
    if not json:
        _promise(made, count)
    with _file(output, meaning, form, described, live=live) as writer, view:
        for piece in pieces:
            writer.write(piece)
            view.add(piece)
    if plot is not None:
        view.plot(plot)
    _tell(made, reader.counts, output=output, steps=started.steps, as_json=json)


def _check(
    files: list[Path], *, live: bool, as_json: bool, output: Path | None, lateness: str | None
) -> None:
    if as_json and output is None:
        raise InvalidValue("--json needs --output: without it the releases are on standard output")
    standard = [path for path in files if str(path) == "-"]
    if len(standard) > 1 or (live and files != standard):
        raise InvalidValue("FILE must be - alone with --live, and - at most once otherwise")
    if lateness is not None and not live:
        raise InvalidValue("--lateness needs --live: in whole files no record is late")


def _kept(path: Path) -> Plan:
    """A plan that was written before."""
    from hushfade.plan import Plan

    with console.reading(path):
        return Plan.from_json(path.read_bytes())


def _needs_horizon(decay: Decay, method: str) -> bool:
    return method == "normalized" or (method == "square_root" and not decay.horizon_free)


def _tallied(source: Source, reader: Reader) -> Signed:
    from hushfade.events import tally

    size = sum(path.stat().st_size for path in source.paths if path is not None)
    with console.progress("reading", total=size or None) as advance:
        seen = [0]

        def tell(read: int) -> None:  # bytes of the current file so far
            advance(max(read - seen[0], 0))
            seen[0] = read

        return tally(source.batches(tell), reader).totals


def _file(
    path: Path | None, meaning: Meaning, form: str, told: str, *, live: bool
) -> AbstractContextManager[Writer]:
    from hushfade import published

    if path is None:
        return published.standard_output(meaning, form)
    make = published.growing_file if live else published.whole_file
    return make(path, meaning, form, told)


def _promise(made: Plan, steps: int | None) -> None:
    """How private and how accurate it is going to be, before anything is released."""
    err = console.err()
    err.print(made.guarantee.sentence(), soft_wrap=True)
    margin = 1.96 * made.max_stddev(steps or made.horizon or 1000)
    err.print(f"95 of 100 released values are within {margin:.4g} of the true decayed sum.")


def _tell(made: Plan, counts: Counts, *, output: Path | None, steps: int, as_json: bool) -> None:
    """What was done.  What became of the records is for the operator's eyes."""
    from hushfade.published import companion

    if as_json:
        assert output is not None
        console.document(
            {
                "releases": str(output),
                "companion": str(companion(output)),
                "steps": steps,
                "keys": None if made.keys is None else len(made.keys),
                "guarantee": made.guarantee.sentence(),
                "max_stddev": made.max_stddev(steps) if steps else None,
                "plan": made.digest.hex(),
                "not_for_publication": {**asdict(counts), "counted": counts.counted},
            }
        )
        return
    err = console.err()
    if output is not None:
        err.print(f"Written: {output} and {companion(output).name}: {steps} steps.")
    reasons = [f"{n} {DROPPED[why]}" for why, n in asdict(counts).items() if why in DROPPED and n]
    dropped = "; dropped: " + ", ".join(reasons) if reasons else ""
    counted = f"{counts.counted} of {counts.records} records counted"
    err.print(f"Not for publication: {counted}{dropped}.", soft_wrap=True)
