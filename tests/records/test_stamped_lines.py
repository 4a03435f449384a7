"""Lines of a real pipe, read by the real process that stamps them."""

import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
from contextlib import closing, contextmanager

import pytest

from hushfade.errors import Failed
from hushfade.records import stamped_lines as module
from hushfade.records.stamped_lines import StampedLines, SteadyClock

SECOND = 10**9
HOUR = 3600 * SECOND


@contextmanager
def piped(**settings):
    """The lines of a pipe, its clock, and the descriptor that feeds it."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as feed:
        clock = SteadyClock.set_now()
        with closing(StampedLines(reading, clock, **settings)) as lines:
            os.close(reading)
            yield lines, clock, feed


def taken(lines, due, count):
    """The first lines that arrive before the time, as many as that."""
    found = []
    for some in lines.before(due):
        found += some
        if len(found) >= count:
            return found
    return found


def test_lines_come_while_the_input_is_open():
    with piped() as (lines, clock, feed):
        feed.write(b"one\ntw")
        assert taken(lines, clock() + HOUR, 1) == [b"one\n"]
        feed.write(b"o\nthr")
        assert taken(lines, clock() + HOUR, 1) == [b"two\n"]
        assert list(lines.before(clock())) == []
        assert not lines.ended
        feed.write(b"ee")
        feed.close()
        assert list(lines.before(None)) == [[b"three"]]  # the last line may lack its end
        assert lines.ended
        assert list(lines.before(None)) == []


def test_a_line_is_stamped_when_its_last_byte_arrives():
    with piped() as (lines, clock, feed):
        feed.write(b"a\nb")
        assert taken(lines, clock() + HOUR, 1) == [b"a\n"]
        between = clock()
        feed.write(b"b\nc\n")
        assert list(lines.before(between)) == []
        assert taken(lines, clock() + HOUR, 2) == [b"bb\n", b"c\n"]


def test_what_arrived_before_the_time_comes_and_nothing_else():
    """Also if it is asked for long after, and although the pipe holds more than one read."""
    with piped() as (lines, clock, feed):
        feed.write(b"x" * 9 + b"\n")
        assert taken(lines, clock() + HOUR, 1)
        for _ in range(5):
            early = [b"%09d\n" % n for n in range(20_000)]
            feed.write(b"".join(early))
            wait_until_read(feed)
            due = clock()
            feed.write(b"later\n")
            assert [line for some in lines.before(due) for line in some] == early
            assert taken(lines, clock() + HOUR, 1) == [b"later\n"]


def wait_until_read(feed):
    """Wait until the pipe is empty: the process has read all that it held."""
    while struct.unpack("i", fcntl.ioctl(feed, termios.FIONREAD, b"\0" * 4))[0]:
        select.select([], [], [], 0.001)


def test_the_end_of_the_input_has_a_time_too():
    with piped() as (lines, clock, feed):
        feed.write(b"a\n")
        assert taken(lines, clock() + HOUR, 1) == [b"a\n"]
        due = clock()
        feed.close()
        assert list(lines.before(due)) == []
        assert not lines.ended  # it ended later
        assert list(lines.before(clock() + HOUR)) == []
        assert lines.ended


def test_at_the_bound_whoever_feeds_the_lines_waits():
    """Memory stays bounded, and no line is lost."""
    bound, line = 1 << 20, b"%09d\n"
    with piped(bound=bound) as (lines, _, feed):
        os.set_blocking(feed.fileno(), False)
        sent = 0
        # until the pipe stays full for a second; below the bound it empties, sooner or later
        while select.select([], [feed], [], 1.0 if sent >= bound else 60.0)[1]:
            first = sent // 10
            sent += feed.write(b"".join(line % n for n in range(first, first + 400)))
            assert sent % 10 == 0  # a write of at most 4096 bytes is whole or not at all
            assert sent < 8 * bound, "the process reads more than its bound"
        assert sent >= bound
        feed.close()
        assert [got for some in lines.before(None) for got in some] == [
            line % n for n in range(sent // 10)
        ]


def test_an_endless_line_is_cut_and_takes_little_memory(monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 1000)
    cut = b"x" * 1000 + b"\n"
    for data, expected in (
        (b"x" * 500_000, [cut[:-1] + b"x"]),
        (b"x" * 500_000 + b"\ny\n", [cut, b"y\n"]),
        (b"y\n" + b"x" * 1000 + b"\nz\n", [b"y\n", cut, b"z\n"]),
        (b"x" * 999 + b"\n", [cut[1:]]),
    ):
        with piped() as (lines, _, feed):
            feed.write(data)
            feed.close()
            assert [line for some in lines.before(None) for line in some] == expected
            assert len(lines._line) <= 1001


def test_a_process_that_is_killed_is_an_error_and_not_the_end_of_the_input():
    with piped() as (lines, _, feed):
        feed.write(b"a\n")
        lines._process.kill()
        with pytest.raises(Failed, match="has ended"):
            list(lines.before(None))


def test_the_process_ends_with_its_parent():
    """Killed too: nothing is left that would hold the pipe open."""
    program = (
        "import os, signal\n"
        "from hushfade.records.stamped_lines import StampedLines, SteadyClock\n"
        "lines = StampedLines(0, SteadyClock.set_now())\n"
        "print(next(lines.before(None)), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as feed:
        with subprocess.Popen(
            [sys.executable, "-c", program], stdin=reading, stdout=subprocess.PIPE
        ) as parent:
            os.close(reading)
            feed.write(b"a\n")
            assert parent.stdout.readline() == b"[b'a\\n']\n"
        closed = select.poll()
        closed.register(feed, 0)
        assert closed.poll(60_000) == [(feed.fileno(), select.POLLERR)]  # nobody reads it any more
