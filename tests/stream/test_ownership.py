import ctypes
import functools
import gc
import os
import signal
import sys
import traceback

import numpy as np
import pytest

from hushfade import CorrelatedNoise, Exponential, Refused, Stream, plan
from hushfade.stream import binary_container as container
from hushfade.stream import ownership, saved_state
from tests.planning.test_plan import ONE

PLAN = plan(Exponential(half_life=5), ONE)


def stream_and_step():
    stream = PLAN.start()
    stream.step(1)
    return stream, lambda: stream.step(1).value


def noise_and_step():
    noise = CorrelatedNoise(Exponential(half_life=5), 3, guarantee=ONE, norm=1.0)
    noise.next()
    return noise, lambda: float(noise.next()[0])


def fork_in_c():
    """A fork that Python's own hooks do not see, as a server written in C makes it."""
    return ctypes.PyDLL(None).fork()


def in_a_process_of_one_thread(test):
    """Run a test in a forked child.

    A fork that Python does not see leaves the interpreter's lock to threads that the child does
    not have, so a child of a process with several threads may wait for ever.
    """

    @functools.wraps(test)
    def run(*args, **named):
        child = os.fork()
        if child == 0:
            failed = 1
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(60)
                test(*args, **named)
                failed = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(failed)
        assert os.waitpid(child, 0)[1] == 0, "see the traceback of the child"

    return run


def told_by_child(fork, work):
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.write(writer, repr(work()).encode())
        except Refused:
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.close(writer)
    told = os.read(reader, 1000)
    os.close(reader)
    os.waitpid(child, 0)
    return told


@pytest.mark.parametrize("fork", [os.fork, fork_in_c])
@pytest.mark.parametrize("make", [stream_and_step, noise_and_step])
@in_a_process_of_one_thread
def test_a_forked_child_may_not_take_its_parents_steps(fork, make):
    kept, step = make()
    assert told_by_child(fork, step) == b"refused"
    assert told_by_child(fork, kept.save) == b"refused"
    step()


@pytest.mark.parametrize("fork", [os.fork, fork_in_c])
@in_a_process_of_one_thread
def test_a_forked_child_may_load_what_was_saved(fork):
    stream, _ = stream_and_step()
    data = stream.save()
    assert told_by_child(fork, lambda: Stream.load(data).step(1).step) == b"2"
    stream.step(1)
    assert told_by_child(fork, lambda: Stream.load(data).step(1).step) == b"refused"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems go by the process number")
@in_a_process_of_one_thread
def test_on_linux_a_page_tells_that_the_system_wipes():
    stream_and_step()  # marks the page of this process
    assert not isinstance(ownership._HERE, ownership.ByNumber)
    assert told_by_child(fork_in_c, lambda: ownership._HERE[0]) == b"0"
    assert ownership._HERE[0] == 1


@in_a_process_of_one_thread
def test_without_a_page_the_process_number_tells(monkeypatch):
    by_number = ownership.ByNumber()
    by_number[0] = 1
    monkeypatch.setattr(ownership, "_HERE", by_number)
    _, step = stream_and_step()
    assert told_by_child(fork_in_c, step) == b"refused"
    step()


def test_no_interrupt_leaves_the_lock_held():
    stream, _ = stream_and_step()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for delay in np.random.default_rng(1).uniform(1e-5, 3e-4, size=400):
            if not stream._sound:
                stream, _ = stream_and_step()
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                while True:
                    stream.step_total(1.0)
            except (KeyboardInterrupt, Refused):
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert not stream._turn.lock.locked()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def forged(data, identity):
    """A saved stream with another identity."""
    frame = container.opened(data, saved_state.MAGIC, "a stream")
    header = {name: of for name, of in frame.header.items() if name != "arrays"}
    arrays = container.split(frame.body, frame.header["arrays"], ("<i8", "<f8"), "a stream")
    return container.packed(saved_state.MAGIC, header | {"identity": identity.hex()}, arrays)


def test_what_nobody_can_load_is_forgotten():
    """A process that starts streams for ever, or reads forged states, must not grow by them."""
    made = plan(Exponential(half_life=5), ONE)
    began = made.start().save()  # one that is kept, so that it is there before and after
    before, in_use = len(ownership._kept), len(ownership._turns)
    for number in range(50):
        stream = made.start()
        stream.step(1)
        del stream
        Stream.load(forged(began, number.to_bytes(16, "big")))
    gc.collect()
    assert len(ownership._kept) == before
    assert len(ownership._turns) <= in_use


@pytest.mark.parametrize("make", [stream_and_step, noise_and_step])
def test_what_was_saved_is_remembered_when_all_copies_are_gone(make):
    kept, step = make()
    data, load = kept.save(), type(kept).load
    step()
    del kept, step
    gc.collect()
    with pytest.raises(Refused, match="older than the last"):
        load(data)


@pytest.mark.parametrize("make", [stream_and_step, noise_and_step])
def test_a_loaded_copy_that_took_a_step_is_remembered(make):
    kept, _ = make()
    data, load = kept.save(), type(kept).load
    ownership._kept.clear()  # as in a new process
    del kept, _
    gc.collect()
    copy = load(data)
    copy.step(1) if isinstance(copy, Stream) else copy.next()
    del copy
    gc.collect()
    with pytest.raises(Refused, match="older than the last"):
        load(data)


def test_a_withdrawn_step_is_taken_again_by_a_loaded_copy_and_never_by_an_old_one():
    made = plan(Exponential(half_life=2), ONE)
    stream = made.start()
    stream.step([1])
    data = stream.save()
    stream.step([1])  # drawn, and lost before anyone saw it
    with pytest.raises(Refused, match="older than the last released step"):
        Stream.load(data, plan=made)
    ownership.withdraw(saved_state.read(data).identity, 1)
    again = Stream.load(data, plan=made)
    assert again.step([1]).step == 2
    with pytest.raises(Refused, match="withdrawn"):
        stream.step([1])
    with pytest.raises(Refused):
        Stream.load(data, plan=made)  # the step counts from here on
