"""A store that has grown: no statement takes longer, and no more memory is needed.

Each statement has a time limit, so a statement whose work grows with the store could end the store
for ever: it would fail again after each restart.
"""

import hushfade as hf
from hushfade.store import Closing, Store, ledger_table, live_streams, reader, reopening
from hushfade.store.statement_deadline import ROWS, STATEMENT, Deadline
from tests.store.test_store import PLAN, batch

BUDGET = hf.Guarantee(epsilon=5, delta=1e-6)


def started(place):
    store = place.open()
    store.add_dataset("clinics", BUDGET)
    store.add_stream("late", PLAN, dataset="clinics")
    return store


def test_an_open_step_has_few_rows_however_many_batches_it_gets(place, monkeypatch):
    monkeypatch.setattr(live_streams, "GATHERED", 3)
    monkeypatch.setattr(live_streams, "_ERASED", 2)
    store = started(place)
    for sequence in range(11):
        store.accept([batch(sequence, sequence)])
        ((rows, records),) = store._database.read("SELECT COUNT(*), SUM(records) FROM batches")
        assert rows <= 3
        assert records == sum(range(sequence + 1))
    kept = store.live("late").totals.tolist(), store.live("late").records
    store.close()
    store = place.open()
    assert (store.live("late").totals.tolist(), store.live("late").records) == kept
    assert store.accept([batch(10, 10), batch(11, 1)]) == ["repeated", "accepted"]
    assert store.live("late").totals.tolist() == [kept[0][0] + batch(11, 1).units[0]]
    store.close_step("late", 1, closed=0)
    assert store._database.read("SELECT * FROM batches") == []


def test_a_stream_with_very_many_rows_is_loaded_in_small_statements(place, monkeypatch):
    """Each statement has a time limit, so a statement for all rows could never end."""
    store = started(place)
    stream = store.live("late").number
    with store._database.transaction():
        for sql in (
            "INSERT INTO batches (stream, number, records, lanes, units) VALUES (?, ?, 1, ?, ?)",
            "INSERT INTO senders (stream, sender, sequence) VALUES (?, ?, 7)",
        ):
            rows = [(stream, number, bytes(8), bytes([1] + [0] * 7)) for number in range(1, 351)]
            if "senders" in sql:
                rows = [(stream, f"s{number}") for number in range(20_001)]
            store._database.write_many(sql, rows)
    store.close()
    store = place.open()
    read, most = store._database.read, []

    def counting(sql, *given):
        most.append(len(rows := read(sql, *given)))
        return rows

    monkeypatch.setattr(store._database, "read", counting)
    live = store.live("late")
    assert (live.totals.tolist(), live.records, len(live.senders)) == ([350], 350, 20_001)
    assert max(most) == 10_000
    assert live._batches == 350


def test_totals_are_read_in_small_statements_and_never_look_at_steps_twice(place, monkeypatch):
    monkeypatch.setattr(ledger_table, "_SCANNED", 2)
    store = started(place)
    for step in range(1, 8):
        store.close_step("late", step, closed=0)
    store.close()
    store = place.open()
    read, ranges = store._database.read, []

    def watching(sql, *given):
        if " kind IN " in sql:
            ranges.append(given[1] - given[0])
        return read(sql, *given)

    monkeypatch.setattr(store._database, "read", watching)
    again, known = ledger_table.Book(store._database), store.accounts()
    ranges.clear()
    assert again.accounts() == known
    assert ranges == [2, 2, 2, 2, 1]  # 9 entries
    ranges.clear()
    store.close_step("late", 8, closed=0)
    store.add_stream("next", PLAN, dataset="clinics")
    assert ranges == [1]  # the charge
    assert again.accounts() == store.accounts()
    store.verify()


def test_a_verification_keeps_few_numbers_in_memory(place, monkeypatch):
    monkeypatch.setattr(reader, "_HELD", 2 * (1 + reader._ROW) * 3)
    store = started(place)
    store.add_stream("other", PLAN, dataset="clinics")
    for step in range(1, 9):
        store.close_steps([Closing(name, step, 0) for name in ("late", "other")])
    releases, most = store.releases, []

    def counting(name, *, after, most_=most, **more):
        most_.append(more["most"])
        return releases(name, after=after, **more)

    monkeypatch.setattr(store, "releases", counting)
    assert store.verify() == 3 + 16
    assert max(most) == 3


def test_the_time_limit_is_for_some_rows_at_a_time(place, monkeypatch):
    store = started(place)
    stream = store.live("late").number
    begun, enter = [], Deadline.__enter__
    monkeypatch.setattr(Deadline, "__enter__", lambda self: begun.append(1) or enter(self))
    with store._database.transaction():
        begun.clear()
        rows = [(stream, f"s{number}") for number in range(2 * ROWS + 1)]
        store._database.write_many(
            "INSERT INTO senders (stream, sender, sequence) VALUES (?, ?, 7)", rows
        )
        assert len(begun) == 3
    ((kept,),) = store._database.read("SELECT COUNT(*) FROM senders")
    assert kept == len(rows)


def test_a_long_log_has_more_time_than_a_statement(tmp_path, monkeypatch):
    """A log as long as a large transaction must be written back before the store goes on."""
    store = Store.open(tmp_path / "releases.db")
    limits, init = [], Deadline.__init__

    def watching(self, interrupt, seconds=STATEMENT):
        limits.append(seconds)
        init(self, interrupt, seconds)

    monkeypatch.setattr(Deadline, "__init__", watching)
    store._database.settled(reopening.CHECK)
    assert limits == [reopening.CHECK]
    assert reopening.CHECK > 10 * STATEMENT
    store.close()
