"""A store with noise of every law: budgets, epochs, copies, and what must not work."""

import hashlib
import json
import shutil
from contextlib import closing, suppress
from threading import Thread

import apsw
import pytest

import hushfade as hf
from hushfade.errors import Failed, Malformed, Refused
from hushfade.privacy import ledger
from hushfade.privacy.account import Account, Loss
from hushfade.store import Store, fail_points
from hushfade.store.high_water_mark import Mark, MarkFile

HALF = hf.Guarantee(epsilon=0.5, delta=1e-7)
TWO = hf.Guarantee(epsilon=2, delta=1e-6)
DECAY = hf.Exponential(half_life=3)
PLANS = {
    "laplace": hf.plan(DECAY, HALF, law="laplace"),
    "huber": hf.plan(DECAY, HALF, law="huber"),
    "gaussian": hf.plan(DECAY, HALF, law="gaussian"),
}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr("hushfade.stream.ownership._turns", {})
    return tmp_path / "releases.db"


def fresh(monkeypatch):
    """As in a new process."""
    monkeypatch.setattr("hushfade.stream.ownership._turns", {})


def test_streams_of_every_law_share_a_budget_and_go_on(path, monkeypatch):
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", TWO)
        for name, plan in PLANS.items():
            store.add_stream(name, plan, dataset="clinics")
            store.close_step(name, 1, closed=0)
    fresh(monkeypatch)
    with closing(Store.open(path)) as store:
        account = store.accounts()["clinics"]
        assert (account.composition, account.spent_epsilon) == ("basic", 1.5)
        assert account.spent_delta == 2e-7  # Laplace noise needs no delta
        for name in PLANS:
            assert store.close_step(name, 2, closed=0).step == 2
            assert store.guarantee(name) == HALF
        store.check()
        assert store.verify() == 1 + 3 + 6
        losses = [e.content["loss"]["law"] for e in store.entries() if e.kind == "charge"]
        assert losses == list(PLANS)


def test_a_stream_of_block_sums_needs_no_delta_and_goes_on(path, monkeypatch):
    counting = hf.plan(hf.NoDecay(), hf.Guarantee(epsilon=1, delta=0), horizon=64)
    assert counting.method == "blocks"
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", hf.Guarantee(epsilon=1, delta=0))
        store.add_stream("visits", counting, dataset="clinics")
        released = [store.close_step("visits", 1 + i, closed=0) for i in range(25)]
    fresh(monkeypatch)
    with closing(Store.open(path)) as store:
        assert store.accounts()["clinics"].spent_delta == 0
        released += [store.close_step("visits", 26 + i, closed=0) for i in range(15)]
        store.check()
    assert [one.step for one in released] == list(range(1, 41))


def test_gaussian_streams_add_up_by_squares_if_they_come_first(path):
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", TWO)
        store.add_stream("first", PLANS["gaussian"], dataset="clinics")
        for law in ("laplace", "huber"):
            with pytest.raises(Refused, match=f"the law {law}: plan it with law='gaussian'"):
                store.add_stream(law, PLANS[law], dataset="clinics")
        store.add_stream("second", PLANS["gaussian"], dataset="clinics")
        account = store.accounts()["clinics"]
        assert account.composition == "gaussian"
        assert account.spent == pytest.approx(2**0.5 * HALF.mu)
        assert store.streams() == ["first", "second"]


def test_a_budget_without_delta_takes_streams_without_delta(path):
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", hf.Guarantee(epsilon=1, delta=0))
        pure = hf.plan(DECAY, hf.Guarantee(epsilon=0.5, delta=0))
        store.add_stream("pure", pure, dataset="clinics")
        store.add_stream("laplace", PLANS["laplace"], dataset="clinics")
        for law in ("huber", "gaussian"):
            with pytest.raises(Refused, match="must not be overspent"):
                store.add_stream(law, PLANS[law], dataset="clinics")
        store.close_step("pure", 1, closed=0)
        store.verify()


def test_a_mixture_does_not_overspend(path):
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", hf.Guarantee(epsilon=1.4, delta=1e-6))
        store.add_stream("a", PLANS["huber"], dataset="clinics")
        store.add_stream("b", PLANS["gaussian"], dataset="clinics")
        for plan in PLANS.values():
            with pytest.raises(Refused, match=r"epsilon = 0\.4 and delta = 8e-7 are left"):
                store.add_stream("c", plan, dataset="clinics")
        assert store.verify() == 3


def test_threads_with_plans_of_every_law_do_not_overspend_together(path):
    for first, plan in PLANS.items():
        with closing(Store.open(path.with_name(f"{first}.db"))) as store:
            store.add_dataset("clinics", TWO)
            store.add_stream("first", plan, dataset="clinics")

            def work(number, store=store):
                law = list(PLANS)[number % 3]
                with suppress(Refused):
                    store.add_stream(f"{law} {number}", PLANS[law], dataset="clinics")

            threads = [Thread(target=work, args=(number,)) for number in range(24)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            account = store.accounts()["clinics"]
            if first == "gaussian":
                assert account.spent == pytest.approx(3 * HALF.mu)  # with 8 of the threads
                assert len(store.streams()) == 9
            else:
                assert (account.spent_epsilon, len(store.streams())) == (2.0, 4)
            store.verify()


def test_a_new_epoch_is_charged_again_for_every_law(path, monkeypatch):
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", TWO)
        store.add_stream("late", PLANS["huber"], dataset="clinics")
    shutil.copy(path, path.with_name("old.db"))
    with closing(Store.open(path)) as store:
        store.close_step("late", 1, closed=0)
    for epochs in (2, 3, 4):
        fresh(monkeypatch)
        shutil.copy(path.with_name("old.db"), path)
        with pytest.raises(Refused, match="older than its mark"):
            Store.open(path)
        with closing(Store.open(path, new_epoch=True)) as store:
            account = store.accounts()["clinics"]
            assert account.spent_epsilon == epochs * 0.5
            promised = store.guarantee("late")
            assert (promised.epsilon, promised.delta) == (epochs * 0.5, epochs * 1e-7)
            assert not promised.gaussian_only
            assert promised.relation == HALF.relation
            store.close_step("late", 1, closed=0)
            store.verify()
    fresh(monkeypatch)
    shutil.copy(path.with_name("old.db"), path)
    with closing(Store.open(path, new_epoch=True)) as store:
        assert store.settled.ended == ("late",)


def test_what_a_copy_lacks_is_lost_for_every_law(path, monkeypatch):
    """Else whoever restores a copy has its budget a second time, or another rule."""
    for law, plan in PLANS.items():
        place = path.with_name(f"{law}.db")
        with closing(Store.open(place)) as store:
            store.add_dataset("clinics", TWO)
        shutil.copy(place, path.with_name("old.db"))
        with closing(Store.open(place)) as store:
            store.add_dataset("schools", hf.Guarantee(epsilon=1, delta=1e-6))
            for dataset in ("clinics", "schools"):
                store.add_stream(dataset, plan, dataset=dataset)
            before = store.accounts()
        fresh(monkeypatch)
        shutil.copy(path.with_name("old.db"), place)
        with closing(Store.open(place, new_epoch=True)) as store:
            assert store.accounts() == before, law
            kinds = [entry.kind for entry in store.entries()]
            assert kinds == ["dataset", "lost", "dataset", "lost"]
            store.verify()
            if law == "gaussian":  # the copy had no charge yet: the first one still decides
                with pytest.raises(Refused, match="Gaussian noise only"):
                    store.add_stream("other", PLANS["huber"], dataset="clinics")
            else:
                store.add_stream("other", PLANS["gaussian"], dataset="clinics")


def test_a_charge_that_was_committed_before_a_crash_is_marked(path, monkeypatch):
    """Else a copy from before that charge would fit the old mark."""

    def crashed(name):
        if name == "before mark":
            raise MemoryError

    for law, plan in PLANS.items():
        fresh(monkeypatch)
        place = path.with_name(f"{law}.db")
        with closing(Store.open(place)) as store:
            store.add_dataset("clinics", TWO)
        shutil.copy(place, path.with_name("old.db"))
        store = Store.open(place)
        monkeypatch.setattr(fail_points, "reached", crashed)
        with pytest.raises(MemoryError):
            store.add_stream("late", plan, dataset="clinics")
        store.close()
        monkeypatch.undo()
        with closing(Store.open(place)) as store:
            spent = store.accounts()
            assert store.streams() == ["late"]
        assert spent["clinics"].composition == ("gaussian" if law == "gaussian" else "basic")
        assert MarkFile(place.with_name(place.name + ".mark")).accounts() == spent
        shutil.copy(path.with_name("old.db"), place)
        with closing(Store.open(place, new_epoch=True)) as store:
            assert store.accounts() == spent


def test_marks_keep_sums_exactly(tmp_path):
    account = Account.of("clinics", TWO)
    for _ in range(7):
        account = account.charged(Loss(0.1, 1e-9, "huber"), HALF.relation)
    pure = Account.of("schools", hf.Guarantee(epsilon=1, delta=0)).charged(Loss(1e-3, 0.0))
    told = {"clinics": account, "schools": pure, "new": Account.of("new", TWO)}
    with closing(MarkFile(tmp_path / "mark")) as file:
        file.write(Mark("ab", 1, "x"), told)
        assert file.accounts() == told


@pytest.mark.parametrize("total", ["1/0", "x", None, {}])
def test_sums_that_no_store_wrote_are_refused(tmp_path, total):
    with closing(MarkFile(tmp_path / "mark")) as file:
        file.write(Mark("ab", 1, "x"), {"clinics": Account.of("clinics", TWO).charged(Loss(1, 0))})
        content = (tmp_path / "mark").read_bytes()
        text = content[512:].split(b"\n")[1].rpartition(b" ")[0]
        document = json.loads(text)
        document["clinics"]["losses"]["epsilon"] = total
        forged = json.dumps(document).encode()
        check = hashlib.sha256(forged).hexdigest().encode()
        (tmp_path / "mark").write_bytes(content[:512] + b"\n" + forged + b" " + check + b"\n")
        with pytest.raises(Malformed, match="must be a mark"):
            file.accounts()


def test_a_ledger_that_charges_less_than_a_plan_needs_is_refused(path, monkeypatch):
    """Less epsilon, no delta, a mu in place of the loss: the chain is written again."""
    changes = [
        lambda body: body["loss"].update(epsilon=0.4),
        lambda body: body["loss"].update(delta=0.0),
        lambda body: body["loss"].update(law="laplace"),
        lambda body: body.update(mu=body.pop("loss")["epsilon"] / 10),
    ]
    for number, change in enumerate(changes):
        fresh(monkeypatch)
        place = path.with_name(f"{number}.db")
        with closing(Store.open(place)) as store:
            store.add_dataset("clinics", TWO)
            store.add_stream("late", PLANS["huber"], dataset="clinics")
        with closing(apsw.Connection(str(place))) as connection:
            rows = list(connection.execute("SELECT kind, body FROM ledger ORDER BY number"))
            last = None
            for kind, body in rows:
                content = json.loads(body)
                if kind == "charge":
                    change(content)
                last = ledger.following(last, kind, **content)
                connection.execute(
                    "UPDATE ledger SET body = ?, digest = ? WHERE number = ?",
                    (last.body, last.digest, last.number),
                )
        mark = MarkFile(place.with_name(place.name + ".mark"))
        mark.replace(Mark(mark.read().store, last.number, last.digest), mark.accounts())
        with (
            closing(Store.open(place)) as store,
            pytest.raises(Failed, match="is not the plan that the ledger charged"),
        ):
            store.live("late")
