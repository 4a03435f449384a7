"""hushfade run with a statistic: from a CSV file to releases, for every statistic."""

import csv
import io
import json
import subprocess
import sys
from datetime import date, timedelta

import numpy as np
import pytest

import hushfade as hf
from tests.cli.command import invoke

START, DAYS = date(2026, 2, 1), 10
OPTIONS = [
    "--time", "at", "--every", "1d", "--start", "2026-02-01", "--end", "2026-02-11", "--window",
    "7d", "--epsilon", "1", "--delta", "1e-6", "--unsafe-seed", "1",
]  # fmt: skip
BOUNDS = ["--low", "0", "--high", "2000"]
CASES = {
    "mean": (["--mean", "latency", *BOUNDS], hf.Mean(low=0, high=2000)),
    "share": (["--share", "result=positive"], hf.Share(of="positive")),
    "variance": (["--variance", "latency", *BOUNDS], hf.Variance(low=0, high=2000)),
    "ratio": (
        [
            "--ratio",
            "latency/size",
            "--numerator-high",
            "500",
            "--denominator-high",
            "9",
            "--largest-ratio",
            "1000",
        ],
        hf.Ratio(numerator=500, denominator=9, most=1000),
    ),
    "histogram": (["--histogram", "latency", "--edges", "0,9.5,1e3"], hf.Histogram([0, 9.5, 1e3])),
    "quantiles": (
        ["--quantiles", "latency=.5,.9", *BOUNDS, "--bins", "32"],
        hf.Quantiles([0.5, 0.9], 0, 2000, bins=32),
    ),
}


def events():
    rng = np.random.default_rng(1)
    return [
        (
            START + timedelta(days=int(rng.integers(-1, DAYS + 1))),
            str(rng.choice(["a", "b", "x"])),
            float(np.round(rng.exponential(200.0), 1)),
            str(rng.choice(["positive", "negative"])),
            int(rng.integers(1, 12)),
        )
        for _ in range(600)
    ]


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [",".join(map(str, event)) for event in events()]
    (tmp_path / "events.csv").write_text("\n".join(["at,city,latency,result,size", *lines]) + "\n")
    return tmp_path


def run(*words, text=None):
    return invoke("run", "events.csv", *OPTIONS, *words, text=text)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def read(statistic, event):
    """The record of an event."""
    if isinstance(statistic, hf.Ratio):
        return [event[2], event[4]]
    return event[3] if isinstance(statistic, hf.Share) else event[2]


def expected(statistic, keys=None):
    """The readings of a stream that takes the same records, step by step."""
    plan = hf.plan(
        hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=statistic, keys=keys,
        every="1d",
    )  # fmt: skip
    stream = plan.start(hf.UnsafeSeededNoise(1))
    releases = []
    for day in range(DAYS):
        of_day = [event for event in events() if event[0] == START + timedelta(days=day)]
        records = {key: [read(statistic, e) for e in of_day if e[1] == key] for key in keys or ()}
        releases.append(stream.step(records if keys else [read(statistic, e) for e in of_day]))
    return releases


def test_a_file_gives_the_releases_of_a_stream():
    for name, (words, statistic) in CASES.items():
        found = run(*words)
        assert found.exit_code == 0, found.stderr
        releases = expected(statistic)
        table = rows(found.stdout)
        for column in ("value", "lower", "upper"):
            written = [float(row[column]) for row in table]
            if column == "value":
                wanted = [release.value for release in releases]
            else:
                wanted = [release.interval()[column == "upper"] for release in releases]
            # a row and many rows are computed by other operations of numpy
            np.testing.assert_allclose(written, np.ravel(wanted), rtol=1e-9, err_msg=name)


def test_keys_and_outputs_are_rows():
    words, statistic = CASES["quantiles"]
    table = rows(run(*words, "--key", "city", "--keys", "a,b").stdout)
    assert [(row["key"], row["quantile"]) for row in table[:4]] == [
        ("a", "0.5"), ("a", "0.9"), ("b", "0.5"), ("b", "0.9"),
    ]  # fmt: skip
    releases = expected(statistic, ["a", "b"])
    wanted = np.ravel([release.value for release in releases])
    np.testing.assert_allclose([float(row["value"]) for row in table], wanted, rtol=1e-9)


def test_every_format_has_the_same_rows(directory):
    from pyarrow import parquet

    for words, _ in CASES.values():
        table = rows(run(*words).stdout)
        assert run(*words, "-o", "out.parquet", "--force").exit_code == 0
        assert run(*words, "-o", "out.jsonl", "--force").exit_code == 0
        read = parquet.read_table("out.parquet").to_pylist()
        lines = [json.loads(line) for line in (directory / "out.jsonl").read_text().splitlines()]
        for row, one, other in zip(table, read, lines, strict=True):
            assert float(row["value"]) == one["value"] == other["value"]
        meaning = json.loads((directory / "out.jsonl.plan.json").read_text())
        assert set(meaning["columns"]) == set(table[0])


def test_a_plan_file_has_the_statistic(directory):
    words, statistic = CASES["mean"]
    plan = hf.plan(
        hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=statistic, every="1d"
    )
    (directory / "plan.json").write_text(plan.to_json())
    time = OPTIONS[:8]
    found = invoke("run", "events.csv", *time, "--unsafe-seed", "1", "--plan", "plan.json",
        "--value", "latency")  # fmt: skip
    assert found.exit_code == 0, found.stderr
    assert found.stdout == run(*words).stdout
    refused = invoke("run", "events.csv", *time, "--plan", "plan.json", *words[:2])
    assert refused.exit_code != 0
    assert "--plan and --mean cannot be combined" in refused.stderr


def test_values_of_few_records_are_left_out():
    table = rows(run(*CASES["mean"][0], "--suppress-below", "120").stdout)
    few = [row["value"] == "" for row in table]
    assert few == [float(row["count"]) < 120 for row in table]
    assert any(few)
    assert not all(few)


def test_a_picture_is_drawn(directory):
    for name in ("mean", "histogram", "quantiles"):
        assert run(*CASES[name][0], "--plot", f"{name}.png").exit_code == 0
        assert (directory / f"{name}.png").stat().st_size > 5000


def test_live_lines_are_read_as_a_statistic():
    words = ["--window", "7", "--epsilon", "1", "--delta", "1e-6", "--unsafe-seed", "1"]
    found = subprocess.run(
        [sys.executable, "-m", "hushfade", "run", "-", "--live", *CASES["mean"][0], *words],
        input="latency,more\n100,x\n300,x\n\n200,x\n\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    plan = hf.plan(
        hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=hf.Mean(low=0, high=2000)
    )
    stream = plan.start(hf.UnsafeSeededNoise(1))
    wanted = [stream.step(records).value for records in ([100, 300], [200])]
    assert [float(row["value"]) for row in rows(found.stdout)] == wanted


def test_what_contradicts_is_refused():
    for words, message in [
        (["--mean", "latency"], "--low and --high must both be given"),
        (["--mean", "latency", "--share", "result=positive"], "cannot be combined"),
        (["--mean", "latency", "--value", "latency", *BOUNDS], "cannot be combined"),
        (["--share", "result"], "such as result=positive"),
        (["--share", "result=positive", *BOUNDS], "cannot be combined with --low or --high"),
        (["--histogram", "latency"], "--histogram needs --edges"),
        (["--histogram", "latency", "--edges", "3,2,1"], "--edges must be in increasing order"),
        (["--histogram", "latency", "--edges", "a,b,c"], "must be numbers"),
        (["--edges", "1,2,3"], "--edges needs --histogram"),
        (["--quantiles", "latency=.9,.5", *BOUNDS], "in increasing order"),
        (["--quantiles", "latency=50,90", *BOUNDS], ".9 for the 90th percentile"),
        (["--mean", "latency", *BOUNDS, "--suppress-below", "-1"], "--suppress-below must be > 0"),
        (["--mean", "latency", *BOUNDS, "--plot-label", "x"], "--plot-label needs --plot"),
        (["--mean", "latency", *BOUNDS, "--whole"], "sums, counts and histograms"),
        (["--suppress-below", "3"], "needs a statistic"),
        (["--ratio", "latency"], "such as errors/requests"),
        (["--ratio", "latency/size"], "--ratio needs --numerator-high"),
    ]:
        found = run(*words)
        assert found.exit_code != 0, words
        assert message in found.stderr, (words, found.stderr)


def test_several_key_columns_make_up_a_key():
    words = ["--mean", "latency", *BOUNDS, "--key", "city,result"]
    found = run(*words, "--keys", "a,b/positive,negative")
    assert found.exit_code == 0, found.stderr
    table = rows(found.stdout)
    keys = ["a/positive", "a/negative", "b/positive", "b/negative"]
    assert [row["key"] for row in table[:4]] == keys
    plan = hf.plan(
        hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=hf.Mean(low=0, high=2000),
        keys=keys, every="1d",
    )  # fmt: skip
    stream, wanted = plan.start(hf.UnsafeSeededNoise(1)), []
    for day in range(DAYS):
        of_day = [e for e in events() if e[0] == START + timedelta(days=day) and e[1] != "x"]
        records = {key: [e[2] for e in of_day if f"{e[1]}/{e[3]}" == key] for key in keys}
        wanted += stream.step(records).value.tolist()
    np.testing.assert_allclose([float(row["value"]) for row in table], wanted, rtol=1e-9)


def test_keys_must_fit_the_key_columns():
    words = ["--mean", "latency", *BOUNDS, "--key", "city,result", "--keys"]
    assert "2 lists" in run(*words, "a,b").stderr
    assert "2 lists" in run(*words, "a/b/c").stderr
    four = ["--share", "result=positive", "--key", "a,b,c,d", "--keys", "a/b/c/d"]
    assert "at most 3" in run(*four).stderr
