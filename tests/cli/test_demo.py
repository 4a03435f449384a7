import csv
import json
import math

import numpy as np
import pytest

from hushfade import demo
from hushfade.crossing.noise_sources import UnsafeSeededNoise
from tests.cli.command import invoke


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    directory = tmp_path_factory.mktemp("demo")
    return directory, invoke("demo", "--output", str(directory), "--json")


def test_the_demo_writes_events_releases_pictures_and_their_meaning(found):
    directory, ran = found
    assert ran.exit_code == 0
    report = json.loads(ran.stdout)
    names = {path.name for path in directory.iterdir()}
    assert names == {
        "flights.csv", "late.csv", "late.csv.plan.json", "cancelled.csv", "cancelled.csv.plan.json",
        "late.png", "fortnight.png", "cancelled.png", "mean-delay.csv", "mean-delay.csv.plan.json",
        "mean-delay.png", "delay-90.csv", "delay-90.csv.plan.json", "delay-90.png",
    }  # fmt: skip
    # 95 % of some 26,000 intervals that are correlated over days: 3 % either way is many deviations
    assert 0.92 < report["late"]["inside_95"] < 0.98
    # both series beat every Gaussian factorization; a week of counts has half the error
    assert report["late"]["error_factor"] / report["late"]["proven_least"] < 0.8
    assert report["late"]["share_of_the_paper"] < 0.8
    assert 0.45 < report["cancelled"]["share_of_the_paper"] < 0.5
    # windows of a week overlap, so 1095 intervals are about 156 independent ones: 5 deviations
    assert report["delays"]["mean"]["inside_95"] > 0.95 - 5 * 0.0175
    assert report["delays"]["percentile"]["inside_95"] > 0.95 - 5 * 0.0175
    assert report["delays"]["mean"]["half_width_95"] < 5  # minutes
    # one guarantee for the delays, and a late departure is in a series with its own
    assert report["delays"]["epsilon"] == 1
    assert 1 < report["epsilon_of_all"] <= 2
    assert report["delays"]["mean"]["epsilon"] + report["delays"]["percentile"]["epsilon"] <= 1.01


def test_the_delays_and_their_truth_are_about_the_last_seven_days():
    """The last week at one airport by the events themselves, with the standard library."""
    delays = demo.delays(UnsafeSeededNoise(1))
    week = sorted(
        min(max(float(row["delay"]), -31.5), 224.5)
        for row in csv.DictReader(demo.events().decode().splitlines())
        if row["hour"] >= "2013-12-25" and row["origin"] == "JFK" and row["delay"]
    )
    assert delays.mean.truth[-1, 1] == pytest.approx(sum(week) / len(week))
    assert delays.percentile.truth[-1, 1] == week[math.ceil(0.9 * len(week)) - 1]
    for series, near in ((delays.mean, 10), (delays.percentile, 60)):  # minutes, many deviations
        assert np.abs(series.released[0] - series.truth)[7:].max() < near
    counts = np.concatenate([rows.readings.count for rows in delays.mean.rows])
    assert abs(counts[-1, 1] - len(week)) < 20 * 20  # the noise of a count is about 20


def test_the_events_can_be_written_alone(tmp_path):
    ran = invoke("demo", "--data-only", "-o", str(tmp_path))
    assert ran.exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["flights.csv"]
    assert (tmp_path / "flights.csv").read_bytes() == demo.events()


def test_the_truth_is_the_decayed_count_of_the_events():
    """The last hour by the events themselves, with the standard library."""
    late = demo.late(UnsafeSeededNoise(1))
    text = demo.events().decode().splitlines()
    last = np.datetime64("2013-12-31T23")
    truth = dict.fromkeys(late.plan.keys, 0.0)
    for row in csv.DictReader(text):
        if row["delay"] and int(row["delay"]) > 15:
            age = (last - np.datetime64(row["hour"][:13])).astype(int)
            truth[row["origin"]] += 2.0 ** (-age / 24)
    assert late.truth[-1].tolist() == pytest.approx(list(truth.values()), rel=1e-9)
    cancelled = demo.cancelled(UnsafeSeededNoise(1))
    week = [row for row in text if row >= "2013-12-25" and row.endswith(",")]
    assert cancelled.truth[-1, 0] == pytest.approx(len(week))


def test_the_page_says_guarantee_accuracy_and_distance_from_the_best(tmp_path):
    page = invoke("demo", "-o", str(tmp_path)).stdout
    text = " ".join(page.split())
    assert "changes the probability of any published outcome by at most a factor of 2.72" in text
    assert "Laplace noise on the inputs has half (48 %) the error of Gaussian noise" in text
    assert "intervals contain the true value (95 % expected)" in text
    assert "One guarantee with epsilon = 1 covers both together" in text
    assert "All four series together have epsilon = 2." in text
