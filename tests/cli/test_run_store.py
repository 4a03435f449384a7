"""hushfade run --store: each day's file continues the series, with everything or nothing."""

import json
import os
import shutil
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

import hushfade as hf
from hushfade import Guarantee, Person
from hushfade.errors import Refused
from hushfade.records import Calendar
from hushfade.store import Reader, Store, fail_points
from tests.cli.command import invoke

PLAN = ["--half-life", "3", "--epsilon", "1", "--delta", "1e-6"]
STREAM = ["--store", "r.db", "--stream", "tests"]


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "key").write_bytes(bytes(range(32)))
        os.chmod(tmp_path / name / "key", 0o600)
    return tmp_path


def run(*words):
    return invoke("run", *words)


def done(*words):
    found = run(*words)
    assert found.exit_code == 0, found.output
    return found


def day(name, *rows):
    Path(name).write_text("at,who\n" + "".join(f"{at},{who}\n" for at, who in rows))
    return name


def first(file, *more, every="1d", end="2026-01-02"):
    return [file, *STREAM, "--time", "at", "--every", every, "--start", "2026-01-01", "--end", end,
            *PLAN, *more]  # fmt: skip


def content():
    """All bytes of the store's files, except SQLite's shared memory and an empty log."""
    files = sorted(Path().glob("r.db*"))
    return {p.name: p.read_bytes() for p in files if p.suffix != ".db-shm" and p.stat().st_size}


def released(store, stream="tests"):
    with_store = Store.open(store)
    try:
        return [(x.step, x.values.tobytes(), x.stddev) for x in with_store.releases(stream)]
    finally:
        with_store.close()


UNITS = {
    "person": ["--user", "who", "--person-steps", "2", "--apart", "2"],
    "within": ["--user", "who", "--within", "3"],
    "period": ["--user", "who", "--person-steps", "2", "--period", "week Europe/Vienna"],
    "record": [],
}


def test_daily_files_equal_one_run_over_all_of_them():
    # people come every day, in an order that makes the limits drop different records
    days = [f"2026-03-{d:02}" for d in range(26, 32)]  # clocks change on the 29th
    records = [
        (f"{d}T{h:02}:15+0{1 + (d >= '2026-03-29')}:00", f"p{(i * j) % 4}")
        for i, d in enumerate(days)
        for j, h in enumerate((5, 9, 1, 20))
    ]
    ends = [*days[1:], "2026-04-01"]
    offset = {d: "+01:00" if d <= "2026-03-29" else "+02:00" for d in [*days, "2026-04-01"]}
    for unit, options in UNITS.items():
        for key in ("a", "b"):
            if os.path.exists(f"{key}/key.uses"):
                os.remove(f"{key}/key.uses")
        shared = ["--time", "at", "--every", "day Europe/Vienna", "--start",
                  "2026-03-26T00:00+01:00", *PLAN, *options]  # fmt: skip
        whole = day("whole.csv", *records)
        done(whole, "--store", f"{unit}-whole.db", "--stream", "s", "--noise-key", "a/key",
             *shared, "--end", "2026-04-01T00:00+02:00")  # fmt: skip
        for i, (start, end) in enumerate(zip(days, ends, strict=True)):
            one = day(f"{start}.csv", *(r for r in records if r[0].startswith(start)))
            more = shared if i == 0 else []
            done(one, "--store", f"{unit}-daily.db", "--stream", "s", "--noise-key", "b/key",
                 *more, "--end", f"{end}T00:00{offset[end]}")  # fmt: skip
        assert released(f"{unit}-daily.db", "s") == released(f"{unit}-whole.db", "s"), unit


def test_persons_who_are_forgotten_would_be_noticed(monkeypatch):
    monkeypatch.setattr("hushfade.store.file_memory.Remembered.earlier", lambda *_: None)
    with pytest.raises(AssertionError, match="person"):
        test_daily_files_equal_one_run_over_all_of_them()


def test_gaps_overlaps_repeats_and_other_declarations_are_refused():
    done(*first(day("1.csv", ("2026-01-01T01:00", "ann"))))
    two = day("2.csv", ("2026-01-02T01:00", "ann"), ("2026-01-01T05:00", "bob"))
    for more, reason in (
        (["--start", "2026-01-03", "--end", "2026-01-04"], "missing"),
        (["--start", "2026-01-01", "--end", "2026-01-04"], "released already"),
        (["--end", "2026-01-02"], "released already"),
        (["--end", "2026-01-05"], "3 steps"),
        (["--steps", "2"], "--start 2026-01-02"),
        (["--end", "2026-01-03", "--time", "who"], "column 'at'"),
        (["--end", "2026-01-03", "--every", "1h"], "every"),
        (["--end", "2026-01-03", "--epsilon", "2"], "already has a plan: omit --epsilon"),
        (["--end", "2026-01-03", "--user", "who"], "had no column with the user: omit it"),
        (["--end", "2026-01-03", "--delimiter", ";"], "--delimiter must not be given"),
        (["--start", "2026-01-02"], "--store needs --end"),
        (["--end", "2026-01-03", "--epsilon", "2", "--delta", "1e-6", "--half-life", "3",
          "--every", "1d"], "a different plan, in guarantee"),
        (["--end", "2026-01-03", "--noise-key", "a/key"], "fresh noise"),
        (["--end", "2026-01-03", "--dataset", "other"], "'tests'"),
        (["--end", "2026-01-03", "--live"], "--live"),
        (["--end", "2026-01-03", "--unsafe-seed", "1"], "--unsafe-seed"),
    ):  # fmt: skip
        found = run(two, *STREAM, *more)
        assert found.exit_code != 0, more
        assert reason in " ".join(found.stderr.split()), (more, found.stderr)
    shutil.copy("1.csv", "again.csv")
    found = run("again.csv", *STREAM, "--end", "2026-01-03")
    assert found.exit_code != 0
    assert "released already, in step 1." in " ".join(found.stderr.split())
    assert len(released("r.db")) == 1
    found = done(two, *STREAM, "--end", "2026-01-03", *PLAN, "--every", "1d")
    assert "late" in found.stderr
    for name, end in (("3.csv", "2026-01-04"), ("4.csv", "2026-01-05")):
        done(day(name), *STREAM, "--end", end)  # files without records may repeat
    assert len(released("r.db")) == 4


def test_a_file_of_which_no_record_counts_closes_no_day():
    right, wrong = ("2026-01-02T01:00", "ann"), ("2025-12-30T04:05", "bob")
    plan = ["--half-life", "3", "--epsilon", "1", "--delta", "1e-6", "--every", "1d"]
    assert invoke("plan", *plan, "-o", "p.json").exit_code == 0
    begin = [*STREAM, "--time", "at", "--start", "2026-01-01", "--end", "2026-01-02"]
    for options in (plan, ["--plan", "p.json"]):
        old, one = day("old.csv", wrong), day("1.csv", ("2026-01-01T01:00", "ann"))
        for more in (["--dry-run"], [], ["-o", "out.csv", "--json"]):
            for files in ([old], [one, old]):
                found = run(*files, *begin, *options, *more)
                assert found.exit_code == 3, found.stderr
                assert "--allow-empty" in found.stderr
                assert "04:05" not in found.output
                assert "bob" not in found.output
                assert not list(Path().glob("r.db*")), "a refused first run creates no store"
        done(one, *begin, *options)
        before = content()
        next_day = [*STREAM, "--end", "2026-01-03"]
        for more in (["--dry-run"], [], ["-o", "out.csv", "--append"]):
            for files in ([old], [day("2.csv", right), old]):
                assert run(*files, *next_day, *more).exit_code == 3
                assert content() == before
        assert not os.path.exists("out.csv")
        done("2.csv", *next_day)  # the right file is still possible
        found = done(old, *STREAM, "--end", "2026-01-04", "--allow-empty")
        assert "counted no record" in found.stderr
        done(day("none.csv"), *STREAM, "--end", "2026-01-05")  # a header only
        for file in Path().glob("r.db*"):
            file.unlink()


def test_a_file_whose_records_are_beyond_the_limits_of_their_persons_is_accepted():
    once = ["--user", "who", "--person-steps", "1"]
    done(*first(day("1.csv", ("2026-01-01T01:00", "ann")), *once))
    found = done(day("2.csv", ("2026-01-02T01:00", "ann")), *STREAM, "--end", "2026-01-03")
    assert "1 beyond a person's limits" in found.stderr


def test_a_file_with_mostly_late_records_is_released_with_a_warning():
    done(*first(day("1.csv", ("2026-01-01T01:00", "ann"))))
    late, right = ("2026-01-01T02:00", "bob"), ("2026-01-02T01:00", "ann")
    for name, records, warned in (("2", [late, right], False), ("3", [late, late, right], True)):
        file = day(f"{name}.csv", *records)
        found = done(file, *STREAM, "--end", "2026-01-03", "--dry-run")
        assert ("most records of" in found.stderr) == warned


def test_an_end_before_the_start_of_a_new_series_is_reported():
    found = run(*first(day("1.csv"), end="2025-12-31"))
    assert found.exit_code == 2
    assert "--end must be a whole number of steps after the start" in found.stderr
    found = run(*first("1.csv", every="day", end="2025-12-31"))
    assert found.exit_code == 2
    assert "--end must be after the start, got 2025-12-31" in found.stderr


def test_a_wrong_stream_or_store_is_reported_and_no_store_is_made():
    one = day("1.csv", ("2026-01-01T01:00", "ann"))
    found = run(one, *STREAM, "--end", "2026-01-02")
    assert found.exit_code == 2
    assert "the store does not exist yet: correct --store, or begin" in found.stderr
    assert not os.path.exists("r.db")
    done(*first(one))
    found = run(one, "--store", "r.db", "--stream", "test", "--end", "2026-01-03")
    assert found.exit_code == 2
    assert "no stream 'test' (its only stream is 'tests'): correct --stream" in found.stderr
    found = invoke("store", "releases", "r.db", "--stream", "test")
    assert found.exit_code == 2
    assert "must be in the store, got 'test': its only stream is 'tests'" in found.stderr


def test_steps_of_one_dataset_that_begin_at_other_times_are_refused():
    """Any three days of one stream would touch four days of the other."""
    unit = Person(within=3)
    with closing(Store.open("r.db")) as store:
        store.add_dataset("big", Guarantee(9, 1e-5, protects=unit), every="1d")
    limited = ["--dataset", "big", *UNITS["within"]]
    done(*first(day("1.csv", ("2026-01-01T01:00", "ann")), *limited))
    for start, end, refused in (
        ("2026-01-01T12:00", "2026-01-02T12:00", True),
        ("2026-01-01Z", "2026-01-02Z", True),
        ("2025-12-31", "2026-01-02", False),
    ):
        words = [*first(day("2.csv"), *limited), "--dry-run"]
        for option, said in (("--stream", "b"), ("--start", start), ("--end", end)):
            words[words.index(option) + 1] = said
        found = run(*words)
        assert ("begin at the same times" in " ".join(found.stderr.split())) == refused, start
        assert run(*words[:-1]).exit_code == found.exit_code == (4 if refused else 0), start
    plan = hf.plan(hf.SlidingWindow(3), Guarantee(1, 1e-6, protects=unit), every="1d")
    with closing(Store.open("r.db")) as store:
        for start in (7, 0):
            order = Calendar(start, 86_400 * 10**9, zoned=False)
            refused = pytest.raises(Refused, match="same times") if start else nullcontext()
            with refused:
                store.add_stream("c", plan, dataset="big", limits="enforced", order=order)


def test_limits_per_person_need_a_plan_that_protects_persons():
    """The dataset would protect one record, and without it another record of its person counts."""
    for more, code in (([], 0), (["--user", "who"], 2)):
        plan = [*PLAN, "--every", "1d", "-o", f"{code}.json"]
        assert invoke("plan", *plan).exit_code == 0
        shared = ["--stream", "tests", "--time", "at", "--start", "2026-01-01", "--steps", "1"]
        made = ["--store", f"{code}.db", "--plan", f"{code}.json"]
        found = run(day("1.csv"), *made, *shared, *more)
        assert found.exit_code == code
        assert ("protects persons" in found.stderr) == bool(more)


def test_files_without_records_may_be_given_twice_but_no_file_with_records():
    one, two = day("1.csv", ("2026-01-01T01:00", "ann")), day("2.csv")
    for name in ("3.csv", "4.csv"):
        day(name)
    shutil.copy(one, "again.csv")
    for more in (["--dry-run"], []):
        found = run(one, "again.csv", *first(two)[1:], *more)
        assert found.exit_code != 0
        assert "the same content" in " ".join(found.stderr.split())
        done(one, two, "3.csv", *first("4.csv"), *more)


def test_a_spent_budget_is_refused_before_any_draw():
    done(*first(day("1.csv", ("2026-01-01T01:00", "ann"))))
    words = first("1.csv", "--dataset", "tests")
    words[words.index("tests")] = "other"
    found = run(*words)
    assert found.exit_code != 0
    assert "budget" in found.stderr
    store = Store.open("r.db")
    assert store.streams() == ["tests"]
    store.close()


def test_a_file_that_a_stream_of_another_dataset_has_released_is_refused():
    def of(stream, words):
        return [stream if word == "tests" else word for word in words]

    one, two = day("1.csv", ("2026-01-01T01:00", "ann")), day("2.csv", ("2026-01-02T01:00", "bob"))
    done(*first(one, "--budget-epsilon", "3"))
    shutil.copy(one, "copy.csv")
    for file in (one, "copy.csv"):
        for more in (["--dry-run"], [], ["--dataset", "other"], ["--budget-epsilon", "9"]):
            found = run(*of("b", first(file)), *more)
            assert found.exit_code == 4, found.stderr
            said = " ".join(found.stderr.split())
            assert "stream 'tests' has released the records" in said
            assert "--dataset tests" in said
            assert "ann" not in said
    with closing(Reader.beside("r.db")) as reader:
        assert reader.streams() == ["tests"]
    done(*of("b", first(one)), "--dataset", "tests")  # one budget pays for both
    with closing(Reader.beside("r.db")) as reader:
        account = reader.accounts()["tests"]
        assert account.declared == 3
        assert account.spent_epsilon == 2
    done(*of("c", first(one)), "--different-records")
    done(two, *of("c", STREAM), "--end", "2026-01-03")
    found = run(two, *STREAM, "--end", "2026-01-03")  # also for a stream that continues
    assert found.exit_code == 4
    assert "stream 'c' has released" in " ".join(found.stderr.split())
    done(two, *STREAM, "--end", "2026-01-03", "--different-records")
    for name in "xy":  # a header only
        done(*of(name, first(day("none.csv"))))


def test_a_budget_is_declared_by_the_run_that_adds_its_dataset_and_cannot_change():
    one = day("1.csv", ("2026-01-01T01:00", "ann"))
    for more, code, reason in (
        (["--budget-delta", "1e-5"], 2, "--budget-delta needs --budget-epsilon"),
        (["--budget-epsilon", "-1"], 2, "--budget-epsilon must be > 0"),
        (["--budget-epsilon", "2", "--budget-delta", "2"], 2, "--budget-delta must be"),
        (["--budget-epsilon", "0.5"], 4, "must not be overspent"),
    ):
        for dry in (["--dry-run"], []):
            found = run(*first(one), *more, *dry)
            assert found.exit_code == code, (more, found.stderr)
            assert reason in " ".join(found.stderr.split()), (more, found.stderr)
            assert not os.path.exists("r.db")
    budget = ["--budget-epsilon", "2", "--budget-delta", "1e-5"]
    found = done(*first(one), *budget, "--dry-run")
    assert "its budget is epsilon = 2 and delta = 0.00001" in " ".join(found.stderr.split())
    done(*first(one), *budget)
    next_day = [day("2.csv", ("2026-01-02T01:00", "ann")), *STREAM, "--end", "2026-01-03"]
    for more in (["--budget-epsilon", "3"], ["--budget-epsilon", "2", "--budget-delta", "1e-6"]):
        found = run(*next_day, *more)
        assert found.exit_code == 4
        assert "a budget cannot change" in " ".join(found.stderr.split())
    done(*next_day, *budget)  # repeated, like the options of a plan
    with closing(Reader.beside("r.db")) as reader:
        account = reader.accounts()["tests"]
        assert (account.declared, account.delta) == (2, 1e-5)


def test_a_refused_stream_does_not_claim_its_noise_key():
    with closing(Store.open("r.db")) as store:
        store.add_dataset("small", Guarantee(epsilon=1, delta=1e-6))
    words = first(day("1.csv", ("2026-01-01T01:00", "ann")), "--dataset", "small")
    words += ["--noise-key", "a/key"]
    place = words.index("--epsilon") + 1
    found = run(*words[:place], "2", *words[place + 1 :])
    assert "budget" in found.stderr
    assert not os.path.exists("a/key.uses")
    done(*words)


def test_a_dry_run_changes_nothing():
    one = day("1.csv", ("2026-01-01T01:00", "ann"))
    found = done(*first(one, "--dry-run"))
    assert "would release step 1, from" in found.stderr
    assert "Adding or removing any one record" in found.stderr
    assumed = done(*first(one, "--within", "3", "--dry-run")).stderr
    assert "This assumes that each person has" in assumed
    assert not os.path.exists("r.db")
    done(*first(one))
    before = content()
    done(day("2.csv", ("2026-01-02T01:00", "ann")), *STREAM, "--end", "2026-01-03", "--dry-run")
    assert run(one, *STREAM, "--end", "2026-01-03", "--dry-run").exit_code != 0
    assert content() == before


def test_a_kill_leaves_all_or_nothing(monkeypatch):
    class Killed(BaseException):
        pass

    rows = [(f"2026-01-0{d}T01:00", "ann") for d in (1, 2, 3)]
    words = first(day("1.csv", *rows), "--noise-key", "a/key", end="2026-01-04")
    for point in ("before draw", "after draw", "before commit", "after commit", "before mark"):
        for file in list(os.listdir()):
            if file.startswith("r.db"):
                os.remove(file)
        if os.path.exists("a/key.uses"):
            os.remove("a/key.uses")
        drawn = []

        def reached(name, point=point, drawn=drawn):
            drawn.append(name)
            if name == point and "before draw" in drawn:  # opening the store commits too
                raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(fail_points, "reached", reached)
            with pytest.raises(Killed):
                run(*words)
        store = Store.open("r.db")
        committed = store.steps("tests") if store.streams() else 0
        store.close()
        assert committed == (3 if point in ("after commit", "before mark") else 0), point
        if not committed:
            done(*words)
        assert len(released("r.db")) == 3
        store = Store.open("r.db")
        assert store.verify() == 5  # dataset, charge, three steps
        store.close()


def test_the_committed_releases_can_be_written_again():
    done(*first(day("1.csv", ("2026-01-01T01:00", "ann")), "-o", "1.out.csv"))
    two = day("2.csv", ("2026-01-02T01:00", "ann"))
    done(two, *STREAM, "--end", "2026-01-03", "-o", "all.csv", "--append")
    invoke("store", "releases", "r.db", "--stream", "tests", "-o", "again.csv")
    assert Path("again.csv").read_text() == Path("all.csv").read_text()
    invoke("store", "releases", "r.db", "--stream", "tests", "--after", "1", "-o", "last.csv")
    lines = Path("all.csv").read_text().splitlines(keepends=True)
    assert Path("last.csv").read_text() == lines[0] + lines[2]
    assert Path("1.out.csv").read_text() == lines[0] + lines[1]


def test_a_second_writer_and_the_service_are_kept_out():
    done(*first(day("1.csv", ("2026-01-01T01:00", "ann"))))
    store = Store.open("r.db")
    two = day("2.csv", ("2026-01-02T01:00", "ann"))
    found = run(two, *STREAM, "--end", "2026-01-03")
    assert found.exit_code != 0
    assert "hushfade serve" in found.stderr
    with pytest.raises(Refused, match="files feed"):
        store.close_step("tests", 2, closed=0)
    store.close()


def test_the_store_contains_no_name_and_forgets_stretches_that_are_over():
    person = ["--user", "who", "--person-steps", "1", "--period", "week"]
    done(*first(day("1.csv", ("2026-01-01T01:00", "annabella")), *person))
    store = Store.open("r.db")
    assert len(store._database.read("SELECT * FROM persons")) == 1
    secrets = "SELECT secret FROM person_secrets ORDER BY stretch"
    *_, (secret,) = store._database.read(secrets)
    store.close()
    assert not any(b"annabella" in bytes_ for bytes_ in content().values())
    assert any(secret in bytes_ for bytes_ in content().values())
    with closing(Reader.beside("r.db")) as reader:  # keeps the log open
        reader.releases("tests")
        done(day("2.csv"), *STREAM, "--start", "2026-01-02", "--end", "2026-01-05")
        assert not any(secret in bytes_ for bytes_ in content().values())
    store = Store.open("r.db")
    assert store._database.read("SELECT * FROM persons") == []
    assert len(store._database.read("SELECT * FROM person_secrets")) == 1  # of the files
    store.close()


def test_keyed_noise_is_refused_after_a_new_epoch():
    """A stream that the restored copy does not contain would get its old noise again."""
    with closing(Store.open("r.db")) as store:
        store.add_dataset("big", Guarantee(epsilon=9, delta=1e-5))
    assert invoke("store", "backup", "r.db", "-o", "copy.db").exit_code == 0
    keyed = first(day("1.csv", ("2026-01-01T01:00", "ann")), "--dataset", "big")
    keyed += ["--noise-key", "a/key"]
    done(*keyed)
    assert invoke("store", "restore", "r.db", "--from", "copy.db", "--force").exit_code == 0
    with closing(Store.open("r.db", new_epoch=True)) as store:
        assert store.streams() == []
    for more in (["--dry-run"], []):
        found = run(*keyed, *more)
        assert found.exit_code != 0
        assert "new epoch" in " ".join(found.stderr.split())
    done(*keyed[:-2])  # fresh noise


def test_the_sentence_after_a_new_epoch_states_the_composed_epsilon():
    with closing(Store.open("r.db")) as store:
        store.add_dataset("big", Guarantee(epsilon=9, delta=1e-5, protects=Person(within=3)),
                          every="1d")  # fmt: skip
    limited = ["--dataset", "big", *UNITS["within"]]
    done(*first(day("1.csv", ("2026-01-01T01:00", "ann")), *limited))
    assert invoke("store", "backup", "r.db", "-o", "copy.db").exit_code == 0
    with closing(Store.open("r.db")) as store:
        store.add_dataset("later", Guarantee(1, 1e-5))
    assert invoke("store", "restore", "r.db", "--from", "copy.db", "--force").exit_code == 0
    with closing(Store.open("r.db", new_epoch=True)) as store:
        composed = store.guarantee("tests")
    assert composed.epsilon > 1.4
    found = done(day("2.csv"), *STREAM, "--end", "2026-01-03", "-o", "2.out.csv")
    said = composed.sentence("any one person's records from any three consecutive days")
    assert said in " ".join(found.stderr.split())
    invoke("store", "releases", "r.db", "--stream", "tests", "-o", "again.csv")
    for file in ("2.out.csv", "again.csv"):
        assert json.loads(Path(f"{file}.plan.json").read_text())["guarantee"] == said


def test_no_release_is_printed_that_the_mark_does_not_know(monkeypatch):
    done(*first(day("1.csv", ("2026-01-01T01:00", "ann"))))
    shutil.copy("r.db", "older.db")

    def killed(name):
        if name == "before mark":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(fail_points, "reached", killed)
        assert run(day("2.csv"), *STREAM, "--end", "2026-01-03").exit_code != 0
    before = Path("r.db.mark").read_bytes()
    found = invoke("store", "releases", "r.db", "--stream", "tests")
    assert found.stdout.count("\n") == 3  # with the header
    assert Path("r.db.mark").read_bytes() != before
    os.replace("older.db", "r.db")
    for beside in ("r.db-wal", "r.db-shm"):
        Path(beside).unlink(missing_ok=True)
    assert "older than its mark" in " ".join(
        run("2.csv", *STREAM, "--end", "2026-01-03").stderr.split()
    )


def test_wrong_outputs_are_refused_before_the_commit():
    one = day("1.csv", ("2026-01-01T01:00", "ann"))
    for more, reason in (
        (["-o", "r.db", "--output-format", "csv"], "a file of the store"),
        (["-o", "r.db.mark", "--output-format", "csv"], "a file of the store"),
        (["-o", "out.txt"], "must end in"),
        (["--confidence", "2"], "confidence"),
    ):
        found = run(*first(one), *more)
        assert found.exit_code != 0, more
        assert reason in " ".join(found.stderr.split()), (more, found.stderr)
        with closing(Store.open("r.db")) as store:
            assert store.streams() == []
    done(*first(one, "-o", "out.csv"))
    again = ["store", "releases", "r.db", "--stream", "tests", "-o"]
    for file in ("r.db", "r.db.mark", "out.csv"):
        assert invoke(*again, file).exit_code != 0, file
    assert invoke(*again, "r.db", "--force").exit_code != 0
    assert invoke(*again, "out.csv", "--force").exit_code == 0
    with closing(Store.open("r.db")) as store:
        assert store.verify() == 3
        found = invoke(*again, "new.csv")
        assert found.exit_code != 0
        assert "another process writes" in " ".join(found.stderr.split())


def test_append_replaces_only_releases_of_its_own_stream():
    def kept(*words):
        found = run(*words, "-o", "thesis.csv", "--append")
        assert found.exit_code == 5, found.output
        assert "--force" in found.stderr

    one, two = day("1.csv", ("2026-01-01T01:00", "ann")), day("2.csv", ("2026-01-02T01:00", "ann"))
    thesis, beside = Path("thesis.csv"), Path("thesis.csv.plan.json")
    next_day = [two, *STREAM, "--end", "2026-01-03"]
    thesis.write_bytes(b"Chapter 1\r\n\xff")
    for dry in (["--dry-run"], []):
        kept(*first(one), *dry)
        assert thesis.read_bytes() == b"Chapter 1\r\n\xff"
        assert not beside.exists()
        assert not os.path.exists("r.db")
    done(*first(one), "-o", "series.csv", "--append")
    before = content()
    own = Path("series.csv.plan.json").read_text()
    others = own.replace("tests", "b"), own.replace('"digest": "', '"digest": "0')
    for text in (None, "", "{}", "[1]", "precious", "[" * 100_000, *others):
        for exists in (True, False):
            if exists:
                thesis.write_bytes(b"Chapter 1")
            else:
                thesis.unlink()
            if text is not None:
                beside.write_text(text)
            elif not exists:
                continue
            for dry in (["--dry-run"], []):
                kept(*next_day, *dry)
            assert not exists or thesis.read_bytes() == b"Chapter 1"
            assert text is None or beside.read_text() == text
    assert content() == before
    done(*next_day, "-o", "series.csv", "--append")
    assert len(Path("series.csv").read_text().splitlines()) == 3
    three = day("3.csv", ("2026-01-03T01:00", "ann"))
    done(three, *STREAM, "--end", "2026-01-04", "-o", "thesis.csv", "--append", "--force")
    assert len(thesis.read_text().splitlines()) == 4


def test_append_keeps_the_releases_of_another_stream_with_the_same_plan():
    one, two = day("1.csv", ("2026-01-01T01:00", "ann")), day("2.csv", ("2026-01-01T02:00", "bob"))
    done(*first(one), "-o", "series.csv", "--append")
    others = [*first(two), "-o", "series.csv", "--append"]
    others[others.index("tests")] = "b"
    before = {path: path.read_bytes() for path in Path().glob("series.csv*")}
    assert len(before) == 2
    assert run(*others).exit_code == 5
    done(*others[:-3])
    three = day("3.csv", ("2026-01-02T01:00", "bob"))
    other_day = [three, "--store", "r.db", "--stream", "b", "--end", "2026-01-03"]
    assert run(*other_day, "-o", "series.csv", "--append").exit_code == 5
    Path("series.csv").unlink()
    assert run(*other_day, "-o", "series.csv", "--append").exit_code == 5
    assert Path("series.csv.plan.json").read_bytes() == before[Path("series.csv.plan.json")]


def test_append_continues_after_a_crash_between_the_output_and_its_companion(monkeypatch):
    """Of the two files one appears first, and the next day's run must replace it."""
    done(*first(day("1.csv", ("2026-01-01T01:00", "ann"))))
    link, linked = os.link, []

    def dying(source, target):
        if linked:
            raise KeyboardInterrupt
        link(source, target)
        linked.append(target)

    words = ["-o", "series.csv", "--append"]
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", dying)
        two = day("2.csv", ("2026-01-02T01:00", "ann"))
        assert run(two, *STREAM, "--end", "2026-01-03", *words).exit_code == 130
    assert len(linked) == 1
    done(day("3.csv", ("2026-01-03T01:00", "ann")), *STREAM, "--end", "2026-01-04", *words)
    assert len(Path("series.csv").read_text().splitlines()) == 4
