"""hushfade run as a person uses it: files in, releases out, and everything that is refused."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hushfade as hf
from tests.cli.command import invoke

SECRET = "90210"
PRIVATE = ["--half-life", "3h", "--every", "1h", "--epsilon", "1", "--delta", "1e-6"]
HOURS = ["--time", "at", "--start", "2026-01-01", "--end", "2026-01-01T06:00"]
VALUE = ["--value", "v", "--low", "0", "--high", "2"]
SEED = ["--unsafe-seed", "7"]
EVENTS = """at,k,v,u
2026-01-01T03:10,b,1.5,ann
2026-01-01T00:10,a,1,ann
2026-01-01T00:59:59,a,7,bob
2026-01-01T05:00,x,1,cy
2025-12-31T23:59,a,1,cy
2026-01-01T06:00,a,1,cy
"""


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.csv").write_text(EVENTS)
    return tmp_path


def run(*words, text=None):
    return invoke("run", *words, text=text)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def released(plan, totals, seed=7):
    return plan.start(hf.UnsafeSeededNoise(seed)).run(np.array(totals, dtype=float))


def values(found):
    return [float(row["value"]) for row in rows(found.stdout)]


# What it does -------------------------------------------------------------------------------


def test_a_series_is_that_of_the_library():
    found = run("events.csv", *HOURS, *PRIVATE, *VALUE, *SEED)
    assert found.exit_code == 0
    plan = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(1, 1e-6), low=0, high=2)
    # by hand: 1 + 2 (clipped) in the first hour, 1.5 in the fourth, 1 in the last
    expected = released(plan, [3, 0, 0, 1.5, 0, 1])
    assert values(found) == expected.tolist()
    table = rows(found.stdout)
    assert [row["time"] for row in table][:2] == ["2026-01-01T01:00:00", "2026-01-01T02:00:00"]
    assert [float(row["stddev"]) for row in table] == plan.stddevs(6).tolist()
    assert "5 of 6" not in found.stdout
    assert "4 of 6 records counted; dropped: 2 outside the steps" in found.stderr


def test_keys_have_a_row_each_and_others_are_dropped():
    found = run("events.csv", *HOURS, *PRIVATE, *VALUE, *SEED, "--key", "k", "--keys", "a,b,c")
    plan = hf.plan(
        hf.Exponential(half_life=3), hf.Guarantee(1, 1e-6), low=0, high=2, keys=["a", "b", "c"]
    )
    totals = np.zeros((6, 3))
    totals[0, 0], totals[3, 1] = 3, 1.5
    assert values(found) == released(plan, totals).ravel().tolist()
    assert [row["key"] for row in rows(found.stdout)][:3] == ["a", "b", "c"]
    assert "1 of other keys" in found.stderr


def test_without_a_value_records_are_counted():
    found = run("events.csv", *HOURS, *PRIVATE, *SEED)
    plan = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(1, 1e-6), resolution=1)
    assert values(found) == released(plan, [2, 0, 0, 1, 0, 1]).tolist()


def test_a_person_counts_as_often_as_the_guarantee_says():
    limits = ["--user", "u", "--person-steps", "2", "--apart", "3h", "--records-per-step", "2"]
    found = run("events.csv", *HOURS, *PRIVATE, *limits, "-o", "r.csv", "--json")
    told = json.loads(found.stdout)
    assert told["not_for_publication"]["over_limit"] == 0
    # a record more may displace others of that person: the promise is for all of them
    assert told["guarantee"].startswith("Adding or removing one person with all their records")
    assert (
        "at most 2 records per step, in at most 2 steps of 1h that are at least 3 steps apart"
        in told["limits"]
    )
    assert told["unit"] == "person"
    strict = ["--user", "u", "--person-steps", "1"]
    found = run("events.csv", *HOURS, *PRIVATE, *SEED, *strict, "-o", "s.csv", "--json")
    assert json.loads(found.stdout)["not_for_publication"]["over_limit"] == 1  # ann's second


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_releases_and_their_companion_are_written_and_nothing_of_the_data(directory, ending):
    found = run("events.csv", *HOURS, *PRIVATE, *VALUE, "-o", f"r.{ending}", "--json")
    assert found.exit_code == 0
    told = json.loads((directory / f"r.{ending}.plan.json").read_text())
    assert told["steps"] == {
        "every": "1h", "start": "2026-01-01T00:00:00", "clock": "local", "count": 6,
    }  # fmt: skip
    assert "dropped" not in json.dumps(told)
    assert "records" not in {key for key in told if key != "plan"}
    report = json.loads(found.stdout)
    assert report["steps"] == 6
    assert report["plan"] == told["plan"]["digest"]
    again = run("events.csv", *HOURS, *PRIVATE, *VALUE, "-o", f"r.{ending}")
    assert again.exit_code == 5
    assert "exists" in again.stderr


def test_a_kept_plan_gives_the_same_series():
    options = ["--half-life", "3h", "--every", "1h", "--epsilon", "1", "--delta", "1e-6"]
    made = invoke("plan", *options, "--low", "0", "--high", "2", "-o", "plan.json")
    assert made.exit_code == 0
    kept = run("events.csv", *HOURS, "--every", "1h", "--value", "v", "--plan", "plan.json", *SEED)
    assert values(kept) == values(run("events.csv", *HOURS, *PRIVATE, *VALUE, *SEED))


def test_rows_are_steps_where_there_is_no_time():
    words = [*VALUE, "--window", "2", "--epsilon", "1", "--delta", "1e-6", *SEED]
    refused = run("-", *words, text="v\n1\n0\n9\n")
    assert refused.exit_code == 2
    assert "removing a row would move all later rows" in refused.stderr
    found = run("-", *words, "--neighbours", "replace", text="v\n1\n0\n9\n")
    plan = hf.plan(hf.SlidingWindow(2), hf.Guarantee(1, 1e-6, "replace"), low=0, high=2)
    assert values(found) == released(plan, [1, 0, 2]).tolist()
    assert "time" not in rows(found.stdout)[0]


def test_several_files_are_one_series(directory):
    head, *lines = EVENTS.splitlines(keepends=True)
    (directory / "one.csv").write_text(head + "".join(lines[:3]))
    (directory / "two.csv").write_text(head + "".join(lines[3:]))
    parts = run("two.csv", "one.csv", *HOURS, *PRIVATE, *VALUE, *SEED)
    assert values(parts) == values(run("events.csv", *HOURS, *PRIVATE, *VALUE, *SEED))


def test_a_public_range_that_no_steps_reach_is_refused():
    for first in ("0001-01-01", "9999-12-31"):
        Path("far.csv").write_text(f"t\n{first}\n2026-01-01\n")
        found = run("far.csv", *PRIVATE, "--time", "t", *SEED, "--public-range")
        assert found.exit_code == 2
        assert "year" in found.stderr


def test_a_public_range_is_taken_from_the_data():
    found = run("events.csv", "--time", "at", "--public-range", *PRIVATE, *VALUE, *SEED)
    assert len(rows(found.stdout)) == 8
    assert rows(found.stdout)[0]["time"] == "2026-01-01T00:00:00"  # the end of 23:00 to 24:00


def test_counting_takes_the_declared_steps_as_horizon():
    found = run("events.csv", *HOURS, "--every", "1h", "--decay", "none", "--epsilon", "1",
                "--delta", "1e-6", "-o", "r.csv")  # fmt: skip
    assert found.exit_code == 0
    with open("r.csv.plan.json", encoding="utf-8") as file:
        assert json.load(file)["plan"]["horizon"] == 6


def test_a_secret_key_makes_a_repeated_run_the_same(directory):
    (directory / "key").write_bytes(bytes(range(32)))
    keyed = ["--noise-key", "key", "--stream", "s"]
    (directory / "key").chmod(0o644)
    assert "mode 0600" in run("events.csv", *HOURS, *PRIVATE, *VALUE, *keyed).stderr
    (directory / "key").chmod(0o600)
    first, second = (run("events.csv", *HOURS, *PRIVATE, *VALUE, *keyed) for _ in range(2))
    assert first.exit_code == 0
    assert first.stdout == second.stdout
    fresh = [run("events.csv", *HOURS, *PRIVATE, *VALUE).stdout for _ in range(2)]
    assert fresh[0] != fresh[1]


def test_pictures_and_changed_values(directory):
    found = run("events.csv", *HOURS, *PRIVATE, *VALUE, "--plot", "r.svg", "-o", "r.csv",
                "--non-negative", "--whole", "--watch")  # fmt: skip
    assert found.exit_code == 0
    assert (directory / "r.svg").read_text().startswith("<?xml")
    table = rows((directory / "r.csv").read_text())
    assert all(float(row["value"]) >= 0 and float(row["value"]).is_integer() for row in table)
    told = json.loads((directory / "r.csv.plan.json").read_text())
    assert told["changed"] == ["non_negative", "whole"]


def test_lines_come_live_and_releases_go_at_once():
    words = [sys.executable, "-m", "hushfade", "run", "-", "--live", "--value", "v", "--low", "0",
             "--high", "1", "--window", "2", "--epsilon", "1", "--delta", "1e-6",
             *SEED]  # fmt: skip
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("v,w\n1,\n\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("step,value")
        first = process.stdout.readline()  # before the input ends
        process.stdin.write("1,\n\n")
        out, _ = process.communicate(timeout=60)
    plan = hf.plan(hf.SlidingWindow(2), hf.Guarantee(1, 1e-6))
    expected = released(plan, [1, 1])
    assert [float(line.split(",")[1]) for line in (first, out)] == expected.tolist()
    assert process.returncode == 0


def test_a_live_run_ends_well_before_its_input_does():
    words = [sys.executable, "-m", "hushfade", "run", "-", "--live", "--steps", "1", "--value", "v",
             "--low", "0", "--high", "1", "--window", "2", "--epsilon", "1", "--delta",
             "1e-6"]  # fmt: skip
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write("v,w\n1,\n\n")
        process.stdin.flush()
        assert process.wait(timeout=60) == 0  # while the input stays open


def test_keyed_noise_serves_one_job_under_one_name(directory):
    (directory / "key").write_bytes(bytes(range(32)))
    (directory / "key").chmod(0o600)
    keyed = ["--noise-key", "key", "--stream", "s"]
    (directory / "more.csv").write_text(EVENTS + "2026-01-01T01:00,a,1,dan\n")
    later = ["--time", "at", "--start", "2025-12-31T23:00", "--end", "2026-01-01T05:00"]
    jobs = [
        ["events.csv", *HOURS], ["more.csv", *HOURS], ["events.csv", *later],
        ["events.csv", *HOURS, "--user", "u", "--person-steps", "9"],
    ]  # fmt: skip
    noises = []
    for number, words in enumerate(jobs):
        found = run(*words, *PRIVATE, *VALUE, *keyed)
        if number:  # the name is taken by the first
            assert found.exit_code == 4
            assert "give this job another stream name" in " ".join(found.stderr.split())
            assert found.stdout == ""
            found = run(*words, *PRIVATE, *VALUE, *keyed[:-1], f"s{number}")
        seeded = values(run(*words, *PRIVATE, *VALUE, *SEED))
        noises.append(values(found)[0] - seeded[0])  # the same seed: the key's noise differs
    assert len({round(noise, 6) for noise in noises}) == len(noises)
    assert values(run(*jobs[0], *PRIVATE, *VALUE, *keyed))[0] == pytest.approx(
        noises[0] + values(run(*jobs[0], *PRIVATE, *VALUE, *SEED))[0], abs=1e-9
    )
    assert "events" not in (directory / "key.uses").read_text()
    refused = run(
        "-", "--live", *VALUE, "--window", "2", "--epsilon", "1", "--delta", "1e-6", *keyed
    )
    assert "would use the same noise" in " ".join(refused.output.split())


def test_a_known_seed_is_called_what_it_is(directory):
    found = run("events.csv", *HOURS, *PRIVATE, *VALUE, *SEED, "-o", "r.csv", "--json")
    assert json.loads(found.stdout)["guarantee"].startswith("NOT PRIVATE")
    told = json.loads((directory / "r.csv.plan.json").read_text())
    assert told["guarantee"].startswith("NOT PRIVATE")


def test_a_run_that_counts_no_record_of_a_file_is_refused_and_writes_nothing(directory):
    (directory / "old.csv").write_text("at,k,v,u\n1999-01-01T04:05,a,1,ann\n")
    (directory / "header.csv").write_text("at,k,v,u\n")
    assert invoke("plan", *PRIVATE, "--low", "0", "--high", "2", "-o", "p.json").exit_code == 0
    before = os.listdir()
    planned = ["--plan", "p.json", *HOURS, "--value", "v"]
    by_rows = ["--half-life", "3", *PRIVATE[4:], "--neighbours", "replace"]
    (directory / "key").write_bytes(bytes(range(32)))
    (directory / "key").chmod(0o600)
    for words in (
        ["old.csv", *HOURS, *PRIVATE, *VALUE],
        ["old.csv", *planned],
        ["events.csv", "old.csv", *planned],
        ["events.csv", *HOURS, *PRIVATE, *VALUE, "--key", "k", "--keys", "nowhere"],
        ["old.csv", *by_rows, *VALUE, "--key", "k", "--keys", "b"],
        ["old.csv", *planned, "--noise-key", "key", "--stream", "s"],
    ):
        for output in ([], ["-o", "r.csv"], ["-o", "r.csv", "--json"]):
            found = run(*words, *output)
            assert found.exit_code == 3, (words, found.stderr)
            assert "--allow-empty" in found.stderr
            assert "04:05" not in found.output
            assert "ann" not in found.output
            assert found.stdout == ""
        left = {name for name in os.listdir() if not name.startswith("key")}
        assert left == set(before), words
        assert not os.path.exists("key.uses"), words
        found = run(*words, "--allow-empty")
        assert found.exit_code == 0, found.stderr
    assert run("header.csv", *planned).exit_code == 0
    assert run("events.csv", "header.csv", *planned).exit_code == 0
    for text, code in ((Path("old.csv").read_text(), 3), (EVENTS, 0), ("at,k,v,u\n", 0)):
        assert run("-", *planned, text=text).exit_code == code, text


def test_a_run_warns_if_most_records_of_a_file_are_outside_the_steps(directory):
    inside, outside = "2026-01-01T01:00,a,1,ann\n", "1999-01-01T04:05,a,1,ann\n"
    for name, records in (("half", inside + outside), ("most", inside + 2 * outside)):
        (directory / f"{name}.csv").write_text("at,k,v,u\n" + records)
    found = run("half.csv", "events.csv", *HOURS, *PRIVATE, *VALUE)
    assert "Warning" not in found.stderr
    found = run("most.csv", "events.csv", *HOURS, *PRIVATE, *VALUE)
    assert found.exit_code == 0
    assert "most records of most.csv are late or outside the steps" in " ".join(
        found.stderr.split()
    )


# What is refused ----------------------------------------------------------------------------

CORPUS = {
    "nan": f"at,v\n2026-01-01,{SECRET}\n2026-01-01,nan\n",
    "infinity": "at,v\n2026-01-01,1\n2026-01-01,inf\n",
    "overflow": "at,v\n2026-01-01,1\n2026-01-01,1e999\n",
    "underscore": f"at,v\n2026-01-01,1\n2026-01-01,{SECRET}_0\n",
    "full-width": "at,v\n2026-01-01,1\n2026-01-01,１\n",
    "space": "at,v\n2026-01-01,1\n2026-01-01, 1\n",
    "empty": "at,v\n2026-01-01,1\n2026-01-01,\n",
    "words": f"at,v\n2026-01-01,1\n2026-01-01,x{SECRET}\n",
    "ragged": f"at,v\n2026-01-01,1\n2026-01-01,1,{SECRET}\n",
    "bad time": f"at,v\n2026-01-01,1\n2026-02-30T{SECRET},1\n",
    "zone": "at,v\n2026-01-01,1\n2026-01-01T00:00Z,1\n",
    "quote": f'at,v\n2026-01-01,1\n"2026-01-01,{SECRET}\n',
}


@pytest.mark.parametrize("text", CORPUS.values(), ids=CORPUS)
def test_malformed_records_are_refused_with_file_and_line_and_nothing_is_written(directory, text):
    (directory / "events.csv").write_text(text)
    found = run("events.csv", *HOURS, *PRIVATE, *VALUE, "-o", "r.csv")
    assert found.exit_code == 3
    assert found.stderr.startswith("error: events.csv, line 3")
    assert SECRET not in found.output
    assert sorted(os.listdir(directory)) == ["events.csv"]
    as_json = run("events.csv", *HOURS, *PRIVATE, *VALUE, "-o", "r.csv", "--json")
    assert json.loads(as_json.stderr)["code"] == 3


def test_binary_rubbish_and_missing_files(directory):
    (directory / "events.csv").write_bytes(b"at,v\n2026-01-01,1\n\xff\xfe,1\n")
    assert run("events.csv", *HOURS, *PRIVATE, *VALUE).exit_code == 3
    assert run("nowhere.csv", *HOURS, *PRIVATE, *VALUE).exit_code == 5
    assert run("events.csv", *HOURS, *PRIVATE, *VALUE, "-o", "no/r.csv").exit_code == 5


COMMON = [*HOURS, *PRIVATE, *VALUE]
USAGE = {
    "bounds cannot come from the data": (
        [*HOURS, *PRIVATE, "--value", "v"], "choose them without looking at the data"),
    "nor can the range": (["--time", "at", *PRIVATE, *VALUE], "would reveal the times of the"),
    "nor can the keys": ([*COMMON, "--key", "k"], "--key needs --keys or --keys-file"),
    "keys need a column": ([*COMMON, "--keys", "a,b"], "key column"),
    "a person needs limits": ([*COMMON, "--user", "u"], "--person-steps"),
    "fractions of a window": (
        [*HOURS, *VALUE, "--window", "90min", "--every", "1h", "--epsilon", "1", "--delta", "1e-6"],
        "whole number of steps"),
    "an end off the steps": (
        ["--time", "at", "--start", "2026-01-01", "--end", "2026-01-01T00:30", *PRIVATE, *VALUE],
        "whole number of steps after"),
    "no such column": (
        [*COMMON, "--user", "nobody", "--person-steps", "1"], "no column 'nobody'"),
    "steps without time": ([*VALUE, *PRIVATE], "--every needs --time"),
    "lateness in whole files": ([*COMMON, "--lateness", "1h"], "--lateness needs --live"),
    "a stream without key": ([*COMMON, "--stream", "s"], "must be given together"),
    "json without a file": ([*COMMON, "--json"], "--json needs --output"),
    "parquet on standard output": ([*COMMON, "--output-format", "parquet"], "csv or jsonl"),
    "confidence": ([*COMMON, "--confidence", "1"], "confidence must be in"),
    "no guarantee": ([*HOURS, *VALUE, "--half-life", "3", "--every", "1h"], "a guarantee must"),
    "no decay": (
        [*HOURS, *VALUE, "--every", "1h", "--epsilon", "1", "--delta", "1e-6"], "a decay must"),
    "rows and time": ([*COMMON, "--rows-per-step", "2"], "cannot be combined"),
    "the same file twice": (["./events.csv", *COMMON], "count twice"),
    "bounds without values": ([*HOURS, *PRIVATE, "--low", "0", "--high", "2"], "need --value"),
    "live from a file": ([*COMMON, "--live"], "must be only -, the standard input, with --live"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "message"), USAGE.values(), ids=USAGE)
def test_contradictions_are_refused_before_anything_is_written(directory, words, message):
    found = run("events.csv", *words)
    assert found.exit_code in (2, 3)
    assert message in " ".join(found.output.split())
    assert sorted(os.listdir(directory)) == ["events.csv"]


def test_what_is_read_is_never_overwritten(directory):
    found = run("events.csv", *COMMON, "-o", "./events.csv", "--force")
    assert found.exit_code == 2
    assert (directory / "events.csv").read_text() == EVENTS
    (directory / "r.csv.plan.json").write_text("precious")
    assert run("events.csv", *COMMON, "-o", "r.csv").exit_code == 5
    assert (directory / "r.csv.plan.json").read_text() == "precious"
    same = run("events.csv", *COMMON, "-o", "x.png", "--output-format", "csv", "--plot", "x.png")
    assert same.exit_code == 2


def test_a_plan_and_its_parts_exclude_each_other():
    invoke("plan", "--window", "2", "--epsilon", "1", "--delta", "1e-6", "-o", "plan.json")
    base = ["events.csv", *HOURS, "--every", "1h", "--plan", "plan.json"]
    assert run(*base).exit_code == 0
    for more in (
        ["--epsilon", "0.1"], ["--half-life", "3"], ["--neighbours", "replace"], ["--low", "0"],
        ["--person-steps", "2"], ["--method", "normalized"], ["--expect", "9"],
    ):  # fmt: skip
        found = run(*base, *more)
        assert found.exit_code == 2
        assert f"--plan and {more[0]} cannot be combined" in found.stderr


def test_a_value_that_may_vanish_must_be_between_the_bounds_where_values_are_replaced(directory):
    words = [*HOURS, *PRIVATE, "--value", "v", "--low", "1", "--high", "2", "--skip-empty"]
    found = run("events.csv", *words, "--neighbours", "replace")
    assert found.exit_code == 2
    assert "counts as 0" in found.stderr


@pytest.mark.parametrize(
    "decay", [["--half-life", "3h"], ["--decay", "none", "--method", "blocks"]], ids=len
)
def test_a_series_without_delta_is_released_with_its_lower_bound(decay):
    done = run("events.csv", *HOURS, *VALUE, *decay, "--every", "1h", "--epsilon", "1",
               "--delta", "0", "-o", "r.csv")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    companion = json.loads(Path("r.csv.plan.json").read_text())
    assert companion["optimum"].startswith("No mechanism with Gaussian noise has delta = 0.")
    assert len(Path("r.csv").read_text().splitlines()) == 7


def test_a_plan_is_run_with_its_own_step_only():
    def planned(name, *words):
        made = invoke("plan", *words, "--epsilon", "1", "--delta", "0", "-o", name)
        assert made.exit_code == 0

    planned("week.json", "--window", "7d", "--every", "1d")
    planned("rows.json", "--window", "7", "--every", "rows", "--neighbours", "replace")
    days = ["events.csv", "--time", "at", "--start", "2026-01-01", "--steps", "3"]
    found = run(*days, "--plan", "week.json", *SEED)
    assert len(rows(found.stdout)) == 3
    again = run(*days, "--every", "24h", "--plan", "week.json", *SEED)
    assert values(again) == values(found)
    refused = run(*days, "--every", "1h", "--plan", "week.json")
    assert refused.exit_code == 2
    assert "--every must be 1d, the plan's step, got '1h'" in refused.stderr
    planned("days.json", "--window", "7d", "--every", "1d", "--neighbours", "replace")
    by_rows = ["events.csv", "--value", "v", "--plan", "days.json"]
    refused = run(*by_rows)
    assert refused.exit_code == 2
    assert "--every must be given: the plan's step is 1d" in refused.stderr
    assert len(rows(run(*by_rows, "--every", "24h").stdout)) == 6  # each row is declared a day
    for words in (["--every", "rows"], ["--rows-per-step", "3"]):
        refused = run(*by_rows, *words)
        assert refused.exit_code == 2
        assert words[0] in refused.stderr
    refused = run(*days, "--plan", "rows.json")
    assert refused.exit_code == 2
    assert "--time must not be given: a step of this plan is a number of rows" in refused.stderr
    assert len(rows(run("events.csv", "--value", "v", "--plan", "rows.json").stdout)) == 6


def test_records_are_sorted_into_calendar_steps():
    made = invoke("plan", "--window", "7", "--every", "month Europe/Vienna", "--epsilon", "1",
                  "--delta", "0", "--neighbours", "replace", "-o", "months.json")  # fmt: skip
    assert made.exit_code == 0, made.stderr
    assert "a calendar month (Europe/Vienna)" in made.stdout
    days = ["--time", "at", "--start", "2026-01-01", "--steps", "3", "--plan", "months.json"]
    released = run("events.csv", *days)
    assert [row["time"] for row in rows(released.stdout)] == [
        f"2026-0{month}-01T00:00:00" for month in (2, 3, 4)
    ]
    late = run("events.csv", *days[:3], "2026-01-02", *days[4:])
    assert late.exit_code == 2
    assert "--start must be the beginning of a calendar month (Europe/Vienna)" in late.stderr


def test_a_person_s_records_of_any_days_or_of_a_calendar_period_are_protected():
    """Both units are renewed: a person counts again on other days, and in the next month."""
    lines = ["at,u", *(f"2026-01-{day:02}T12:00,ann" for day in (1, 1, 2, 3, 30)),
             "2026-02-01T00:00,ann", "2026-02-01T12:00,bob"]  # fmt: skip
    Path("persons.csv").write_text("\n".join(lines) + "\n")
    common = ["persons.csv", "--time", "at", "--every", "1d", "--start", "2026-01-01", "--steps",
              "40", "--user", "u", "--window", "7", "--mu", "1", "--json", "--force"]  # fmt: skip
    for unit, who, counted in (
        (["--within", "7d"], "any one person's records from any seven consecutive days", 6),
        (["--within", "3d"], "any one person's records from any three consecutive days", 6),
        (["--period", "month", "--person-steps", "2"],
         "any one person's records from the steps that begin in any calendar month (UTC)", 4),
        (["--person-steps", "2"], "one person with all their records", 3),
    ):  # fmt: skip
        told = json.loads(run(*common, *unit, "-o", "released.csv").stdout)
        assert told["guarantee"].startswith(f"Adding or removing {who} changes"), unit
        assert told["not_for_publication"]["counted"] == counted, unit
        assert told["unit"] == "person"


def test_conflicting_options_name_the_remedy():
    for words, remedy in (
        (["--within", "7", "--person-steps", "3"], "--person-steps must be left out with within"),
        (["--protect", "record", "--within", "7"], "--protect record and --within cannot be"),
        (["--period", "week"], "--person-steps must be given with a period"),
        (["--period", "year", "--person-steps", "1"], "--period must be 'day', 'week' or 'month'"),
        (["--user", "u", "--protect", "record"], "--user and --protect record cannot be combined"),
        (["--user", "u"], "--user needs a unit of privacy for persons"),
    ):
        refused = run("events.csv", *COMMON, *words)
        assert refused.exit_code == 2, words
        assert remedy in refused.stderr, words


def test_rows_follow_the_calendar_steps_that_the_caller_declares():
    made = invoke("plan", "--window", "7", "--every", "month Europe/Vienna", "--epsilon", "1",
                  "--delta", "0", "--neighbours", "replace", "-o", "months.json")  # fmt: skip
    assert made.exit_code == 0, made.stderr
    values = ["events.csv", "--value", "v", "--plan", "months.json"]
    assert "the plan's step is month Europe/Vienna" in run(*values).stderr
    assert "got 'month UTC'" in run(*values, "--every", "month").stderr
    assert len(rows(run(*values, "--every", "month Europe/Vienna").stdout)) == 6


def test_a_duration_is_no_number_of_calendar_steps():
    refused = invoke("plan", "--half-life", "90d", "--every", "month", "--epsilon", "1",
                     "--delta", "0")  # fmt: skip
    assert refused.exit_code == 2
    assert (
        "--half-life must be a number of steps, such as 7, because a calendar month"
        in refused.stderr
    )
    refused = invoke("plan", "--half-life", "3", "--every", "day Nowhere/Here", "--epsilon", "1",
                     "--delta", "0")  # fmt: skip
    assert "must name a time zone such as Europe/Vienna" in refused.stderr
