"""hushfade run on records that tried to steer it: each of these has gone wrong once."""

import csv
import io
import json
import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import hushfade as hf
from hushfade.releases import rows as release_rows
from tests.cli.command import invoke

# the decay keeps one step, so that the noise of a seed cancels and units remain
PRIVATE = [
    "--weights",
    "1",
    "--every",
    "1h",
    "--epsilon",
    "1",
    "--delta",
    "1e-6",
    "--unsafe-seed",
    "7",
]
UTC = ["--start", "2026-01-01Z", "--steps", "3"]
LOCAL = ["--start", "2026-01-01", "--steps", "3"]


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(file, content, *words):
    with open(file, "w", encoding="utf-8", newline="") as out:
        out.write(content)
    return invoke("run", file, *PRIVATE, *words)


def totals(file, content, *words):
    """How many records each step has: the releases less those of a record outside the steps."""
    found, nobody = (run(file, text, *words, "--allow-empty") for text in content)
    assert (found.exit_code, nobody.exit_code) == (0, 0), found.stderr + nobody.stderr
    released, noise = (
        np.array([float(row["value"]) for row in csv.DictReader(io.StringIO(result.stdout))])
        for result in (found, nobody)
    )
    return np.rint(released - noise).tolist()


@pytest.mark.parametrize(
    "first", ["1767225600000000000.0", "1.7672256e18", '"1767225600000000000"']
)
def test_a_float_timestamp_moves_no_other_record(first):
    """The last nanosecond of the first hour, a thousand times, after one odd record."""
    outside = '{"t":1}\n'
    many = '{"t":1767229199999999999}\n' * 1000
    words = ["--time", "t", "--time-unit", "ns", *UTC]
    odd = f'{{"t":{first}}}\n'
    for content in (odd + many, many + odd):
        assert totals("events.jsonl", (content, outside), *words) == [1001, 0, 0]
    assert totals("events.jsonl", (many, outside), *words) == [1000, 0, 0]


def test_times_in_numbers_need_a_start_with_a_zone():
    found = run("events.jsonl", '{"t":1}\n', "--time", "t", "--time-unit", "ns", *LOCAL)
    assert found.exit_code == 2
    rule = "--start must have a time zone, such as 2026-01-31Z, because numeric times are UTC"
    assert rule in found.stderr


def test_a_far_year_leaves_the_other_times_as_they_are():
    outside = "t,k\n1970-01-01,a\n"
    fine = "2026-01-01T00:59:59.999999999,a\n"
    words = ["--time", "t", *LOCAL]
    for far in ("3000-01-01,a\n", "0001-01-01,a\n"):
        for rows in (far + fine, fine + far):
            assert totals("events.csv", ("t,k\n" + rows, outside), *words) == [1, 0, 0]
    bad = run("events.csv", f"t,k\n3000-01-01,a\n{fine}x,a\n", *words)
    assert bad.exit_code == 3
    assert "events.csv, line 4, column 't': must be a time" in bad.stderr


def test_objects_that_share_a_line_are_rejected_whatever_the_others_do():
    line = '{"t":"2026-01-01"}'
    for content in (line + line + "\n", line + line + '\n{"t":\n"2026-01-01"}\n'):
        found = run("events.jsonl", content, "--time", "t", *LOCAL)
        assert found.exit_code == 3
        assert "events.jsonl, line 1: must be one JSON object" in found.stderr


@pytest.mark.parametrize("blank", ["", "   ", "\u3000"])
def test_a_blank_name_is_nobodys(blank):
    words = ["--time", "t", *LOCAL, "--user", "u", "--person-steps", "1"]
    found = run("events.csv", f"t,u\n2026-01-01,ann\n2026-01-01,{blank}\n", *words)
    assert found.exit_code == 3
    assert "events.csv, line 3, column 'u': is empty, but must name the person" in found.stderr


@pytest.mark.parametrize("huge", [str(2**70), str(10**300), "1e308"])
def test_a_number_outside_the_bounds_is_clipped_whatever_its_size(huge):
    words = [
        "--time",
        "t",
        *LOCAL,
        "--value",
        "v",
        "--low",
        "-4",
        "--high",
        "4",
        "--resolution",
        "1",
    ]
    csv_text = f"t,v\n2026-01-01,{huge}\n2026-01-01T01:00,-{huge}\n"
    lines = f'{{"t":"2026-01-01","v":{huge}}}\n{{"t":"2026-01-01T01:00","v":-{huge}}}\n'
    outside = ("t,v\n1970-01-01,1\n", '{"t":"1970-01-01","v":1}\n')
    assert totals("events.csv", (csv_text, outside[0]), *words) == [4, -4, 0]
    assert totals("events.jsonl", (lines, outside[1]), *words) == [4, -4, 0]


def test_a_first_record_decides_nothing_for_keys_and_persons():
    """A key or person may be a number in one record and text in the next."""
    lines = '{"t":"2026-01-01","k":7}\n{"t":"2026-01-01","k":"7"}\n{"t":"2026-01-01","k":"x"}\n'
    words = ["--time", "t", *LOCAL, "--key", "k", "--keys", "7"]
    for content in (lines, "".join(lines.splitlines(keepends=True)[::-1])):
        outside = '{"t":"1970-01-01","k":"x"}\n'
        assert totals("events.jsonl", (content, outside), *words) == [2, 0, 0]


def test_a_byte_order_mark_in_a_record_is_part_of_its_key():
    """pyarrow dropped it at the start of a block, where a record before it would have kept it."""
    words = ["--time", "t", *LOCAL, "--key", "k", "--keys", "a"]
    outside, marked = "k,t\nx,1970-01-01\n", "\ufeffa,2026-01-01\n"
    assert totals("events.csv", ("k,t\n" + marked, outside), *words) == [0, 0, 0]
    two = "k,t\na,2026-01-01\n" + marked
    assert totals("events.csv", (two, outside), *words) == [1, 0, 0]


def test_a_file_with_another_delimiter_is_explained_and_read():
    content = "t;k;who\n2026-01-01;a,b;ann\n"
    words = ["--time", "t", *LOCAL, "--key", "k", "--keys", "a,b"]
    found = run("events.csv", content, *words)
    assert found.exit_code == 3
    assert "';' gives the columns 't', 'k', 'who'" in found.stderr
    assert "--delimiter" in found.stderr
    assert "ann" not in found.stderr
    outside = "t;k\n1970-01-01;x\n"
    keys = ["--time", "t", *LOCAL]
    assert totals("events.csv", (content, outside), *keys, "--delimiter", ";") == [1, 0, 0]
    tabs = (content.replace(";", "\t"), outside.replace(";", "\t"))
    assert totals("events.csv", tabs, *keys, "--delimiter", "\\t") == [1, 0, 0]
    for bad in (";;", '"', ""):
        found = run("events.csv", content, *keys, "--delimiter", bad)
        assert found.exit_code == 2
        assert "--delimiter must be one ASCII character" in found.stderr
    found = run("events.jsonl", "{}", *keys, "--delimiter", ";")
    assert "--delimiter must be given for CSV or TSV only" in found.stderr


def test_columns_are_named_only_if_the_first_line_is_a_header():
    words = ["--time", "t", *LOCAL, "--key", "k", "--keys", "a"]
    found = run("events.csv", "when,k\n2026-01-01,a\n", *words)
    assert "no column 't' for the time; the columns are 'when', 'k'" in found.stderr
    found = run("events.csv", "2026-01-01,k,ann\n", *words)  # no header, and a key that is a name
    assert found.exit_code == 3
    assert "ann" not in found.stderr


@contextmanager
def standard_input(lines):
    """The lines as what this process and its children read from the standard input."""
    kept = os.dup(0)
    try:
        with open("lines", "w+b") as file:
            file.write(lines.encode())
            file.seek(0)
            os.dup2(file.fileno(), 0)
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def live(lines, *words):
    with standard_input(lines):
        return invoke("run", "-", "--live", "--unsafe-seed", "7", *words)


def values(found):
    return [float(row["value"]) for row in csv.DictReader(io.StringIO(found.stdout))]


def test_a_malformed_line_ends_no_live_stream():
    words = ["--window", "1", "--epsilon", "1", "--delta", "1e-6", "--value", "v", "--low", "0"]
    words += ["--high", "1", "--input-format", "jsonl"]
    good = live('{"v":1}\n{"v":1}\n\n{"v":1}\n\n', *words)
    for wrong in ('{"v":"x"}\n', "{\n", '{"v":1}{"v":1}\n', '{"v":1e999}\n', "\xff\n"):
        found = live('{"v":1}\n' + wrong + '{"v":1}\n\n' + wrong + '{"v":1}\n\n', *words)
        assert found.exit_code == 0, found.stderr
        assert values(found) == values(good)
        assert "3 of 5 records counted; dropped: 2 malformed." in found.stderr
        assert "The first malformed line: standard input, line 2" in found.stderr
    report = json.loads(live('{"v":2}\nx\n\n', *words, "-o", "r.csv", "--json").stdout)
    assert report["not_for_publication"]["rejected"] == 1
    assert report["not_for_publication"]["first_malformed"].startswith("standard input, line 2")


def test_one_record_more_ends_no_series_at_the_largest_total(monkeypatch):
    """A plan that carries less than a hundred thousand records per step: one more stops a file
    before any release, and ends no live stream."""
    plan = hf.plan(hf.SlidingWindow(5000), hf.Guarantee(1, 1e-6), resolution=2.0**-19)
    Path("plan.json").write_text(plan.to_json())
    most = plan.grid.largest_total // plan.grid.high_unit
    assert most < 100_000
    monkeypatch.setattr(release_rows, "_PIECE", 2)
    words = ["--plan", "plan.json", "--value", "v"]
    found = []
    for count in (most, most + 1):
        Path("events.csv").write_text("t,v\n2026-01-01,1\n" + "2026-01-07,1\n" * count)
        steps = ["--time", "t", "--every", "1d", "--start", "2026-01-01", "--steps", "8"]
        found.append(invoke("run", "events.csv", *words, *steps))
        lines = '{"v":1}\n\n' + '{"v":1}\n' * count + '\n{"v":1}\n\n'
        found.append(live(lines, *words, "--input-format", "jsonl"))
        assert found[-1].exit_code == 0, found[-1].stderr
    fits, live_fits, exceeds, live_exceeds = found
    assert (fits.exit_code, len(fits.stdout.splitlines())) == (0, 9)
    assert (exceeds.exit_code, exceeds.stdout) == (2, "")
    assert "exceeds the plan's largest_total" in exceeds.stderr
    assert len(values(live_fits)) == len(values(live_exceeds)) == 3
    moved = np.subtract(values(live_exceeds), values(live_fits))
    assert np.all(np.abs(moved) <= 1.0)  # no more than the record
    assert "hushfade cut 1 totals to the plan's largest total" in live_exceeds.stderr


def test_the_method_is_in_the_panel_of_the_mechanism():
    from hushfade.cli import app

    for command in ("run", "plan"):
        (method,) = [
            option
            for option in app[command].assemble_argument_collection()
            if option.name == "--method"
        ]
        assert [panel.name for panel in method.parameter.group] == ["Mechanism"]
