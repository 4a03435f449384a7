"""A driver killed in the middle, and where its secret may not be found."""

import base64
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.spark.cases import (
    KEY,
    KEYS,
    START,
    STEPS,
    events,
    key_file,
    keyed,
    matrix,
    on_one_machine,
)
from tests.spark.conftest import Files, need_java, published

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A place in which a driver was killed when a batch had begun, and again when one had drawn."""
    need_java()
    found = tmp_path_factory.mktemp("killed")
    key_file(found)
    (found / "log").mkdir()
    files, records = Files(found), events()
    hours = (records["at"] - START) // pd.Timedelta("4h")
    for hour in range(3):
        clock = START + pd.Timedelta("4h") * (hour + 1)
        files.add(records[hours == hour].sample(frac=1, random_state=hour), clock)
    files.add(records.head(0), START + pd.Timedelta("16h1s"))
    killed_when(found, (found / "kept" / "offsets" / "1").exists)
    killed_when(found, lambda: any(found.glob("drawn/*/*.parquet")))
    with start(found) as last:
        assert last.wait(timeout=300) == 0
    return found


def killed_when(place, reached):
    """The driver runs until then, and is killed before the batch in hand is committed."""
    with start(place) as driver:
        wait_until(reached, driver)
        os.killpg(driver.pid, signal.SIGSTOP)  # so that nothing goes on while we look
        begun, done = (
            max(int(path.name) for path in (place / "kept" / log).glob("[0-9]*"))
            for log in ("offsets", "commits")
        )
        os.killpg(driver.pid, signal.SIGKILL)
    assert begun == done + 1
    assert driver.returncode == -signal.SIGKILL


def start(place):
    with (place / "driver.log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.spark.driver", str(place)],
            cwd=ROOT, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


def wait_until(reached, driver):
    until = time.monotonic() + 300
    while not reached():
        assert driver.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_killed_driver_that_starts_again_publishes_each_value_once_and_as_if_never_killed(place):
    found = published(place)
    assert len(found) == STEPS * len(KEYS)
    np.testing.assert_array_equal(matrix(found), on_one_machine(events(), keyed()))


def test_what_was_drawn_before_the_kill_and_what_was_drawn_after_it_are_the_same(place):
    runs = sorted((place / "drawn").glob("[0-9]*"), key=lambda run: run.stat().st_mtime)
    drawn = [
        pd.concat(map(pd.read_parquet, files))
        for files in (sorted(run.glob("*.parquet")) for run in runs)
        if files
    ]
    assert len(drawn) == 2
    cells = [set(zip(found["step"], found["key"], strict=True)) for found in drawn]
    assert cells[0] & cells[1]  # the killed driver had drawn some that were drawn again
    seen = pd.concat(drawn).drop_duplicates(["step", "key", "value"])
    np.testing.assert_array_equal(matrix(seen), on_one_machine(events(), keyed()))


def test_the_key_is_in_no_log_plan_or_checkpoint(place):
    log = (place / "driver.log").read_text()
    assert "TransformWithState" in log  # plans are in it, and lines of INFO
    assert "INFO org.apache.spark" in log
    searched = [found for found in place.rglob("*") if found.is_file() and found.name != "key"]
    assert {"kept", "log", "released"} <= {found.relative_to(place).parts[0] for found in searched}
    told = [path.name for path in searched if any(map(leaked, contents(path)))]
    assert not told


@pytest.mark.parametrize(
    "written", [bytes, bytes.hex, base64.b64encode, lambda key: base64.b64encode(b"x" + key)]
)
def test_a_key_would_be_found(written):
    text = written(KEY)
    assert leaked(b"before" + (text.encode() if isinstance(text, str) else text) + b"after")


def contents(path):
    """A file's bytes, and those of what is packed in it."""
    yield path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            yield from (packed.read(name) for name in packed.namelist())


def leaked(data):
    """Is half of the key in it, raw, in hex, or in base64 at each of the three places of a byte?"""
    for half in (KEY[:16], KEY[16:]):
        text = half.hex().encode()
        shifted = (base64.b64encode(bytes(shift) + half)[4:20] for shift in range(3))
        if any(form in data for form in (half, text, text.upper(), *shifted)):
            return True
    return False
