"""`hushfade run --live` with a pipe and a slow record: each line counts in the step it arrived in.

The parser is slow on demand: it stops at the line that says so until the test lets it go on.
"""

import csv
import fcntl
import os
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pytest

import hushfade as hf

SECOND = 10**9
SEED = 7
PLAN = hf.plan(hf.SlidingWindow(1), hf.Guarantee(epsilon=1, delta=1e-6))
OTHERS = 2000

SLOW = """
import os, sys
from hushfade.cli import main
from hushfade.records.live_lines import OpenSteps

add = OpenSteps.add

def slow(self, lines, **more):
    if any(b"slow" in line for line in lines):
        os.write(int(sys.argv[1]), b"!")
        os.read(int(sys.argv[2]), 1)
    return add(self, lines, **more)

OpenSteps.add = slow
"""

# the bug: a step closes at its time, and what was not parsed by then counts in the next one
AS_PARSED = """
from hushfade.records.stamped_lines import StampedLines

def before(self, due):
    while not self.ended and self.clock() < due:
        if self._readable(due):
            self._receive()
        if lines := self._arrived(None):
            yield lines

StampedLines.before = before
"""


class Stalled(Exception):
    """The machine was too slow for steps of this length."""


@dataclass
class Run:
    """A run with its pipes."""

    process: subprocess.Popen
    parsing: int  # says that the slow record is being parsed
    go_on: int

    def row(self):
        """The time at which the next step closed, and the total that was released."""
        step, closed, value, *_ = next(csv.reader([self.process.stdout.readline().decode()]))
        noise = PLAN.start(hf.UnsafeSeededNoise(SEED)).run(np.zeros(int(step)))
        total = round(float(value) - noise[-1])
        return round(datetime.fromisoformat(closed).timestamp() * SECOND), total


def displaced(every, bug=""):
    """How many of the lines that arrive during a slow record miss the step of their arrival."""
    said, say = os.pipe()
    heard, hear = os.pipe()
    words = ["run", "-", "--live", "--every", f"{every}s", "--value", "v", "--low", "0",
             "--high", "1", "--window", str(every) + "s", "--epsilon", "1", "--delta", "1e-6",
             "--unsafe-seed", str(SEED)]  # fmt: skip
    program = [sys.executable, "-c", f"{SLOW}{bug}\nmain(sys.argv[3:])", str(say), str(heard)]
    with subprocess.Popen(
        [*program, *words], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, pass_fds=(say, heard),
    ) as process:  # fmt: skip
        run = Run(process, said, hear)
        try:
            return _displaced(run, every)
        finally:
            process.kill()
            for end in (said, say, heard, hear):
                os.close(end)


def _displaced(run, every):
    feed = run.process.stdin
    feed.write(b"v,note\n")
    assert run.process.stdout.readline().startswith(b"step,")
    opened, _ = run.row()
    due = opened + every * SECOND
    feed.write(b"1,slow\n")
    assert os.read(run.parsing, 1) == b"!"
    feed.write(b"1,\n" * OTHERS)
    while struct.unpack("i", fcntl.ioctl(feed, termios.FIONREAD, b"\0" * 4))[0]:
        time.sleep(0.001)
    if time.time_ns() > due - SECOND // 10:  # they arrived, and perhaps too late
        raise Stalled
    while time.time_ns() < due + SECOND // 10:
        time.sleep(0.01)
    os.write(run.go_on, b"!")
    (closed, first), (_, second) = run.row(), run.row()
    assert closed == due
    assert first + second == 1 + OTHERS
    return second


def with_patience(bug=""):
    for every in (1, 2, 4, 8, 16, 32):
        try:
            return displaced(every, bug)
        except Stalled:
            continue
    pytest.fail("the machine stalls for more than half a minute")


def test_a_slow_record_displaces_no_other():
    assert with_patience() == 0


def test_the_test_notices_a_step_that_closes_before_its_lines_are_parsed():
    assert with_patience(AS_PARSED) == OTHERS


def test_a_closed_standard_input_is_an_error():
    words = ["run", "-", "--live", "--value", "v", "--low", "0", "--high", "1", "--window", "2",
             "--epsilon", "1", "--delta", "1e-6"]  # fmt: skip
    found = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "hushfade", *words],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert found.returncode == 5
    assert "cannot read the standard input: it is closed" in found.stderr
