"""Tasks that run twice at the same time, on two workers: no second value for any key and step."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.spark.cases import START, events, key_file, keyed, matrix, on_one_machine
from tests.spark.cluster import cluster
from tests.spark.conftest import Files, need_java, published

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A place in which a table and a stream were released by a cluster that speculates."""
    need_java()
    found = tmp_path_factory.mktemp("speculation")
    key_file(found)
    for name in ("table", "stream"):
        (found / name).mkdir()
    Files(found).add(events().sample(frac=1, random_state=5), START + pd.Timedelta("12h1s"))
    command = [sys.executable, "-m", "tests.spark.speculating", str(found)]
    with cluster(found) as master, (found / "driver.log").open("w") as log:
        done = subprocess.run(
            [*command, master], cwd=ROOT, stdout=log, stderr=log, timeout=400, check=False
        )
    assert done.returncode == 0, (found / "driver.log").read_text()[-3000:]
    return found


def tries(directory):
    """Which tries of each task wrote something down."""
    found = {}
    for path in directory.glob("*.parquet"):
        stage, partition, attempt, _ = re.findall(r"\d+", path.name)
        found.setdefault((stage, partition), set()).add(attempt)
    return found


@pytest.mark.parametrize("name", ["table", "stream"])
def test_a_task_that_runs_twice_at_once_draws_no_second_value(place, name):
    assert any(len(attempts) > 1 for attempts in tries(place / name).values())
    drawn = pd.concat(map(pd.read_parquet, (place / name).glob("*.parquet")))
    seen = drawn.drop_duplicates(["step", "key", "value"])
    assert len(drawn) > len(seen)
    np.testing.assert_array_equal(matrix(seen), on_one_machine(events(), keyed()))


def test_what_speculation_leaves_is_written_once(place):
    for found in (pd.read_parquet(place / "tabled"), published(place)):
        np.testing.assert_array_equal(matrix(found), on_one_machine(events(), keyed()))
