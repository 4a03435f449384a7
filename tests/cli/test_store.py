import json
import math
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

import hushfade as hf
from hushfade.privacy.rounding import rounded_up
from hushfade.store import Reader, Store
from hushfade.store.sqlite import SQLite
from tests.cli.command import document, run

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
TWO = hf.Guarantee(epsilon=2, delta=1e-6)
PLAN = hf.plan(hf.SlidingWindow(length=7), ONE, method="square_root")

KILLED = """
import os, signal, sys
from hushfade.store import Store
store = Store.open(sys.argv[1])
for step in (4, 5):
    store.close_step("late", step, closed=0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def begun(path):
    """A store with a stream of two steps, and its writer."""
    store = Store.open(path)
    store.add_dataset("clinics", TWO)
    store.add_stream("late", PLAN, dataset="clinics")
    for step in (1, 2):
        store.close_step("late", step, closed=0)
    return store


@pytest.fixture
def place(tmp_path):
    """A store whose writer is at work."""
    store = begun(tmp_path / "releases.db")
    yield tmp_path / "releases.db"
    store.close()


@pytest.fixture(scope="module")
def wreck(tmp_path_factory):
    """The files of a store whose writer was killed at step 5, and a backup of step 2."""
    path = tmp_path_factory.mktemp("wreck") / "releases.db"
    with closing(begun(path)) as store:
        store.backup(path.with_name("backup.db"))
        store.close_step("late", 3, closed=0)  # without its log the store has 3 steps
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.with_name("releases.db-wal").stat().st_size > 0
    return path.parent


@pytest.fixture
def killed(wreck, tmp_path, monkeypatch):
    """A store of five steps, most of them in its log, and a backup of two."""
    monkeypatch.setattr("hushfade.stream.ownership._turns", {})  # as in a new process
    shutil.copytree(wreck, tmp_path, dirs_exist_ok=True)
    return tmp_path / "releases.db", tmp_path / "backup.db"


def steps(path):
    """The steps of a store that is whole, as a new process sees it."""
    with patch("hushfade.stream.ownership._turns", {}), closing(Reader.beside(path)) as found:
        found.check()
        found.verify()
        return [release.step for release in found.releases("late")]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_sound_store_is_checked_and_verified_beside_its_writer(place):
    assert "can continue" in run("store check", str(place)).stdout
    assert "an unbroken chain of 4 entries" in run("store verify", str(place)).stdout


def test_budgets_state_what_is_spent_and_what_one_more_stream_would_make_it(place):
    """By mpmath, 30 digits: sqrt(2) mu(1) is epsilon 1.454671, and sqrt(mu(2)^2 - mu(1)^2) =
    0.3807559 is epsilon 1.673274."""
    for action in ("verify", "ledger"):
        shown = run(f"store {action}", str(place)).stdout
        assert (
            "Dataset 'clinics': epsilon = 1 of 2 at delta = 0.000001 is spent. Another stream "
            "like the last would raise epsilon to 1.455. The budget has room for a stream with "
            "epsilon = 1.673. It protects one record, added or removed."
        ) in shown
    (account,) = document("store verify", str(place))["budgets"]
    assert account["left"] ** 2 + account["spent"] ** 2 == pytest.approx(account["mu"] ** 2)
    assert account["left_epsilon"] == pytest.approx(1.673274, abs=1e-6)


def test_a_budget_that_is_spent_has_nothing_left(tmp_path):
    store = Store.open(tmp_path / "releases.db")
    store.add_dataset("clinics", ONE)
    store.add_stream("late", PLAN, dataset="clinics")
    store.close()
    shown = run("store ledger", str(tmp_path / "releases.db")).stdout
    assert "epsilon = 1 of 1 at delta = 0.000001 is spent. Nothing is left." in shown


def test_a_budget_of_several_laws_is_told_with_epsilon_and_delta(tmp_path):
    path, half = tmp_path / "releases.db", hf.Guarantee(epsilon=0.5, delta=1e-7)
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", hf.Guarantee(epsilon=2, delta=1e-6))
        for law in ("huber", "gaussian"):
            plan = hf.plan(hf.Exponential(half_life=24), half, law=law)
            store.add_stream(law, plan, dataset="clinics")
    path.with_name("releases.db.mark").unlink()
    with patch("hushfade.stream.ownership._turns", {}):
        Store.open(path, new_epoch=True).close()
    shown = run("store verify", str(path)).stdout
    assert "Dataset 'clinics': epsilon = 2 of 2 and delta = 4e-7 of 0.000001 are spent. " in shown
    assert "Stream 'huber': epsilon = 1 at delta = 2e-7, for all its releases" in shown
    found = document("store verify", str(path))
    (account,) = found["budgets"]
    assert (account["composition"], account["spent_epsilon"]) == ("basic", 2.0)
    assert (account["spent_delta"], account["left_delta"]) == (4e-7, 6e-7)
    assert [account[name] for name in ("mu", "spent", "left")] == [None] * 3
    assert [(each["mu"], each["epsilon"]) for each in found["new_epochs"]] == [(None, 1.0)] * 2


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ("--kind charge", ["charge"]),
        ("--kind step", ["step", "step"]),
        ("--kind end", []),
        ("--kind all", ["dataset", "charge", "step", "step"]),
    ],
)
def test_the_ledger_lists_the_kind_that_is_asked_for(place, options, kinds):
    found = document(f"store ledger {options}", str(place))
    assert [entry["kind"] for entry in found["entries"]] == kinds
    shown = run(f"store ledger {options}", str(place)).stdout.splitlines()
    assert [line.split()[1] for line in shown[: len(kinds)]] == kinds


def test_the_ledger_is_a_statement_with_dates_charges_and_totals(place):
    before, charge = document("store ledger", str(place))["statement"]
    assert (before["kind"], before["dataset"], before["charge"]) == ("dataset", "clinics", None)
    assert (before["epsilon"], before["spent_epsilon"]) == (2.0, 0.0)
    assert (charge["stream"], charge["epoch"]) == ("late", 0)
    assert charge["charge"]["mu"] == PLAN.guarantee.mu
    assert charge["charge"]["epsilon"] == charge["spent_epsilon"] == 1.0
    for line in (before, charge):
        age = datetime.now(UTC) - datetime.fromisoformat(line["at"])
        assert timedelta(seconds=-2) < age < timedelta(days=1)
    words = run("store ledger", str(place)).stdout
    for part in ("budget of", "stream late", charge["mechanism"].split()[0], "total"):
        assert part in words


def test_an_entry_is_one_line_where_the_ledger_is_piped(place):
    shown = run("store ledger --kind all", str(place)).stdout.splitlines()
    entries = document("store ledger --kind all", str(place))["entries"]
    for line, entry in zip(shown, entries, strict=False):
        assert line.split(maxsplit=3)[3] == entry["body"]
    assert max(map(len, shown)) > 120
    assert json.loads(entries[2]["body"])["step"] == 1


# Backups ------------------------------------------------------------------------------------


def test_a_backup_is_a_store(place, tmp_path):
    copy = tmp_path / "copy.db"
    assert run("store backup", str(place), "-o", str(copy)).exit_code == 0
    assert "chain of 4 entries" in document("store verify", str(copy))["said"]


def test_a_backup_is_for_its_owner_alone_and_checking_it_leaves_nothing(place, tmp_path):
    before = os.umask(0o022)
    try:
        copy = tmp_path / "elsewhere" / "copy.db"
        copy.parent.mkdir()
        assert run("store backup", str(place), "-o", str(copy)).exit_code == 0
        assert mode(copy) == 0o600
        assert run("store check", str(copy)).exit_code == 0
        assert list(copy.parent.iterdir()) == [copy]
    finally:
        os.umask(before)


def test_a_backup_replaces_nothing_and_needs_a_directory(place, tmp_path):
    (tmp_path / "copy.db").write_text("mine", encoding="utf-8")
    found = run("store backup", str(place), "-o", str(tmp_path / "copy.db"))
    assert found.exit_code == 5
    assert found.stderr == f"error: {tmp_path / 'copy.db'} already exists: choose a new file\n"
    assert (tmp_path / "copy.db").read_text(encoding="utf-8") == "mine"
    found = run("store backup", str(place), "-o", str(tmp_path / "no" / "copy.db"))
    assert found.exit_code == 5
    expected = f"the directory {tmp_path / 'no'} does not exist: create it first"
    assert found.stderr == f"error: {expected}\n"


# Restoring ----------------------------------------------------------------------------------


def restore(path, copy, *more):
    return run("store restore", str(path), "--from", str(copy), *more)


def test_a_copy_beside_a_stale_log_is_not_the_copy(killed):
    """What the command is for: this is what copying by hand does."""
    path, copy = killed
    shutil.copy(copy, path)
    with closing(sqlite3.connect(path)) as found:
        try:
            found_steps = [x for (x,) in found.execute("SELECT step FROM releases")]
        except sqlite3.DatabaseError:
            found_steps = None
    assert found_steps != [1, 2]


def test_a_restored_store_is_the_backup_and_has_nothing_of_a_stale_log(killed):
    path, copy = killed
    mark = path.with_name("releases.db.mark").read_bytes()
    found = restore(path, copy, "--force")
    assert found.exit_code == 0, found.stderr
    assert "older than the mark" in found.stdout
    assert "--new-epoch" in found.stdout
    assert steps(path) == [1, 2]
    assert {x.name for x in path.parent.iterdir()} == {
        "backup.db", "releases.db", "releases.db.lock", "releases.db.mark", "releases.db.mark.lock",
    }  # fmt: skip
    assert mode(path) == 0o600
    assert path.with_name("releases.db.mark").read_bytes() == mark
    assert steps(copy) == [1, 2]
    with pytest.raises(hf.Refused, match="older than its mark"):
        Store.open(path)
    with closing(Store.open(path, new_epoch=True)) as store:
        assert store.settled.charged == ("late",)
        plan = store.live("late").plan
    mu = math.sqrt(2) * plan.guarantee.mu  # what was published twice is composed
    (stream,) = document("store verify", str(path))["new_epochs"]
    assert (stream["stream"], stream["epoch"], stream["delta"]) == ("late", 1, 1e-6)
    assert stream["mu"] == pytest.approx(mu, rel=1e-15)
    assert stream["epsilon"] == pytest.approx(hf.epsilon_of(mu, 1e-6), rel=1e-12)
    told = f"Stream 'late': epsilon = {rounded_up(stream['epsilon'])} at delta = 0.000001, for all"
    assert told in run("store ledger", str(path)).stdout


def test_a_store_that_is_whole_is_replaced_by_force_only(killed):
    path, copy = killed
    log = path.with_name("releases.db-wal").read_bytes()
    found = restore(path, copy)
    assert found.exit_code == 4
    assert path.with_name("releases.db-wal").read_bytes() == log
    assert "is intact, and its streams can continue. Use --force to replace it" in found.stderr
    with closing(Store.open(path)) as store:  # nothing is lost
        assert store.live("late").steps == 5


def test_a_newest_copy_is_opened_as_ever(killed):
    path, _ = killed
    newest = path.with_name("newest.db")
    run("store backup", str(path), "-o", str(newest))
    found = restore(path, newest, "--force", "--json")
    assert json.loads(found.stdout)["new_epoch"] is False
    assert "as new as the mark" in json.loads(found.stdout)["said"]
    with closing(Store.open(path)) as store:
        assert store.live("late").steps == 5


@pytest.mark.parametrize("left", ["nothing", "log", "damage", "text", "empty store"])
def test_where_no_whole_store_is_the_copy_takes_its_place_without_force(killed, left):
    path, copy = killed
    if left in ("nothing", "empty store"):
        path.with_name("releases.db-wal").unlink()
    path.with_name("releases.db-shm").unlink()
    path.unlink()
    if left == "damage":
        shutil.copy(copy, path)
        content = bytearray(path.read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
        path.write_bytes(content)
    if left == "text":
        path.write_text("no store", encoding="utf-8")
    if left == "empty store":
        Store.open(path, mark=path.with_name("other")).close()
    found = restore(path, copy)
    assert found.exit_code == 0, found.stderr
    assert steps(path) == [1, 2]
    assert not path.with_name("releases.db-wal").exists()


def test_without_a_mark_only_a_new_epoch_opens_it(killed):
    path, copy = killed
    elsewhere = path.with_name("far")
    path.with_name("releases.db.mark").rename(elsewhere)
    assert "older than the mark" in restore(path, copy, "--force", "--mark", str(elsewhere)).stdout
    assert "The store has no mark" in restore(path, copy, "--force").stdout


@pytest.mark.parametrize("lost", [False, True])
def test_a_crash_at_any_moment_leaves_the_old_store_or_the_copy(
    killed, tmp_path, monkeypatch, lost
):
    """At each change of a name and each sync the files are copied, as a crash would leave them.

    Where the database is lost and its log is not, it is the copy or nothing.
    """
    path, copy = killed
    taken = []
    if lost:
        path.unlink()

    def watched(owner, name):
        before = getattr(owner, name)

        def called(*arguments, **named):
            seen = tmp_path / "seen" / str(len(taken))
            seen.mkdir(parents=True)
            for file in path.parent.glob("releases.db*"):
                if file.name != "releases.db-shm":  # not on the disk for those who come later
                    shutil.copy(file, seen)
            taken.append(seen / "releases.db")
            return before(*arguments, **named)

        monkeypatch.setattr(owner, name, called)

    watched(os, "fsync")
    watched(Path, "unlink")
    watched(Path, "replace")
    assert restore(path, copy, "--force").exit_code == 0
    monkeypatch.undo()
    taken.append(path)
    assert len(taken) > 8
    found = [steps(each) for each in taken if each.exists()]
    assert {tuple(each) for each in found} == ({(1, 2)} if lost else {(1, 2, 3, 4, 5), (1, 2)})
    assert found == sorted(found, reverse=True)  # never back


def test_a_link_is_followed_and_meets_the_lock_of_its_file(killed):
    path, copy = killed
    link = path.with_name("link.db")
    link.symlink_to(path)
    assert restore(link, copy, "--force").exit_code == 0
    assert link.is_symlink()
    assert steps(path) == [1, 2]
    with closing(Store.open(path, new_epoch=True)):
        found = restore(link, copy, "--force")
    assert found.exit_code == 4
    assert "another process writes to" in found.stderr


def test_a_store_in_use_is_not_replaced(place, tmp_path):
    copy = tmp_path / "copy.db"
    run("store backup", str(place), "-o", str(copy))
    found = restore(place, copy, "--force")
    assert found.exit_code == 4
    expected = f"another process writes to {place}: stop it, or wait until it has ended"
    assert found.stderr == f"error: {expected}\n"
    assert not list(tmp_path.glob(".*"))


def test_a_store_that_is_being_read_is_not_replaced(killed, monkeypatch):
    path, copy = killed
    monkeypatch.setattr("hushfade.store.sqlite._PATIENCE", 10)
    with closing(SQLite(path, only_read=True)) as reader:
        reader.write("BEGIN")
        reader.read("SELECT * FROM releases")
        found = restore(path, copy, "--force")
        assert found.exit_code == 4
        assert "another process reads" in found.stderr
    assert steps(path) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("text", "is not a SQLite database"),
        ("empty", "the file is not a backup of a store"),
        ("other", "the file is not a backup of a store"),
        ("ledger", "entry 4 of the ledger must follow"),
        ("pages", "damaged"),
        ("stranger", "belongs to another store"),
        ("another format", "must have the format 'hushfade store draft'"),
        ("missing", "the file does not exist"),
        ("itself", "must not be the store itself"),
    ],
)
def test_a_copy_that_is_not_this_store_whole_is_refused_and_nothing_changes(killed, kind, told):
    path, copy = killed
    match kind:
        case "text":
            copy.write_text("no store", encoding="utf-8")
        case "empty":
            copy.write_bytes(b"")
        case "other":
            copy.unlink()
            with closing(sqlite3.connect(copy)) as made:
                made.execute("CREATE TABLE meta (name, value)")
        case "ledger":
            copy.write_bytes(copy.read_bytes().replace(b'"step":2,', b'"step":3,'))
        case "pages":
            content = bytearray(copy.read_bytes())
            content[4096 * 3 : 4096 * 9] = b"\xff" * 4096 * 6
            copy.write_bytes(content)
        case "stranger":
            copy = path.with_name("stranger.db")
            begun(copy).close()
        case "another format":
            with closing(sqlite3.connect(copy)) as made:
                made.execute("UPDATE meta SET value = '1' WHERE name = 'format'")
                made.commit()
        case "missing":
            copy.unlink()
        case "itself":
            copy = path
    found = restore(path, copy, "--force")
    assert found.exit_code in (2, 3, 5)
    assert told in found.stderr
    assert not list(path.parent.glob(".*"))
    with closing(Store.open(path)) as store:
        assert store.live("late").steps == 5


# Refusals -----------------------------------------------------------------------------------


def test_a_changed_ledger_is_told(place, tmp_path):
    copy = tmp_path / "copy.db"
    run("store backup", str(place), "-o", str(copy))
    changed = copy.read_bytes().replace(b'"step":2,', b'"step":3,')
    copy.write_bytes(changed)
    shown = run("store verify", str(copy))
    assert shown.exit_code == 3
    assert "entry 4 of the ledger must follow" in shown.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("store check nowhere.db", 5),
        ("store backup nowhere.db", 2),
        ("store backup nowhere.db -o copy.db", 5),
        ("store check nowhere.db -o copy.db", 2),
        ("store check nowhere.db --kind step", 2),
        ("store ledger nowhere.db --kind other", 2),
        ("store restore nowhere.db", 2),
        ("store check nowhere.db --from copy.db", 2),
        ("store check nowhere.db --force", 2),
        ("store check nowhere.db --mark mark", 2),
        ("store restore nowhere.db --from copy.db", 5),
        ("store restore no/where.db --from no.db", 5),
        ("store mend nowhere.db", 2),
    ],
)
def test_what_cannot_be_done_is_refused(line, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(line).exit_code == code
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_store_is_told(tmp_path):
    text, directory = tmp_path / "text.db", tmp_path / "directory"
    text.write_text("no store", encoding="utf-8")
    directory.mkdir()
    for path, told in (
        (text, "is not a SQLite database: choose another file"),
        (directory, "is a directory: choose a file"),
    ):
        shown = run("store check", str(path))
        assert shown.exit_code == 5
        assert shown.stderr == f"error: {path} {told}\n"
    assert set(tmp_path.iterdir()) == {text, directory}


@pytest.mark.parametrize(
    "line",
    [
        "store check postgresql://me:secret@127.0.0.1:1/none",
        "store check postgresql://me:sec%zzret@127.0.0.1:1/none",
        "store check postgresql://me:se@secret@127.0.0.1:1/none",
        "store check Postgresql://me:secret@127.0.0.1:1/none",
        "store backup postgresql://me:secret@127.0.0.1:1/none -o copy.db",
        "store backup nowhere.db -o postgresql://me:secret@127.0.0.1:1/none",
        "store restore nowhere.db --from postgresql://me:secret@127.0.0.1:1/none",
        "store restore postgresql://me:secret@127.0.0.1:1/none --from copy.db",
    ],
)
def test_no_password_of_a_database_is_told(line):
    pytest.importorskip("psycopg")
    shown = run(line)
    assert shown.exit_code in (2, 4, 5)
    assert "ret" not in shown.output
    assert "(" not in shown.stderr  # a reason, not the name of an error


def test_a_database_elsewhere_has_its_own_way_to_be_restored():
    shown = run("store restore postgresql://me@127.0.0.1/none --from copy.db")
    assert "pg_restore" in shown.stderr


@pytest.mark.usefixtures("quick_joint_search")
def test_joint_charges_are_shown_with_their_streams(tmp_path):
    place = tmp_path / "releases.db"
    both = hf.plan_together([hf.SlidingWindow(length=7), hf.Exponential(half_life=24)], ONE)
    streams = dict(zip(("week", "fading"), both.plans, strict=True))
    with closing(Store.open(place)) as store:
        store.add_dataset("clinics", ONE)
        store.charge_together(streams, ONE, dataset="clinics")
        store.add_stream("week", streams["week"], dataset="clinics")
    shown = run("store ledger", str(place))
    assert shown.exit_code == 0, shown.stderr
    text = " ".join(shown.stdout.replace("│", " ").split())
    for word in ("joint", "laplace", "nothing"):  # narrow columns break longer texts
        assert word in text, word
    _, joint, member = document("store ledger", str(place))["statement"]
    assert (joint["kind"], joint["streams"]) == ("joint", ["week", "fading"])
    assert (joint["charge"]["epsilon"], joint["spent_epsilon"]) == (1.0, 1.0)
    assert (member["kind"], member["stream"], member["joint"]) == ("member", "week", 2)
    assert (member["charge"], member["spent_epsilon"]) == (None, 1.0)
    listed = document("store list", str(place))
    assert listed["reserved"] == [{"stream": "fading", "dataset": "clinics"}]
    assert [(one["stream"], one["joint"]) for one in listed["streams"]] == [("week", 2)]
    assert "exist yet: fading" in run("store list", str(place)).stdout


def test_the_list_of_streams_states_which_limits_are_assumed(place):
    (stream,) = document("store list", str(place))["streams"]
    assert (stream["stream"], stream["dataset"], stream["steps"]) == ("late", "clinics", 2)
    assert (stream["epsilon"], stream["joint"]) == (1.0, None)
    assert "does not check how many records one person has" in stream["limits"]
    shown = run("store list", str(place))
    assert f"late: {stream['limits']}" in " ".join(shown.stdout.split())


def test_verify_and_ledger_state_which_limits_are_assumed(place):
    for action in ("verify", "ledger"):
        (stream,) = document(f"store {action}", str(place))["limits"]
        assert stream["stream"] == "late"
        shown = run(f"store {action}", str(place))
        assert f"late: {stream['limits']}" in " ".join(shown.stdout.split())
