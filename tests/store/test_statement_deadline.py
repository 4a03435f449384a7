from threading import Event, Timer
from time import monotonic

import pytest

from hushfade.errors import Failed
from hushfade.store import statement_deadline
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
