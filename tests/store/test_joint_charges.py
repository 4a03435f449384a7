"""Joint charges: plans that are fixed together cost their joint guarantee, once."""

import json
import shutil
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from threading import Thread

import apsw
import pytest

import hushfade as hf
from hushfade.errors import Failed, InvalidType, InvalidValue, Malformed, Refused
from hushfade.planning.joint_charge import JointCharge
from hushfade.privacy import ledger
from hushfade.privacy.account import Loss
from hushfade.store import Reader, Store, fail_points
from hushfade.store.high_water_mark import Mark, MarkFile
from tests.made_when_used import MadeWhenUsed

pytestmark = pytest.mark.usefixtures("quick_joint_search")

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
TWO = hf.Guarantee(epsilon=2, delta=1e-6)
WEEK, DAY = hf.SlidingWindow(length=7), hf.Exponential(half_life=24)


@cache
def joint():
    return hf.plan_together([WEEK, DAY], ONE)


def gaussian():
    return hf.plan(WEEK, hf.Guarantee(0.65, 1e-6), law="gaussian")


STREAMS = MadeWhenUsed({"week": lambda: joint().plans[0], "day": lambda: joint().plans[1]})
GAUSSIAN = MadeWhenUsed({"a": gaussian, "b": gaussian})


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """As in a new process; to be called again where a test goes on in another one."""

    def fresh():
        monkeypatch.setattr("hushfade.stream.ownership._turns", {})

    fresh()
    return fresh


@pytest.fixture
def path(tmp_path):
    return tmp_path / "releases.db"


def kinds(store):
    return [entry.kind for entry in store.entries()]


def test_a_joint_plan_costs_its_joint_guarantee_and_its_streams_nothing_more(place):
    assert {plan.law.name for plan in joint().plans} != {"gaussian"}
    store = place.open()
    store.add_dataset("clinics", ONE)  # each alone would not fit: their sum exceeds it
    assert sum(plan.guarantee.epsilon for plan in joint().plans) > 1
    account = store.charge_together(STREAMS, ONE, dataset="clinics")
    assert (account.spent_epsilon, account.spent_delta) == (1.0, 1e-6)
    for name, plan in STREAMS.items():
        store.add_stream(name, plan, dataset="clinics")
        assert store.accounts()["clinics"] == account
        assert store.close_step(name, 1, closed=0).step == 1
        assert store.guarantee(name) == plan.guarantee
    assert kinds(store) == ["dataset", "joint", "member", "step", "member", "step"]
    assert store.verify() == 6
    store.check()
    entry = next(entry for entry in store.entries() if entry.kind == "joint")
    named = [[name, plan.digest.hex()] for name, plan in STREAMS.items()]
    assert entry.content["streams"] == named
    store.close()
    store = place.open()
    assert store.close_step("week", 2, closed=0).step == 2
    assert store.accounts()["clinics"] == account


def test_gaussian_plans_add_up_by_the_squares_of_mu(place):
    store = place.open()
    store.add_dataset("clinics", ONE)
    account = store.charge_together(GAUSSIAN, ONE, dataset="clinics")
    assert (account.composition, account.spent) == ("gaussian", ONE.mu)
    assert 2 * GAUSSIAN["a"].guarantee.mu ** 2 <= ONE.mu**2
    store.add_dataset("schools", TWO)
    store.add_stream("first", hf.plan(WEEK, ONE, law="laplace"), dataset="schools")
    others = {f"{name}2": plan for name, plan in GAUSSIAN.items()}
    account = store.charge_together(others, ONE, dataset="schools")
    assert (account.composition, account.spent_epsilon) == ("basic", 2.0)
    store.add_dataset("beds", hf.Guarantee.from_mu(1.0, delta=1e-6))
    with pytest.raises(Refused, match="Gaussian noise only"):
        store.charge_together(STREAMS, ONE, dataset="beds")


def test_a_guarantee_that_the_plans_do_not_keep_is_refused():
    """The loss is computed from the plans: a forged document gains nothing."""
    for streams in (STREAMS, GAUSSIAN):
        for small in (hf.Guarantee(0.9, 1e-6), hf.Guarantee(0.99, 1e-7)):
            with pytest.raises(Refused, match="do not keep epsilon"):
                JointCharge.of(streams, small)
    with pytest.raises(Refused, match="do not keep epsilon"):
        JointCharge.of(GAUSSIAN, hf.Guarantee(5, 0))
    with pytest.raises(Refused, match="do not keep epsilon"):
        JointCharge.of({**STREAMS, "again": STREAMS["day"]}, ONE)
    with pytest.raises(Refused, match="declared by mu or rho"):
        JointCharge.of(STREAMS, hf.Guarantee.from_mu(0.5, delta=1e-6))
    with pytest.raises(Refused, match="must protect the unit of its streams"):
        JointCharge.of(STREAMS, replace(ONE, neighbours="replace"))
    twice = hf.plan(WEEK, hf.Guarantee(0.1, 1e-9, protects=hf.Person(steps=2)), every="1d")
    with pytest.raises(Refused, match="must protect the same unit"):
        JointCharge.of({**STREAMS, "twice": twice}, ONE)
    for wrong in ({}, {str(k): twice for k in range(101)}):
        with pytest.raises(InvalidValue, match="streams must have 1 to 100 entries"):
            JointCharge.of(wrong, ONE)
    for wrong in ([twice], {"a": "plan"}):
        with pytest.raises(InvalidType, match="by the names of their streams"):
            JointCharge.of(wrong, ONE)
    with pytest.raises(InvalidType, match="must be a Guarantee"):
        JointCharge.of(STREAMS, 1.0)


def test_laplace_noise_within_epsilon_needs_no_delta_together():
    half = hf.plan(WEEK, hf.Guarantee(0.5, 1e-6), law="laplace")
    two = {"a": half, "b": half}
    assert JointCharge.of(two, ONE).charge.loss == Loss(1.0, 0.0, "laplace")
    assert JointCharge.of(two, hf.Guarantee(1, 0)).charge.loss == Loss(1.0, 0.0, "laplace")
    with pytest.raises(Refused):
        JointCharge.of({**two, "c": half}, hf.Guarantee(1, 0))


def test_overspending_together_is_refused_and_changes_nothing(place):
    store = place.open()
    store.add_dataset("clinics", hf.Guarantee(epsilon=1.5, delta=1e-5))
    store.charge_together(STREAMS, ONE, dataset="clinics")
    before, entries = store.accounts(), kinds(store)
    others = {f"{name}2": plan for name, plan in STREAMS.items()}
    with pytest.raises(Refused, match="must not be overspent"):
        store.charge_together(others, ONE, dataset="clinics")
    with pytest.raises(InvalidValue, match="dataset must exist in the store"):
        store.charge_together(others, ONE, dataset="nowhere")
    with pytest.raises(InvalidValue, match="printable"):
        store.charge_together({"": STREAMS["day"]}, ONE, dataset="clinics")
    assert (store.accounts(), kinds(store)) == (before, entries)
    store.add_dataset("schools", ONE)
    store.charge_together(others, ONE, dataset="schools")


def test_a_stream_that_a_joint_charge_names_has_that_plan_and_is_created_once(place):
    store = place.open()
    store.add_dataset("clinics", hf.Guarantee(epsilon=9, delta=1e-2))
    store.add_dataset("schools", hf.Guarantee(epsilon=9, delta=1e-2))
    store.charge_together(STREAMS, ONE, dataset="clinics")
    spent = store.accounts()
    for plan, dataset in ((STREAMS["day"], "clinics"), (STREAMS["week"], "schools")):
        with pytest.raises(Refused, match="the plan and the dataset that joint charge 3 names"):
            store.add_stream("week", plan, dataset=dataset)
    with pytest.raises(Refused, match="part of another joint charge"):
        store.charge_together(STREAMS, ONE, dataset="clinics")
    store.add_stream("week", STREAMS["week"], dataset="clinics")
    assert store.accounts() == spent
    with pytest.raises(Refused, match="exists"):
        store.add_stream("week", STREAMS["week"], dataset="clinics")
    with pytest.raises(Refused, match="exists"):
        store.charge_together({"week": STREAMS["week"]}, ONE, dataset="clinics")
    store.end("week")
    with pytest.raises(Refused, match="exists"):
        store.add_stream("week", STREAMS["week"], dataset="clinics")
    store.add_stream("other", STREAMS["week"], dataset="clinics")  # not named: charged alone
    paid = store.accounts()["clinics"].spent_epsilon
    assert paid == pytest.approx(1.0 + STREAMS["week"].guarantee.epsilon, abs=1e-8)  # nine digits


def test_a_new_epoch_is_charged_for_each_stream_alone_and_voids_what_was_not_created(path, fresh):
    """A newer copy may have created a stream that an older copy has only reserved."""
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", hf.Guarantee(epsilon=5, delta=1e-2))
        store.charge_together(STREAMS, ONE, dataset="clinics")
        store.add_stream("week", STREAMS["week"], dataset="clinics")
    shutil.copy(path, path.with_name("old.db"))
    with closing(Store.open(path)) as store:
        store.add_stream("day", STREAMS["day"], dataset="clinics")
        first = store.close_step("day", 1, closed=0)
        store.close_step("week", 1, closed=0)
    fresh()
    shutil.copy(path.with_name("old.db"), path)
    with pytest.raises(Refused, match="older than its mark"):
        Store.open(path)
    with closing(Store.open(path, new_epoch=True)) as store:
        own = STREAMS["week"].guarantee
        assert store.settled.charged == ("week",)
        assert kinds(store) == ["dataset", "joint", "member", "void", "charge"]
        again = store.accounts()["clinics"].spent_epsilon
        assert again == pytest.approx(1.0 + own.epsilon, abs=1e-8)  # rounded up to nine digits
        assert store.guarantee("week").epsilon == pytest.approx(1.0 + own.epsilon, abs=1e-8)
        store.add_stream("day", STREAMS["day"], dataset="clinics")  # its noise is drawn again
        both = again + STREAMS["day"].guarantee.epsilon
        assert store.accounts()["clinics"].spent_epsilon == pytest.approx(both, abs=1e-8)
        assert store.close_step("day", 1, closed=0).values.tobytes() != first.values.tobytes()
        store.verify()
        store.check()


def test_a_joint_charge_that_a_copy_lacks_is_lost(path):
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", TWO)
    shutil.copy(path, path.with_name("old.db"))
    with closing(Store.open(path)) as store:
        store.charge_together(STREAMS, ONE, dataset="clinics")
        before = store.accounts()
    shutil.copy(path.with_name("old.db"), path)
    with closing(Store.open(path, new_epoch=True)) as store:
        assert store.accounts() == before
        assert kinds(store) == ["dataset", "lost"]
        with pytest.raises(Refused, match="overspent"):  # nothing is reserved here
            store.add_stream("day", hf.plan(DAY, TWO, law="huber"), dataset="clinics")


def test_a_crash_at_any_point_leaves_a_joint_charge_and_its_streams_whole(place, monkeypatch):
    """Each change is there with its mark after the next opening, or not at all."""
    for point in ("before commit", "after commit", "before mark", "after mark"):

        def crashed(name, point=point):
            if name == point:
                raise MemoryError

        store = place.open()
        with suppress(Refused):
            store.add_dataset(point, ONE)
        streams = {f"{point} {name}": plan for name, plan in STREAMS.items()}
        first, plan = next(iter(streams.items()))
        for change in (
            lambda store: store.charge_together(streams, ONE, dataset=point),  # noqa: B023
            lambda store: store.add_stream(first, plan, dataset=point),  # noqa: B023
        ):
            with monkeypatch.context() as patched:
                patched.setattr(fail_points, "reached", crashed)
                with pytest.raises(MemoryError):
                    change(store)
            store.close()
            store = place.open()
            if point == "before commit":
                change(store)
            with pytest.raises(Refused):
                change(store)
            assert store.accounts()[point].spent_epsilon == 1.0, point
        store.verify()
        store.close()


def test_many_threads_charge_together_once_and_never_overspend(place):
    """Of joint charges that compete for one budget one is granted, and its streams once."""
    store = place.open()
    store.add_dataset("clinics", ONE)
    joint = JointCharge.of(STREAMS, ONE)
    granted, created = [], []

    def ask(thread):
        own = [(f"{name} {thread % 3}", plan) for name, plan in STREAMS.items()]
        with suppress(Refused):
            store.enter_joint(replace(joint, streams=tuple(own)), dataset="clinics")
            granted.append(thread)
        for name, plan in own:
            with suppress(Refused):
                store.add_stream(name, plan, dataset="clinics")
                created.append(name)

    threads = [Thread(target=ask, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(granted), len(created)) == (1, 2)
    assert sorted(store.streams()) == sorted(created)
    assert sorted(kinds(store)) == ["dataset", "joint", "member", "member"]
    assert store.accounts()["clinics"].spent_epsilon == 1.0
    store.verify()


def test_a_build_that_keeps_reservations_is_caught(path, monkeypatch):
    """A seeded bug: after a new epoch a stream is created from the joint charge once more."""
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", ONE)
        store.charge_together(STREAMS, ONE, dataset="clinics")
    shutil.copy(path, path.with_name("old.db"))
    with closing(Store.open(path)) as store:
        store.add_stream("week", STREAMS["week"], dataset="clinics")
    for bug in (False, True):
        shutil.copy(path.with_name("old.db"), path)
        mark = shutil.copy(f"{path}.mark", path.with_name("mark"))
        with monkeypatch.context() as patched:
            if bug:
                patched.setattr("hushfade.store.ledger_table.Book.void", lambda book: None)
            with closing(Store.open(path, new_epoch=True)) as store:
                if (
                    bug
                ):  # published twice for one charge: what the next line of a sound build denies
                    store.add_stream("week", STREAMS["week"], dataset="clinics")
                else:
                    with pytest.raises(Refused, match="overspent"):
                        store.add_stream("week", STREAMS["week"], dataset="clinics")
        shutil.copy(mark, f"{path}.mark")


def test_a_build_that_trusts_the_declared_guarantee_is_caught(monkeypatch):
    """A seeded bug: the loss is not computed from the plans."""
    small = hf.Guarantee(0.1, 1e-6)
    monkeypatch.setattr("hushfade.planning.joint_charge.composed_epsilon", lambda *_: 0.0)
    assert JointCharge.of(STREAMS, small).charge.loss.epsilon == 0.1
    monkeypatch.undo()
    with pytest.raises(Refused, match="do not keep"):
        JointCharge.of(STREAMS, small)


def test_totals_in_memory_survive_an_entry_that_cannot_follow(path):
    """The entries before a wrong one are not counted twice."""
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", TWO)
        before = store.accounts()
        with pytest.raises(Malformed, match="each of them once"):
            _enter_wrongly(store)
        assert store.accounts() == before


def _enter_wrongly(store):
    with store._changing():
        store._book.charge_joint(JointCharge.of(STREAMS, ONE), "clinics")
        store._book.enter("member", stream="x", dataset="clinics", joint=2, plan="11")
        store._book.totals()


def test_entries_that_no_store_wrote_are_refused():
    """A stream that is not named, named twice, with another plan, or after it is void."""
    last = ledger.following(None, "dataset", **ledger.budget_fields(ledger.Account.of("d", ONE)))
    loss = {"epsilon": 1.0, "delta": 0.0, "law": "laplace"}
    named = {"dataset": "d", "loss": loss, "relation": ONE.relation.listed()}
    joint = ledger.following(last, "joint", streams=[["a", "11"], ["b", "22"]], **named)

    def follows(*changes, first=joint):
        entries = [last, first]
        for kind, content in changes:
            entries.append(ledger.following(entries[-1], kind, **content))
        return ledger.accounts(entries)

    def member(stream="a", plan="11", joint=2, dataset="d"):
        return "member", {"stream": stream, "plan": plan, "joint": joint, "dataset": dataset}

    void = "void", {"joint": 2, "dataset": "d", "streams": ["b"]}
    assert follows(member(), member("b", "22"))["d"].spent_epsilon == 1.0
    for wrong in (
        [member(), member()],
        [member("c")],
        [member(plan="22")],
        [member(joint=1)],
        [member(dataset="e")],
        [void, member("b", "22")],
        [void, void],
    ):
        with pytest.raises(Malformed):
            follows(*wrong)
    for streams in ([], None, [["a", "11"], ["a", "22"]], [["a"]], ["ab"], [["a", 1]], {"a": "1"}):
        with pytest.raises(Malformed, match="must list streams"):
            follows(first=ledger.following(last, "joint", streams=streams, **named))


def test_a_reader_beside_the_writer_sees_joint_charges_as_they_come(path):
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", ONE)
        with closing(Reader.beside(path)) as reader:
            assert reader.accounts() == store.accounts()
            store.charge_together(STREAMS, ONE, dataset="clinics")
            assert reader.accounts() == store.accounts()
            assert reader.accounts()["clinics"].spent_epsilon == 1.0
            store.add_stream("week", STREAMS["week"], dataset="clinics")
            store.close_step("week", 1, closed=0)
            assert reader.verify() == 4


def test_totals_in_memory_are_those_of_the_ledger_after_a_refusal(path):
    """A change that is undone after an entry was made leaves nothing in memory."""
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", TWO)
        before = store.accounts()
        with pytest.raises(Refused, match="undone"):
            _undo(store)
        assert store.accounts() == before
        store.add_stream("week", hf.plan(WEEK, ONE), dataset="clinics")  # not reserved
        assert kinds(store) == ["dataset", "charge"]
        store.verify()


def _undo(store):
    with store._changing():
        store._book.charge_joint(JointCharge.of(STREAMS, ONE), "clinics")
        assert store._book.accounts()["clinics"].spent_epsilon == 1.0
        raise Refused("undone")


def test_a_stream_whose_plan_a_joint_charge_does_not_name_cannot_go_on(path):
    """The plan in the table is replaced by another: with less noise, say."""
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", ONE)
        store.charge_together(STREAMS, ONE, dataset="clinics")
        store.add_stream("week", STREAMS["week"], dataset="clinics")
    with closing(apsw.Connection(str(path))) as connection:
        forged = hf.plan(WEEK, hf.Guarantee(50, 1e-6)).to_json()
        connection.execute("UPDATE streams SET plan = ?", (forged,))
    with closing(Store.open(path)) as store, pytest.raises(Failed, match="the ledger charged"):
        store.live("week")


def test_a_ledger_with_a_cheaper_joint_charge_has_another_end_than_its_mark(path):
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", ONE)
        store.charge_together(STREAMS, ONE, dataset="clinics")
    with closing(apsw.Connection(str(path))) as connection:
        rows = list(connection.execute("SELECT kind, body FROM ledger ORDER BY number"))
        last = None
        for kind, body in rows:
            content = json.loads(body)
            if kind == "joint":
                content["loss"]["epsilon"] = 0.1
            last = ledger.following(last, kind, **content)
            connection.execute(
                "UPDATE ledger SET body = ?, digest = ? WHERE number = ?",
                (last.body, last.digest, last.number),
            )
    with pytest.raises(Refused, match="older than its mark"):
        Store.open(path)
    mark = MarkFile(path.with_name(path.name + ".mark"))
    assert mark.read() != Mark(mark.read().store, last.number, last.digest)
