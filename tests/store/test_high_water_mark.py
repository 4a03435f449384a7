import hashlib
import shutil

import pytest

import hushfade as hf
from hushfade.errors import Malformed, Refused
from hushfade.privacy.ledger import Account
from hushfade.privacy.unit import Relation
from hushfade.store import Store, fail_points
from hushfade.store.high_water_mark import Mark, MarkFile

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
TWICE = hf.Guarantee.from_mu(2**0.5 * ONE.mu, delta=1e-6)
PLAN = hf.plan(hf.Exponential(half_life=3), ONE, method="square_root")
MARK = Mark("ab", 7, "cd")


def test_the_newest_mark_is_read(tmp_path):
    file = MarkFile(tmp_path / "mark")
    assert file.read() is None
    for number in (1, 2, 3, 7):
        file.write(Mark("ab", number, f"{number:064x}"))
        assert MarkFile(tmp_path / "mark").read() == Mark("ab", number, f"{number:064x}")
    file.close()
    assert (tmp_path / "mark").stat().st_mode & 0o777 == 0o600


def test_a_torn_write_leaves_the_mark_before_it(tmp_path):
    file = MarkFile(tmp_path / "mark")
    file.write(Mark("ab", 1, "x"))
    file.write(Mark("ab", 2, "y"))
    file.close()
    content = (tmp_path / "mark").read_bytes()
    newest = 0  # the slot of the even numbers
    for at in range(len(MARK.line().rstrip())):
        torn = bytearray(content)
        torn[newest + at] ^= 1
        (tmp_path / "mark").write_bytes(torn)
        assert MarkFile(tmp_path / "mark").read().number == 1


@pytest.mark.parametrize("content", [b"", b"\0" * 512, b"hushfade mark draft a 1 b c\n"])
def test_what_is_no_mark_is_refused(tmp_path, content):
    (tmp_path / "mark").write_bytes(content)
    with pytest.raises(Malformed, match=r"must be a mark|must have the format"):
        MarkFile(tmp_path / "mark").read()


@pytest.mark.parametrize(
    "text", [b"1", b"[]", b"{", b'{"a": 1}', b'{"a": {}}', b'{"a": {"relation": 1}}', b"[" * 9999]
)
def test_budgets_that_no_store_wrote_are_refused_whatever_their_checksum(tmp_path, text):
    check = hashlib.sha256(text).hexdigest().encode()
    (tmp_path / "mark").write_bytes(2 * MARK.line() + b"\n" + text + b" " + check + b"\n")
    assert MarkFile(tmp_path / "mark").read() == MARK
    with pytest.raises(Malformed, match="must be a mark"):
        MarkFile(tmp_path / "mark").accounts()


@pytest.fixture
def restored(tmp_path):
    """A store that has taken three steps, and a copy of its database from after the first."""
    path = tmp_path / "releases.db"
    store = Store.open(path)
    store.add_dataset("clinics", TWICE)
    store.add_stream("late", PLAN, dataset="clinics")
    store.close_step("late", 1, closed=0)
    store.close()
    shutil.copy(path, tmp_path / "old.db")
    store = Store.open(path)
    for step in (2, 3):
        store.close_step("late", step, closed=0)
    store.close()
    shutil.copy(tmp_path / "old.db", path)
    return path


def test_an_older_copy_is_refused(restored):
    with pytest.raises(Refused, match="older than its mark: steps could be drawn twice"):
        Store.open(restored)


def test_a_copy_without_its_mark_is_refused(restored):
    restored.with_name("releases.db.mark").unlink()
    with pytest.raises(Refused, match="has no mark"):
        Store.open(restored)


def test_another_store_s_mark_is_refused(restored, tmp_path):
    other = Store.open(tmp_path / "other.db")
    other.add_dataset("clinics", TWICE)
    other.close()
    shutil.copy(tmp_path / "other.db.mark", restored.with_name("releases.db.mark"))
    for new_epoch in (False, True):
        with pytest.raises(Refused, match="of this store, got the mark of another store"):
            Store.open(restored, new_epoch=new_epoch)


def test_a_new_epoch_is_charged_and_goes_on_from_the_copy(restored, monkeypatch):
    monkeypatch.setattr("hushfade.stream.ownership._turns", {})  # as in a new process
    store = Store.open(restored, new_epoch=True)
    assert store.accounts()["clinics"].left == pytest.approx(0.0, abs=1e-8)
    assert store.close_step("late", 2, closed=0).step == 2
    told = [entry.content["epoch"] for entry in store.entries() if entry.kind != "dataset"]
    assert told == [0, 0, 1, 1]
    store.verify()
    store.close()
    Store.open(restored).close()  # the mark is the new one


def test_streams_that_cannot_afford_a_new_epoch_are_ended_and_the_others_go_on(tmp_path):
    path = tmp_path / "releases.db"
    store = Store.open(path)
    store.add_dataset("clinics", TWICE)
    store.add_dataset("schools", ONE)
    store.add_stream("late", PLAN, dataset="clinics")
    store.add_stream("absent", PLAN, dataset="schools")
    store.close_step("absent", 1, closed=0)
    store.close()
    (tmp_path / "releases.db.mark").unlink()
    with pytest.raises(Refused, match="has no mark"):
        Store.open(path)
    store = Store.open(path, new_epoch=True)
    assert store.settled.renewed
    assert (store.settled.charged, store.settled.ended) == (("late",), ("absent",))
    assert store.live("absent").ended
    assert len(store.releases("absent")) == 1
    with pytest.raises(Refused, match="has ended"):
        store.close_step("absent", 2, closed=0)
    store.verify()
    store.check()
    store.close()


def test_what_was_spent_after_the_copy_was_made_stays_spent(tmp_path):
    """Else whoever restores a copy has its budget a second time."""
    path = tmp_path / "releases.db"
    store = Store.open(path)
    store.add_dataset("clinics", TWICE)
    store.close()
    shutil.copy(path, tmp_path / "old.db")
    store = Store.open(path)
    store.add_dataset("schools", ONE)
    for name, dataset in [("late", "clinics"), ("early", "clinics"), ("absent", "schools")]:
        store.add_stream(name, PLAN, dataset=dataset)
    store.close()
    shutil.copy(tmp_path / "old.db", path)
    store = Store.open(path, new_epoch=True)
    assert store.streams() == []
    for dataset in ("clinics", "schools"):
        account = store.accounts()[dataset]
        assert account.left == pytest.approx(0.0, abs=1e-7)
        assert account.relation == ONE.relation
        with pytest.raises(Refused, match="must not be overspent"):
            store.add_stream("again", PLAN, dataset=dataset)
    assert [entry.kind for entry in store.entries()] == ["dataset", "lost", "dataset", "lost"]
    store.verify()
    store.close()


def test_each_new_epoch_of_the_same_copy_is_charged(tmp_path, monkeypatch):
    path = tmp_path / "releases.db"
    store = Store.open(path)
    store.add_dataset("clinics", hf.Guarantee.from_mu(2 * ONE.mu, delta=1e-6))
    store.add_stream("late", PLAN, dataset="clinics")
    store.close()
    shutil.copy(path, tmp_path / "old.db")
    store = Store.open(path)
    store.close_step("late", 1, closed=0)
    store.close()
    for epochs in (2, 3, 4):
        monkeypatch.setattr("hushfade.stream.ownership._turns", {})  # as in a new process
        shutil.copy(tmp_path / "old.db", path)
        store = Store.open(path, new_epoch=True)
        assert store.accounts()["clinics"].spent == pytest.approx(epochs**0.5 * ONE.mu)
        promised = store.guarantee("late")
        assert promised.mu == pytest.approx(epochs**0.5 * ONE.mu)
        assert promised.epsilon == hf.epsilon_of(promised.mu, ONE.delta)
        assert promised.relation == ONE.relation
        assert store.live("late").plan.guarantee == ONE
        store.close_step("late", 1, closed=0)
        store.close()
    shutil.copy(tmp_path / "old.db", path)
    store = Store.open(path, new_epoch=True)
    assert store.settled.ended == ("late",)
    store.close()


def test_a_torn_line_of_budgets_leaves_the_one_before_it(tmp_path):
    file = MarkFile(tmp_path / "mark")
    first = {"clinics": Account("clinics", 1.0, 1e-6, ONE.relation)}
    second = {"clinics": Account("clinics", 1.0, 1e-6, Relation("replace", 3, 24, 1), 0.5)}
    file.write(Mark("ab", 1, "x"), first)
    length = (tmp_path / "mark").stat().st_size
    file.write(Mark("ab", 2, "y"), second)
    assert file.accounts() == second
    content = (tmp_path / "mark").read_bytes()
    for cut in range(length, len(content) - 1):
        (tmp_path / "mark").write_bytes(content[:cut])
        assert MarkFile(tmp_path / "mark").accounts() == first
    again = MarkFile(tmp_path / "mark")
    again.write(Mark("ab", 3, "z"), second)  # after what was torn off
    assert again.accounts() == second
    assert again.read() == Mark("ab", 3, "z")
    file.close()
    again.close()


def test_a_new_epoch_without_need_changes_nothing(tmp_path):
    path = tmp_path / "releases.db"
    store = Store.open(path)
    store.add_dataset("clinics", ONE)
    store.add_stream("late", PLAN, dataset="clinics")
    store.close()
    store = Store.open(path, new_epoch=True)
    assert store.verify() == 2
    store.close()


def test_what_was_committed_before_a_crash_is_marked_before_it_is_published(tmp_path, monkeypatch):
    """Else a copy from before that step would fit the old mark, and the step be drawn again."""
    path = tmp_path / "releases.db"
    store = Store.open(path)
    store.add_dataset("clinics", TWICE)
    store.add_stream("late", PLAN, dataset="clinics")
    store.close()
    shutil.copy(path, tmp_path / "old.db")
    store = Store.open(path)

    def crashed(name):
        if name == "before mark":
            raise MemoryError

    monkeypatch.setattr(fail_points, "reached", crashed)
    with pytest.raises(MemoryError):
        store.close_step("late", 1, closed=0)
    store.close()
    monkeypatch.undo()
    store = Store.open(path)
    assert len(store.releases("late")) == 1  # which may be published from here on
    store.close()
    shutil.copy(tmp_path / "old.db", path)
    with pytest.raises(Refused, match="older than its mark"):
        Store.open(path)


def test_a_mark_records_the_budget_that_changed_and_knows_all(tmp_path):
    """Before, each line had all budgets, and a new stream took time for each dataset."""
    path = tmp_path / "releases.db"
    store = Store.open(path)
    plan = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(epsilon=1, delta=1e-6))
    sizes = []
    for number in range(40):
        store.add_dataset(f"d{number}", plan.guarantee)
        before = (tmp_path / "releases.db.mark").stat().st_size
        store.add_stream(f"s{number}", plan, dataset=f"d{number}")
        sizes.append((tmp_path / "releases.db.mark").stat().st_size - before)
    assert max(sizes[30:]) <= max(sizes[:10]) + 10
    assert MarkFile(tmp_path / "releases.db.mark").accounts() == store.accounts()
    store.close()


def test_a_long_mark_is_written_anew_when_the_store_is_opened(tmp_path, monkeypatch):
    monkeypatch.setattr("hushfade.store.high_water_mark._LONG", 2000)
    path, mark = tmp_path / "releases.db", tmp_path / "releases.db.mark"
    store = Store.open(path)
    for number in range(20):
        store.add_dataset(f"d{number}", hf.Guarantee(epsilon=1, delta=1e-6))
    plan = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(epsilon=1, delta=1e-6))
    store.add_stream("s", plan, dataset="d3")
    known, before = store.accounts(), mark.stat().st_size
    store.close()
    store = Store.open(path)
    assert mark.stat().st_size < before
    assert MarkFile(mark).accounts() == known == store.accounts()
    store.close()
