"""Limits per person in the store: the same decisions as for files, and nothing kept in clear."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

import hushfade as hf
from hushfade.errors import InvalidType, InvalidValue, Refused
from hushfade.records.calendar import Calendar
from hushfade.records.limits import Bounding, Limits
from hushfade.records.local_calendar import Dates, LocalCalendar, Periods
from hushfade.store import Batch, Store, persons

HOUR = 3600 * 10**9
LATE_MARCH = 1_774_656_000 * 10**9  # 2026-03-28T00:00Z: clocks change in Vienna on the 29th
NAMES = ["anna", "Anna", "anna ", "änna", "a\u0308nna", "0", "00", "\u200banna"]  # look alike
UNITS = {
    "stream": hf.Person(steps=3, apart=2, records_per_step=2),
    "step": hf.Person(within=4, records_per_step=2),
    "period": hf.Person(period="day Europe/Vienna", steps=2, apart=3, records_per_step=2),
}


def _store(
    path: Path, unit: hf.Person, order: Calendar | None = None, *, budget: float = 1
) -> Store:
    store = Store.open(path)
    guarantee = hf.Guarantee(epsilon=1, delta=1e-6, protects=unit)
    plan = hf.plan(hf.SlidingWindow(length=3), guarantee, every="1h", low=0, high=1000)
    total = hf.Guarantee(epsilon=budget, delta=1e-6, protects=unit)
    store.add_dataset("people", total)
    store.add_stream("s", plan, dataset="people", limits="enforced", order=order)
    return store


def _batch(store: Store, sequence: int, values: list[float], users: list[str]) -> Batch:
    return Batch.of_persons("s", store.live("s").plan, "gate", sequence, values, users)


def _total(store: Store) -> float:
    live = store.live("s")
    return float(live.totals[0]) * live.plan.grid.resolution


def _rows(store: Store, table: str) -> list[tuple[object, ...]]:
    return store._database.read(f"SELECT * FROM {table}")


def test_store_decides_as_files_do(tmp_path: Path) -> None:
    chance = random.Random(5)
    order = Calendar(LATE_MARCH, HOUR, True)
    for kind, unit in UNITS.items():
        store = _store(tmp_path / kind, unit, order if kind == "period" else None)
        bounding = Bounding(Limits.of(unit))
        periods = Periods.of("day Europe/Vienna", order)
        sequence = over = 0
        for step in range(1, 50):
            expected = 0
            for _ in range(chance.randrange(3)):
                users = [chance.choice(NAMES) for _ in range(chance.randrange(6))]
                values = [chance.randrange(1000) for _ in users]
                places = np.full(len(users), step - 1)
                stretches = {
                    "stream": None, "step": places, "period": periods.of_steps(places)
                }[kind]  # fmt: skip
                numbers = np.array([NAMES.index(user) for user in users], dtype=np.int64)
                kept = bounding.kept(numbers, places, stretches)
                expected += int(np.array(values, dtype=np.int64)[kept].sum())
                over += int((~kept).sum())
                assert store.accept([_batch(store, sequence, values, users)]) == ["accepted"]
                sequence += 1
                if chance.random() < 0.2:  # start again from the disk
                    store.close()
                    store = Store.open(tmp_path / kind)
            assert _total(store) == expected, (kind, step)
            store.close_step("s", step, closed=0)
        assert store.live("s").counts["over_limit"] == over > 0, kind
        store.close()


def test_stretches_agree_with_the_periods_of_files(tmp_path: Path) -> None:
    from hushfade.store.persons import Enforced, order_document, order_in

    steps = np.arange(1, 400, dtype=np.int64)
    days = LocalCalendar(Dates("day Pacific/Apia", True), 15_330)  # a date in 2011 was skipped
    for order in (Calendar(LATE_MARCH, HOUR, True), Calendar(LATE_MARCH, HOUR, False), days):
        for period in ("day Europe/Vienna", "week UTC", "month America/New_York"):
            again = Enforced.of(hf.Person(period=period, steps=1), order_in(order_document(order)))
            one_by_one = [again.stretch(int(step)) for step in steps]
            assert one_by_one == Periods.of(period, order).of_steps(steps - 1).tolist(), order


def test_repeated_late_and_ahead_batches_do_not_touch_persons(tmp_path: Path) -> None:
    store = _store(tmp_path / "s", hf.Person(steps=5, records_per_step=2))
    one = _batch(store, 0, [3], ["anna"])
    assert store.accept([one, one]) == ["accepted", "repeated"]
    before = _rows(store, "persons")
    assert store.accept([_batch(store, 5000, [9], ["anna"])]) == ["ahead"]
    plan = store.live("s").plan
    store.close_step("s", 1, closed=0)
    late = Batch.of_persons("s", plan, "gate", 1, [9], ["anna"], step=1)
    assert store.accept([late]) == ["late"]
    assert _rows(store, "persons") == before
    assert [row[3:] for row in before] == [(1, 1, 1)]  # steps, last, records: by hand


def test_refused_transaction_leaves_no_trace(tmp_path: Path) -> None:
    store = _store(tmp_path / "s", hf.Person())
    plan = store.live("s").plan
    other = Batch.of("s", plan, "gate", 1, [1.0])
    with pytest.raises(InvalidValue, match="each record needs its person"):
        store.accept([_batch(store, 0, [3], ["anna"]), other])
    assert _rows(store, "persons") == _rows(store, "person_secrets") == []
    assert store.accept([_batch(store, 0, [3], ["anna"])]) == ["accepted"]
    assert _total(store) == 3


def test_rows_and_secrets_last_as_long_as_their_stretch(tmp_path: Path) -> None:
    order = Calendar(LATE_MARCH, 12 * HOUR, True)
    lives = {"stream": [1, 1, 1, 1], "step": [0, 0, 0, 0], "period": [1, 0, 1, 0]}
    units = UNITS | {"period": hf.Person(period="day", steps=2)}
    for kind, expected in lives.items():
        store = _store(tmp_path / kind, units[kind], order if kind == "period" else None)
        kept, secrets = [], set()
        for step in range(1, 5):
            store.accept([_batch(store, step, [1], ["anna"])])
            secrets |= {row[2] for row in _rows(store, "person_secrets")}
            store.close_step("s", step, closed=0)
            kept.append(len(_rows(store, "persons")))
            assert len(_rows(store, "person_secrets")) == kept[-1]
            erased = [row for row in secrets if (kind, row) and not kept[-1]]
            for file in tmp_path.glob(f"{kind}*"):
                data = file.read_bytes()
                assert not any(secret in data for secret in erased), (kind, step, file)
        assert kept == expected, kind
        assert len(secrets) == {"stream": 1, "step": 4, "period": 2}[kind]
        store.end("s")
        assert _rows(store, "persons") == _rows(store, "person_secrets") == []
        store.close()


def test_many_persons_are_erased_in_small_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement that exceeds the time limit would keep the step open for ever."""
    monkeypatch.setattr(persons, "ERASED", 3)
    store = _store(tmp_path / "s", UNITS["step"])
    changed = []
    write = store._database.write

    def counting(sql: str, *values: object) -> None:
        before = store._database.read("SELECT COUNT(*) FROM persons")[0][0]
        write(sql, *values)
        if sql.startswith("DELETE FROM persons"):
            changed.append(before - store._database.read("SELECT COUNT(*) FROM persons")[0][0])

    monkeypatch.setattr(store._database, "write", counting)
    users = [f"p{number}" for number in range(8)]
    store.accept([_batch(store, 0, [1] * 8, users)])
    store.close_step("s", 1, closed=0)
    assert changed == [3, 3, 2]
    assert _rows(store, "persons") == []
    store.accept([_batch(store, 1, [1] * 8, users)])
    store.end("s")
    assert changed[3:] == [3, 3, 2]
    assert _rows(store, "persons") == _rows(store, "person_secrets") == []


def test_no_file_and_no_text_contains_an_identifier(tmp_path: Path) -> None:
    store = _store(tmp_path / "s", hf.Person(steps=2))
    batch = _batch(store, 0, [3, 4], ["anna.muster@example.org"] * 2)
    assert "muster" not in repr(batch) + repr(batch.persons)
    store.accept([batch])
    (row,) = _rows(store, "persons")
    found = [row[2] in file.read_bytes() for file in tmp_path.iterdir()]
    assert any(found)  # the search finds what is there
    for file in tmp_path.iterdir():
        assert b"muster" not in file.read_bytes(), file
    store.close()


def test_persons_are_needed_exactly_where_limits_are_enforced(tmp_path: Path) -> None:
    store = _store(tmp_path / "s", hf.Person())
    guarantee = hf.Guarantee(epsilon=1, delta=1e-6)
    plan = hf.plan(hf.SlidingWindow(length=3), guarantee)
    store.add_dataset("records", guarantee)
    store.add_stream("plain", plan, dataset="records")
    with pytest.raises(InvalidValue, match="send records without persons"):
        store.accept([Batch.of_persons("plain", plan, "gate", 0, [1], ["anna"])])
    with pytest.raises(InvalidValue, match="protects one record"):
        store.add_stream("other", plan, dataset="records", limits="enforced")
    weekly = hf.Guarantee(epsilon=1, delta=1e-6, protects=hf.Person(period="week", steps=1))
    with pytest.raises(InvalidValue, match="needs steps with times"):
        store.add_stream(
            "w", hf.plan(hf.SlidingWindow(length=3), weekly), dataset="people", limits="enforced"
        )


def test_vectors_keys_and_statistics_sum_the_counted_records(tmp_path: Path) -> None:
    guarantee = hf.Guarantee(epsilon=1, delta=1e-6, protects=hf.Person())
    week, users = hf.SlidingWindow(length=3), ["anna", "bert", "anna"]
    cases = (
        (hf.plan(week, guarantee, keys=["x", "y"]), [1, 1, 1], ["x", "y", "x"], [1, 1]),
        (hf.plan(week, guarantee, statistic=hf.Share()), [True, False, True], None, [1, 1]),
    )
    store = Store.open(tmp_path / "s")
    store.add_dataset("people", hf.Guarantee(epsilon=9, delta=1e-5, protects=hf.Person()))
    for number, (plan, records, keys, counted) in enumerate(cases):
        name = f"s{number}"
        store.add_stream(name, plan, dataset="people", limits="enforced")
        batch = Batch.of_persons(name, plan, "gate", 0, records, users, keys=keys)
        store.accept([batch])
        live = store.live(name)
        scale = 1 if plan.statistic else plan.grid.resolution
        assert (live.totals * scale).tolist() == counted
        assert live.records == 2


def test_a_limit_is_shared_by_all_keys_and_vectors_and_a_retry_after_a_restart_changes_nothing(
    tmp_path: Path,
) -> None:
    guarantee = hf.Guarantee(epsilon=1, delta=1e-6, protects=hf.Person(steps=2, records_per_step=2))
    week = hf.SlidingWindow(length=3)
    keyed = hf.plan(week, guarantee, keys=["x", "y"], low=0, high=8, resolution=1)
    vectors = hf.plan(week, guarantee, width=2, norm=1)
    quarter, half = [0.25, 0.0], [0.0, 0.5]
    cases = (  # the records of anna, bert, anna, anna: her third one is beyond the limit
        (keyed, [1, 2, 4, 8], ["x", "x", "y", "x"], [3, 4]),
        (vectors, [quarter, half, half, quarter], None, [0.25, 1.0]),
    )
    for plan, records, keys, by_hand in cases:
        path = tmp_path / str(plan.grid.width)
        store = Store.open(path)
        store.add_dataset("people", guarantee)
        store.add_stream("s", plan, dataset="people", limits="enforced")
        users = ["anna", "bert", "anna", "anna"]
        batch = Batch.of_persons("s", plan, "gate", 0, records, users, keys=keys)
        for expected in ("accepted", "repeated", "repeated"):
            assert store.accept([batch]) == [expected]
            rows = sorted(_rows(store, "persons"))
            store.close()
            store = Store.open(path)
            live = store.live("s")
            assert (live.totals * plan.grid.resolution).tolist() == by_hand
            assert (live.records, live.counts["over_limit"]) == (3, 1)
            assert sorted(_rows(store, "persons")) == rows
        store.close()


def _steps_of_anna(path: Path, first: int, last: int) -> list[float]:
    """What the store counts if anna sends two records in each of the steps."""
    store = Store.open(path)
    found = []
    for step in range(first, last + 1):
        store.accept([_batch(store, 10 * step, [10, 1], ["anna", "anna"])])
        found.append(_total(store))
        store.close_step("s", step, closed=0)
    store.close()
    return found


def _restored(path: Path, monkeypatch: pytest.MonkeyPatch, *, bug: bool) -> list[float]:
    """What a copy from step 2 has counted so far, and what it counts as a new epoch."""
    store = _store(path, hf.Person(steps=3, records_per_step=2), budget=3)
    store.close()
    assert _steps_of_anna(path, 1, 1) == [11]
    store = Store.open(path)
    store.accept([_batch(store, 20, [10], ["anna"])])
    store.backup(path.with_name("copy"))
    store.accept([_batch(store, 21, [1], ["anna"])])
    before = _total(store)
    store.close_step("s", 2, closed=0)
    store.close()
    assert [11, before, *_steps_of_anna(path, 3, 4)] == [11, 11, 11, 0]  # the earlier epoch
    path.with_name("copy").replace(path)
    with pytest.raises(Refused, match="older than its mark"):
        Store.open(path)
    monkeypatch.setattr("hushfade.stream.ownership._turns", {})  # as in a new process
    store = Store.open(path, new_epoch=True)
    assert store.live("s").epoch == 1
    if bug:
        store._database.write("DELETE FROM persons")
    assert store.accept([_batch(store, 20, [10], ["anna"])]) == ["repeated"]
    assert store.accept([_batch(store, 21, [1, 5], ["anna", "anna"])]) == ["accepted"]
    in_second = _total(store)
    store.close_step("s", 2, closed=0)
    store.close()
    return [11, in_second, *_steps_of_anna(path, 3, 5)]


def test_a_restored_copy_and_its_new_epoch_obey_the_limits_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _restored(tmp_path / "s", monkeypatch, bug=False)
    assert found == [11, 11, 11, 0, 0]  # three steps, two records in each
    found = _restored(tmp_path / "b", monkeypatch, bug=True)
    assert found == [11, 16, 11, 11, 0]  # the seeded bug forgets the persons of the copy


def test_a_copy_of_the_open_step_counts_what_was_lost_once(tmp_path: Path) -> None:
    path = tmp_path / "s"
    store = _store(path, hf.Person(within=4, records_per_step=2))
    first, second = (_batch(store, n, [v], ["anna"]) for n, v in enumerate((3, 4)))
    store.accept([first])
    store.backup(tmp_path / "copy")
    store.accept([second])
    store.close()
    (tmp_path / "copy").replace(path)
    store = Store.open(path)  # no step was closed since, so the copy is as new as its mark
    assert _total(store) == 3
    assert store.accept([first, second, second]) == ["repeated", "accepted", "repeated"]
    assert store.accept([_batch(store, 2, [5], ["anna"])]) == ["accepted"]
    assert (_total(store), store.live("s").counts["over_limit"]) == (7, 1)
    store.close()


def _with_secret(path: Path) -> tuple[Store, bytes]:
    """A store with a person, and the secret of the person's stretch."""
    path.parent.mkdir()
    store = _store(path, hf.Person(within=2))
    store.accept([_batch(store, 0, [3], ["anna"])])
    ((_, _, secret),) = _rows(store, "person_secrets")
    store._database.tidy()
    return store, secret  # type: ignore[return-value]


def test_a_store_that_opens_leaves_no_erased_secret_in_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def erased(path: Path, secret: bytes, *, new_epoch: bool) -> None:
        assert any(secret in file.read_bytes() for file in path.parent.iterdir())
        monkeypatch.setattr("hushfade.stream.ownership._turns", {})  # as in a new process
        store = Store.open(path, new_epoch=new_epoch)
        assert _rows(store, "person_secrets") == []
        assert not any(secret in file.read_bytes() for file in path.parent.iterdir())
        store.close()

    store, secret = _with_secret(tmp_path / "a" / "s")
    with monkeypatch.context() as patched:  # a process that dies before it empties the log
        patched.setattr("hushfade.store.sqlite.SQLite.tidy", lambda self: None)
        store.close_step("s", 1, closed=0)
        shutil.copytree(tmp_path / "a", tmp_path / "crashed")
    store.close()
    erased(tmp_path / "crashed" / "s", secret, new_epoch=False)

    path = tmp_path / "b" / "s"  # a copy whose budget does not suffice for a new epoch
    store, secret = _with_secret(path)
    store.backup(tmp_path / "copy")
    store.close_step("s", 1, closed=0)
    store.close()
    (tmp_path / "copy").replace(path)
    erased(path, secret, new_epoch=True)


def test_invalid_persons_are_refused_without_their_text(tmp_path: Path) -> None:
    store = _store(tmp_path / "s", hf.Person())
    for wrong in ("muster\ud800", "", " \t", "\u200b\xad ", 7, None, b"muster"):
        with pytest.raises((InvalidType, InvalidValue), match="person must be") as found:
            store.accept([_batch(store, 0, [1, 1], ["anna", wrong])])  # type: ignore[list-item]
        assert "muster" not in str(found.value)
        assert found.value.__suppress_context__ or found.value.__context__ is None
    assert store.accept([_batch(store, 0, [1], ["anna"])]) == ["accepted"]  # it has not stopped


def test_a_person_who_counts_once_is_not_charged_to_a_budget_for_records(tmp_path: Path) -> None:
    """Without her first record, the second record of a person counts: two steps change."""
    store = Store.open(tmp_path / "s")
    store.add_dataset("records", hf.Guarantee(epsilon=1, delta=1e-6))
    once = hf.Guarantee(epsilon=1, delta=1e-6, protects=hf.Person())
    plan = hf.plan(hf.SlidingWindow(length=1), once)
    with pytest.raises(Refused, match="one record, added or removed"):
        store.add_stream("s", plan, dataset="records", limits="enforced")
    store.add_dataset("people", once)
    store.add_stream("s", plan, dataset="people", limits="enforced")
    assert "one person" in store.guarantee("s").sentence()
    store.close()
    again = Store.open(tmp_path / "s")
    assert again.accounts()["people"].relation == once.relation
    assert not once.relation.single
