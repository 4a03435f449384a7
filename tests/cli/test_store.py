import json

import pytest

import hushfade as hf
from hushfade.store import Store
from tests.cli.command import document, run

ONE = hf.Guarantee(epsilon=1, delta=1e-6)


@pytest.fixture
def place(tmp_path):
    """A store with a stream of two steps, and its writer at work."""
    path = tmp_path / "releases.db"
    store = Store.open(path)
    store.add_dataset("clinics", ONE)
    store.add_stream("late", hf.plan(hf.SlidingWindow(length=7), ONE), dataset="clinics")
    for step in (1, 2):
        store.close_step("late", step, closed=0)
    yield path
    store.close()


def test_a_sound_store_is_checked_and_verified_beside_its_writer(place):
    assert "can go on" in run("store check", str(place)).stdout
    shown = " ".join(run("store verify", str(place)).stdout.split())
    assert "4 entries are an unbroken chain" in shown
    assert "mu = 0.2367 of 0.2367 spent; epsilon = 1 at delta = 1e-06" in shown


def test_the_ledger_is_listed(place):
    found = document("store ledger", str(place))
    assert [entry["kind"] for entry in found["entries"]] == ["dataset", "charge", "step", "step"]
    assert json.loads(found["entries"][2]["body"])["step"] == 1
    assert found["budgets"][0]["left"] == 0.0
    assert "charge" in run("store ledger", str(place)).stdout


def test_a_backup_is_a_store(place, tmp_path):
    copy = tmp_path / "copy.db"
    assert run("store backup", str(place), "-o", str(copy)).exit_code == 0
    assert document("store verify", str(copy))["said"].startswith("The ledger's 4 entries")
    again = run("store backup", str(place), "-o", str(copy))
    assert again.exit_code == 5


def test_a_changed_ledger_is_told(place, tmp_path):
    copy = tmp_path / "copy.db"
    run("store backup", str(place), "-o", str(copy))
    changed = copy.read_bytes().replace(b'"step":2', b'"step":3')
    copy.write_bytes(changed)
    shown = run("store verify", str(copy))
    assert shown.exit_code == 3
    assert "entry 4 of the ledger must follow" in shown.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("store check nowhere.db", 5),
        ("store backup nowhere.db", 2),
        ("store check nowhere.db -o copy.db", 2),
        ("store mend nowhere.db", 2),
    ],
)
def test_what_cannot_be_done_is_refused(line, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(line).exit_code == code
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_store_is_told(tmp_path):
    (tmp_path / "text.db").write_text("no store", encoding="utf-8")
    shown = run("store check", str(tmp_path / "text.db"))
    assert shown.exit_code == 5
    assert "cannot be" in shown.stderr
