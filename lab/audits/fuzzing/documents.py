"""Fuzz targets for documents and states: plans, companions, streams, traces, series, marks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hushfade as hf
from hushfade.cli.console import Failure
from hushfade.cli.explain import described_in
from hushfade.privacy.account import Account, Loss
from hushfade.privacy.unit import Relation
from hushfade.releases import files
from hushfade.store.high_water_mark import Mark, MarkFile
from hushfade.stream.saved_state import MAGIC
from hushfade.training.correlated_noise import CorrelatedNoise
from hushfade.training.saved_series import MAGIC as SERIES
from lab.audits.fuzzing import checksum_repairs
from lab.audits.fuzzing.invariants import Target

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
TWICE = hf.Guarantee(
    epsilon=1, delta=1e-6, neighbours="replace", protects=hf.Person(steps=2, apart=3)
)
PLANS = (
    hf.plan(hf.Exponential(half_life=3), ONE),
    hf.plan(hf.SlidingWindow(length=3), TWICE, horizon=8, low=-2, high=6),
    hf.plan(hf.NoDecay(), ONE, horizon=8, method="normalized"),
    hf.plan(hf.CustomDecay((1, 0.5)), ONE, keys=["at", "ch", "de"]),
    hf.plan(hf.Exponential(half_life=3), ONE, width=2, norm=1),
    hf.plan(hf.Mixture(((1.0, hf.Exponential(half_life=2)), (0.5, hf.PowerLaw(2)))), ONE),
)
_RECORDS = (1, [0.5, 1], 1, {"at": [1, 0.5]}, [[0.5, 0.5]], 1)


@contextmanager
def plans(directory: Path) -> Iterator[Target]:
    """Plan.from_json; writes each accepted plan and reads it again."""

    def read(data: bytes) -> None:
        found = hf.Plan.from_json(data)
        assert hf.Plan.from_json(found.to_json()).digest == found.digest

    seeds = tuple(plan.to_json().encode() for plan in PLANS)
    yield Target("plan JSON", seeds, read, repair=checksum_repairs.plan)


@contextmanager
def companions(directory: Path) -> Iterator[Target]:
    """The input of `hushfade explain`: the companion of a file of releases, or a plan."""
    path = directory / "releases.csv.plan.json"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        described_in(path)

    meanings = [
        files.Meaning(plan.keys, zoned) for plan, zoned in zip(PLANS, (None, True) * 3, strict=True)
    ]
    seeds = tuple(
        files.document(plan, meaning, steps={"count": 8}, noise="fresh").encode()
        for plan, meaning in zip(PLANS, meanings, strict=True)
    )

    def repair(data: bytes) -> bytes:
        try:
            document = json.loads(data)
            inner = json.dumps(document["plan"])
        except (ValueError, RecursionError, TypeError, KeyError):
            return checksum_repairs.plan(data)
        found = json.loads(checksum_repairs.plan(inner.encode()))
        return json.dumps(document | {"plan": found}).encode()

    yield Target(
        "published companions", seeds, read, repair=repair, refusals=(hf.HushfadeError, Failure)
    )


@contextmanager
def streams(directory: Path) -> Iterator[Target]:
    """Stream.load, with live streams of the same identities that no refusal may change."""
    live = [_stepped(plan, records) for plan, records in zip(PLANS, _RECORDS, strict=True)]
    others = [_stepped(plan, records).save() for plan, records in zip(PLANS, _RECORDS, strict=True)]
    ours = {stream._identity for stream in live}

    def read(data: bytes) -> None:
        found = hf.Stream.load(data)
        assert hf.Stream.load(found.save()).steps == found.steps
        if found._identity not in ours:  # a loaded stream must work
            found.run(_zeros(found))

    yield Target(
        "saved streams",
        (*(stream.save() for stream in live), *others),
        read,
        state=lambda: b"".join(stream.save() for stream in live[:3]),
        repair=checksum_repairs.saved(MAGIC),
    )


@contextmanager
def traces(directory: Path) -> Iterator[Target]:
    """Stream.load with a trace of the step after the saved state."""
    stream = PLANS[3].start()
    saved = stream.save()
    stream.step({"at": [1, 0.5]})
    first = stream.trace()

    def read(data: bytes) -> None:
        found = hf.Stream.load(saved, traces=[data])
        assert found.steps == 1

    yield Target(
        "traces of steps", (first,), read, state=stream.save, repair=checksum_repairs.summed
    )


@contextmanager
def series(directory: Path) -> Iterator[Target]:
    """CorrelatedNoise.load, with a live series that no refusal may change."""
    pairs = (
        (hf.Exponential(half_life=3), 2, None), (hf.SlidingWindow(length=3), 1, 8),
        (PLANS[0].pair, (2, 2), None), (PLANS[2].pair, 1, 8),
    )  # fmt: skip
    live = [
        CorrelatedNoise(factors, width, guarantee=ONE, norm=1.0, horizon=horizon)
        for factors, width, horizon in pairs
    ]
    others = [
        CorrelatedNoise(factors, width, guarantee=ONE, norm=1.0, horizon=horizon)
        for factors, width, horizon in pairs
    ]
    for one in (*live, *others):
        one.next()
    ours = {one._identity for one in live}

    def read(data: bytes) -> None:
        found = CorrelatedNoise.load(data)
        assert CorrelatedNoise.load(found.save()).steps == found.steps
        if found._identity not in ours and found.steps < (found.horizon or 2**61):
            found.next()

    yield Target(
        "saved noise series",
        tuple(one.save() for one in (*live, *others)),
        read,
        state=lambda: b"".join(one.save() for one in live),
        repair=checksum_repairs.saved(SERIES),
    )


@contextmanager
def marks(directory: Path) -> Iterator[Target]:
    """MarkFile.read and accounts: the end of a ledger, and the spent budgets."""
    path = directory / "releases.db.mark"
    accounts = {
        "clinics": Account("clinics", 0.5, 1e-6, Relation("add_remove", 1, 1, 1), 0.1),
        "wards": Account("wards", 0.5, 1e-6, Relation("add_remove", 1, 1, 1)),
        "schools": Account.of("schools", hf.Guarantee(1, 1e-6)).charged(Loss(0.3, 1e-9, "huber")),
    }
    for number in (3, 4):
        file = MarkFile(path)
        file.write(Mark("5" * 32, number, "a" * 64), accounts)
        file.close()

    def read(data: bytes) -> None:
        path.write_bytes(data)
        found = MarkFile(path)
        try:
            found.read()
        finally:
            accounts = found.accounts()
        assert all(isinstance(account, Account) for account in accounts.values())

    yield Target("marks of stores", (path.read_bytes(),), read, repair=checksum_repairs.mark)


def _stepped(plan: hf.Plan, records: object) -> hf.Stream:
    stream = plan.start()
    stream.step(records)
    return stream


def _zeros(stream: hf.Stream) -> list[list[int]]:
    left = (stream.plan.horizon or 2**61) - stream.steps
    return [[0] * stream.plan.grid.lanes] * min(3, left)
