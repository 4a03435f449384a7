import csv
import json

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
        "late.png", "fortnight.png", "cancelled.png",
    }  # fmt: skip
    # 95 % of some 26,000 intervals that are correlated over days: 3 % either way is many deviations
    assert 0.92 < report["late"]["inside_95"] < 0.98
    # both series beat every Gaussian factorization; a week of counts has half the error
    assert report["late"]["error_factor"] / report["late"]["proven_least"] < 0.8
    assert report["late"]["share_of_the_paper"] < 0.8
    assert 0.45 < report["cancelled"]["share_of_the_paper"] < 0.5


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
