import os
import signal
import traceback
from contextlib import closing
from threading import Event, Thread, Timer
from time import monotonic, sleep

import pytest

from hushfade.errors import Failed
from hushfade.store import Store, statement_deadline
from hushfade.store.sqlite import SQLite
from hushfade.store.statement_deadline import Deadline, interruptible

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n"


def test_a_statement_is_interrupted_once_when_it_is_late_and_never_else():
    told = []
    deadline = Deadline(lambda: told.append(1), seconds=5)
    now = monotonic()
    deadline.look(now + 100)
    assert told == []  # no statement runs
    with deadline:
        deadline.look(now + 1)
        assert told == []
        deadline.look(now + 100)
        deadline.look(now + 200)
        assert told == [1]
        assert deadline.passed
    with deadline:
        assert not deadline.passed
    deadline.look(now + 300)
    assert told == [1]


def test_the_watcher_interrupts_by_itself():
    late = Event()
    deadline = Deadline(late.set, seconds=0.01)
    with deadline:
        assert late.wait(20)


def test_an_endless_statement_ends_with_an_error_and_the_next_one_works(tmp_path, monkeypatch):
    monkeypatch.setattr(Deadline.__init__, "__defaults__", (0.05,))
    database = SQLite(tmp_path / "a.db")
    for _ in range(2):
        with pytest.raises(Failed, match="it does not respond in time"):
            database.read(ENDLESS)
        assert database.read("SELECT 1") == [(1,)]
    database.close()


def test_statements_that_another_thread_gives_up_end_and_later_ones_work(tmp_path):
    database, given_up = SQLite(tmp_path / "a.db"), Event()
    database._deadline = Deadline(database._connection.interrupt, 10**6)
    with interruptible(given_up):
        assert database.read("SELECT 1") == [(1,)]
        Timer(0.05, given_up.set).start()
        for _ in range(2):  # the running statement, and the next one
            with pytest.raises(Failed):
                database.read(ENDLESS)
    assert database.read("SELECT 1") == [(1,)]
    database.close()


def test_the_checks_of_pages_without_a_limit_can_be_given_up():
    told, given_up = Event(), Event()
    deadline = Deadline(told.set, float("inf"))
    with interruptible(given_up), deadline:
        given_up.set()
        assert told.wait(20)


def test_the_limits_are_seconds():
    assert 0 < statement_deadline.LOCK < statement_deadline.STATEMENT <= 10


def forked(work):
    """Whether a forked child has done the work; a child that takes 30 seconds is ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    until = monotonic() + 30
    while monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the forked child waits for ever")


def test_a_child_that_was_forked_while_the_deadlines_are_looked_at_opens_its_own_store(tmp_path):
    def work():
        with closing(Store.open(tmp_path / "child.db")) as store:
            assert store.streams() == []
        late = Event()
        with Deadline(late.set, seconds=0.01):
            assert late.wait(20)  # it has a thread of its own that looks

    Store.open(tmp_path / "parent.db").close()  # the thread that looks has started
    for _ in range(2):
        with statement_deadline._watcher()._turn:
            assert forked(work)


def test_a_child_that_was_forked_while_a_deadline_passes_may_use_the_deadline():
    inside, go_on = Event(), Event()

    def interrupt():
        inside.set()
        go_on.wait(60)

    deadline = Deadline(interrupt, seconds=0.01)

    def work():
        for _ in range(2):
            with deadline:
                pass

    deadline.__enter__()
    assert inside.wait(20)
    assert forked(work)
    go_on.set()
    deadline.__exit__()


def test_a_child_that_was_forked_while_a_thread_uses_the_store_is_refused_and_does_not_wait(
    tmp_path,
):
    inside, go_on = Event(), Event()

    def use():
        with store._turn:
            inside.set()
            go_on.wait(60)

    def work():
        for method in (store.streams, store.accounts, store.ping, store.close):
            with pytest.raises(Failed, match="a forked process must open the store itself"):
                method()

    with closing(Store.open(tmp_path / "releases.db")) as store:
        thread = Thread(target=use)
        thread.start()
        assert inside.wait(20)
        try:
            assert forked(work)
        finally:
            go_on.set()
            thread.join()
        assert store.streams() == []
