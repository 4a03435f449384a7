"""hushfade run: records in, private releases out."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade.cli import choices, console, options
from hushfade.cli import run_checks as checks
from hushfade.cli import run_options as own
from hushfade.records import duration

if TYPE_CHECKING:
    from hushfade.check import Signed
    from hushfade.cli.job import Promise, Source
    from hushfade.decay import Decay
    from hushfade.planning.plan import Plan
    from hushfade.records import Counts, Reader
    from hushfade.releases.files import Meaning, Writer

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
    the decayed sums are released with noise: one row for each step and key, with its error. Beside
    the file of releases stands FILE.plan.json, with the guarantee and the plan.

    [cyan]hushfade run events.csv --time at --every 1h --start 2026-01-01 --end 2026-02-01
    --value amount --low 0 --high 1 --key country --keys at,ch,de --half-life 24h --epsilon 1
    --delta 1e-6 -o releases.parquet[/]
    """
    from hushfade.cli import job
    from hushfade.cli.live_chart import Watched
    from hushfade.records import Calendar, Columns
    from hushfade.records.live_lines import steady_clock
    from hushfade.releases.files import Meaning, document, form_of
    from hushfade.releases.rows import released, released_live

    checks.check_files(files, live=live, as_json=json, output=output, lateness=lateness)
    if plan is None:
        checks.check_declared(
            value=value, low=low, high=high, user=user, participations=participations, key=key,
            keys=keys, keys_file=keys_file,
        )  # fmt: skip
    else:
        said = (
            decay, half_life, alpha, power, window, weights, epsilon, delta, mu, rho, low, high,
            resolution, keys, keys_file, horizon, participations,
            None if neighbours == "add_remove" else neighbours,
            None if separation == "1" else separation,
            None if per_user_limit == 1 else per_user_limit,
            None if method == "square_root" else method,
        )  # fmt: skip
        checks.check_plan(said)
    noise = job.noise_of(noise_key, stream, unsafe_seed, live=live)
    form = form_of(output, output_format)
    inputs = [*files, *(path for path in (plan, keys_file, noise_key) if path is not None)]
    checks.check_paths(inputs, output, plot, force=force)
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
    with choices.said_as_options():
        meaning = Meaning(made.keys, zoned, confidence, tuple(name for name, on in changed if on))
        reader = source.reader(made, order)
    promise = job.Promise(made.guarantee, user is not None, unsafe_seed is not None)
    view = Watched(made, meaning, shown=watch, kept=plot is not None)
    calendar = order if isinstance(order, Calendar) else None
    if live:
        late = 0 if lateness is None else duration.nanoseconds(lateness, name="--lateness")
        totals = job.live_totals(source, reader, order, late, now)
        started, count = made.start(noise.source(b"")), order.steps
        pieces = released_live(started, totals, calendar)
    else:
        table = _tallied(source, reader)
        drawn = noise.claimed(made, job.digest(source, order, table))
        started, count = made.start(drawn), len(table)
        pieces = released(started, table, calendar)
    described = document(
        made, meaning, steps=job.steps_told(order, count), noise=noise.told,
        guarantee=promise.sentence, unit=promise.unit, limits=promise.limits,
    )  # fmt: skip
    if not json:
        _promise(made, promise, count)
    done = Done(made, promise, reader.counts, tuple(p for p in (output, plot) if p is not None))
    try:
        with _file(output, meaning, form, described, live=live, new=not force) as writer, view:
            for piece in pieces:
                writer.write(piece)
                view.add(piece)
    except KeyboardInterrupt:
        if live:  # the usual end
            done.tell(started.steps, as_json=json)
        raise
    if plot is not None:
        view.plot(plot)
    done.tell(started.steps, as_json=json)


def _kept(path: Path) -> Plan:
    """A plan that was written before."""
    from hushfade.planning.plan import Plan

    with console.reading(path):
        return Plan.from_json(path.read_bytes())


def _needs_horizon(decay: Decay, method: str) -> bool:
    return method == "normalized" or (method == "square_root" and not decay.horizon_free)


def _tallied(source: Source, reader: Reader) -> Signed:
    from hushfade.records import tally

    size = sum(path.stat().st_size for path in source.paths if path is not None)
    with console.progress("reading", total=size or None) as advance:
        seen = [0]

        def tell(read: int) -> None:  # bytes of the current file so far
            advance(max(read - seen[0], 0))
            seen[0] = read

        return tally(source.batches(tell), reader).totals


def _file(
    path: Path | None, meaning: Meaning, form: str, told: str, *, live: bool, new: bool
) -> AbstractContextManager[Writer]:
    from hushfade.releases import files as published

    if path is None:
        return published.standard_output(meaning, form)
    make = published.growing_file if live else published.whole_file
    return make(path, meaning, form, told, new=new)


def _promise(made: Plan, promise: Promise, steps: int | None) -> None:
    """How private and how accurate it is going to be, before anything is released."""
    margin = 1.96 * made.max_stddev(steps or made.horizon or 1000)
    console.note(promise.sentence)
    if promise.limits is not None:
        console.note(promise.limits)
    console.note(f"95 of 100 released values are within {margin:.4g} of the true decayed sum.")


@dataclass(frozen=True)
class Done:
    """What was done.  What became of the records is for the operator's eyes."""

    plan: Plan
    promise: Promise
    counts: Counts
    files: tuple[Path, ...]

    def tell(self, steps: int, *, as_json: bool) -> None:
        """At the end."""
        from hushfade.releases.files import companion

        counts, plan = self.counts, self.plan
        if as_json:
            console.document(
                {
                    "releases": str(self.files[0]),
                    "companion": str(companion(self.files[0])),
                    "files": [str(path) for path in self.files],
                    "steps": steps,
                    "keys": None if plan.keys is None else len(plan.keys),
                    "guarantee": self.promise.sentence,
                    "unit": self.promise.unit,
                    "limits": self.promise.limits,
                    "max_stddev": plan.max_stddev(steps) if steps else None,
                    "plan": plan.digest.hex(),
                    "not_for_publication": {**asdict(counts), "counted": counts.counted},
                }
            )
        elif self.files:
            written = ", ".join(str(path) for path in self.files)
            console.note(f"Written, with {steps} steps: {written}; guarantee and plan beside it.")
        reasons = [f"{n} {DROPPED[w]}" for w, n in asdict(counts).items() if w in DROPPED and n]
        dropped = "; dropped: " + ", ".join(reasons) if reasons else ""
        if not as_json:
            counted = f"{counts.counted} of {counts.records} records counted"
            console.note(f"Not for publication: {counted}{dropped}.")
        if not counts.counted:
            console.note("Warning: no record was counted. What was released is noise alone.")
