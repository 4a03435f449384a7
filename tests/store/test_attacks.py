"""What was tried against a store, and must not work."""

import json
import os
import shutil
from contextlib import closing

import apsw
import numpy as np
import pytest

import hushfade as hf
from hushfade.errors import Failed, HushfadeError, Refused
from hushfade.planning import plan_file
from hushfade.privacy import ledger
from hushfade.store import Batch, Store
from hushfade.store.high_water_mark import Mark, MarkFile
from hushfade.store.live_streams import Live
from tests.store.test_store import ONE, PLAN, TWO, batch, started


def test_no_answer_to_a_sender_depends_on_what_others_have_sent(place):
    """A refusal of a sum that grows too large would tell the sum, one bit at a time."""
    most = PLAN.grid.largest_total
    store = started(place)
    store.accept([Batch("late", "victim", 1, 1, np.array([0]), np.array([most]))])
    for sequence, units in enumerate([1, most, -most, most]):
        sent = Batch("late", "other", sequence, 1, np.array([0]), np.array([units]))
        assert store.accept([sent]) == ["accepted"]
        assert store.accept([sent]) == ["repeated"]
    assert store.live("late").totals.tolist() == [most]
    store.close()
    store = place.open()
    assert store.live("late").totals.tolist() == [most]  # summed again in the same order
    store.close_step("late", 1, closed=0)


def test_a_sum_that_stops_moves_by_no_more_than_one_batch_does(place):
    most = PLAN.grid.largest_total
    rng = np.random.default_rng(5)
    for _ in range(50):
        live = Live(1, "late", PLAN, 0, 0)
        without = Live(1, "late", PLAN, 0, 0)
        gone = int(rng.integers(8))
        for number, units in enumerate(rng.integers(-most, most + 1, size=8)):
            live._sum(1, np.array([0]), np.array([units]))
            if number != gone:
                without._sum(1, np.array([0]), np.array([units]))
            else:
                moved = abs(int(units))
        assert abs(int(live.totals[0]) - int(without.totals[0])) <= moved


def test_a_forked_process_does_not_write_to_its_parents_store(place):
    store = started(place)
    child = os.fork()
    if child == 0:
        try:
            store.accept([batch(0)])
        except Failed:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert store.accept([batch(0)]) == ["accepted"]


def test_two_copies_of_a_store_do_not_go_by_one_mark(tmp_path):
    first = Store.open(tmp_path / "releases.db")
    first.add_dataset("clinics", TWO)
    first.backup(tmp_path / "copy.db")
    with pytest.raises(Refused, match="another process writes to"):
        Store.open(tmp_path / "copy.db", mark=tmp_path / "releases.db.mark")
    first.close()
    Store.open(tmp_path / "copy.db", mark=tmp_path / "releases.db.mark").close()


def restored_under_a_log(path, keys, steps=11):
    """A copy of a store with the log of a later time, and the releases that were published."""
    store = Store.open(path)
    store.add_dataset("clinics", TWO)
    names = [f"k{n}" for n in range(keys)]
    plan = hf.plan(hf.SlidingWindow(length=3), ONE, keys=names, method="square_root")
    for name in ("late", "early"):
        store.add_stream(name, plan, dataset="clinics")
    for step in range(1, steps + 1):
        for name in ("late", "early"):
            store.close_step(name, step, closed=0)
    store.backup(path.with_name("old.db"))
    for step in (steps + 1, steps + 2):
        store.close_step("late", step, closed=0)
    store._database.tidy()  # what "late" has written is in the database, which will be lost
    store.close_step("early", steps + 1, closed=0)
    log = path.with_name(path.name + "-wal").read_bytes()
    published = {x.step: x.digest for x in store.releases("late")}
    store.close()
    shutil.copy(path.with_name("old.db"), path)  # somebody restores the copy, not the log
    path.with_name(path.name + "-wal").write_bytes(log)
    return published


def test_a_copy_under_the_log_of_another_is_whole_or_refused(tmp_path):
    """SQLite writes pages of the one into the other: the mark fits, and steps may be missing."""
    outcomes = set()
    for keys, steps in [(1, 5), (1, 8), (1, 11), (10, 8), (10, 11), (20, 11), (60, 11), (100, 11)]:
        place = tmp_path / f"{keys} {steps}"
        place.mkdir()
        published = restored_under_a_log(place / "releases.db", keys, steps)
        try:
            store = Store.open(place / "releases.db")
        except HushfadeError:
            outcomes.add("refused")
            continue
        with closing(store):
            released = {x.step: x.digest for x in store.releases("late")}
        assert released == published, (keys, steps)
        outcomes.add("whole")
    assert outcomes == {"refused", "whole"}  # the cases reach both


def test_after_a_crash_the_ledger_tells_which_steps_are_missing(tmp_path, monkeypatch):
    path = tmp_path / "releases.db"
    store = Store.open(path)
    store.add_dataset("clinics", TWO)
    store.add_stream("late", PLAN, dataset="clinics")
    for step in (1, 2):
        store.close_step("late", step, closed=0)
    store.close()
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA wal_autocheckpoint=0").fetchall()
    connection.execute("DELETE FROM releases WHERE step = 2").fetchall()
    files = {each: each.read_bytes() for each in (path, path.with_name("releases.db-wal"))}
    connection.close()
    for each, content in files.items():  # as a crash leaves them
        each.write_bytes(content)
    with pytest.raises(Failed, match="do not match the ledger"):
        Store.open(path)
    for each, content in files.items():
        each.write_bytes(content)
    monkeypatch.setattr(Store, "verify", lambda store: 0)
    Store.open(path).close()  # nothing else would have noticed here


def redigested(document):
    """The plan document with a digest that fits it."""
    covered = {name: of for name, of in document.items() if name not in ("digest", "reported")}
    return json.dumps(document | {"digest": plan_file._hashed(covered).hex()})


def forged_store(path, *statements):
    """A store of one stream, closed, then changed by somebody who can write the database."""
    store = Store.open(path)
    store.add_dataset("clinics", TWO)
    store.add_stream("late", PLAN, dataset="clinics")
    store.close_step("late", 1, closed=0)
    store.close()
    with closing(apsw.Connection(str(path))) as connection:
        for statement, *given in statements:
            connection.execute(statement, given)
    return path


def test_a_store_with_a_plan_that_was_not_charged_is_refused(tmp_path):
    """Less noise than the ledger's entry pays for: another plan, with a state that fits it."""
    weak = hf.plan(PLAN.decay, hf.Guarantee(epsilon=20, delta=1e-6), method="square_root")
    assert weak.sigma < PLAN.sigma / 5
    stream = weak.start()
    stream.step(0)
    path = forged_store(
        tmp_path / "releases.db",
        ("UPDATE streams SET plan = ?", weak.to_json()),
        ("UPDATE states SET state = ?, steps = 1", stream.save()),
        ("DELETE FROM traces",),
    )
    with (
        closing(Store.open(path)) as store,
        pytest.raises(Failed, match="is not the plan that the ledger charged"),
    ):
        store.live("late")


def test_a_store_whose_plan_claims_less_noise_is_refused(tmp_path):
    document = json.loads(PLAN.to_json())
    document["noise"]["sigma"]["scale"] //= 2
    path = forged_store(
        tmp_path / "releases.db", ("UPDATE streams SET plan = ?", redigested(document))
    )
    with (
        closing(Store.open(path)) as store,
        pytest.raises(hf.InvalidValue, match="noise must be the noise that the plan"),
    ):
        store.live("late")


def test_a_ledger_that_charges_less_than_the_plan_needs_is_refused(tmp_path):
    """The chain is written again from the changed entry on, and so is the mark."""
    path = forged_store(tmp_path / "releases.db")
    with closing(apsw.Connection(str(path))) as connection:
        rows = list(connection.execute("SELECT number, kind, body FROM ledger ORDER BY number"))
        last = None
        for _, kind, body in rows:
            content = json.loads(body)
            if kind == "charge":
                content["mu"] *= 0.9
            last = ledger.following(last, kind, **content)
            connection.execute(
                "UPDATE ledger SET body = ?, digest = ? WHERE number = ?",
                (last.body, last.digest, last.number),
            )
    mark = MarkFile(path.with_name("releases.db.mark"))
    mark.replace(Mark(mark.read().store, last.number, last.digest), mark.accounts())
    with closing(Store.open(path)) as store:
        store.verify()  # a chain shows changes to whoever kept a digest, and nobody did
        with pytest.raises(Failed, match="is not the plan that the ledger charged"):
            store.live("late")
