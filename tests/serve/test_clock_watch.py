from hushfade.serve.clock_watch import ClockWatch, boot, uptime

SECOND = 10**9
NOON = 1_800_000_000 * SECOND


class Clocks:
    """A wall clock and a monotonic clock that the test sets."""

    def __init__(self):
        self.wall, self.monotonic = NOON, 5 * SECOND

    def pass_(self, seconds, rate=1.0):
        """Let time pass; the wall clock runs at this rate."""
        self.monotonic += round(seconds * SECOND)
        self.wall += round(rate * seconds * SECOND)

    def watch(self, **more):
        more = {"boot_id": lambda: "boot"} | more
        return ClockWatch(lambda: self.wall, lambda: self.monotonic, **more)


def test_a_clock_that_runs_like_the_other_is_trusted_for_ever():
    clocks = Clocks()
    watch = clocks.watch()
    for _ in range(1000):
        clocks.pass_(3600)
        assert watch.look() is None


def test_slow_corrections_of_the_clock_pass():
    """ntpd corrects by 0.05 %, chrony by up to 8.3 %."""
    for rate in (1.0005, 0.9995, 1.083, 0.917):
        clocks = Clocks()
        watch = clocks.watch()
        for _ in range(20_000):
            clocks.pass_(0.5, rate)
            assert watch.look() is None, rate


def test_a_jump_within_the_bound_passes_and_one_beyond_it_is_held():
    for seconds in (9, -9, 11, -11, 3600, 10 * 365 * 86400):
        clocks = Clocks()
        watch = clocks.watch()
        clocks.wall += seconds * SECOND
        hold = watch.look()
        assert (hold is not None) == (abs(seconds) > 10), seconds
        if hold is not None:
            assert (hold.reason, hold.seconds) == ("jump", seconds)
            side = "ahead of" if seconds > 0 else "behind"
            assert f"{abs(seconds)} s {side} its expected time" in hold.sentence


def test_many_small_jumps_do_not_pass_as_one_large_one():
    clocks = Clocks()
    watch = clocks.watch()
    held = []
    for _ in range(100):
        clocks.pass_(0.5)
        clocks.wall += SECOND  # the clock runs three times as fast
        held.append(watch.look() is not None)
    assert held[-1]
    assert held.index(True) < 15


def test_a_held_clock_is_trusted_again_when_it_agrees_and_not_before():
    clocks = Clocks()
    watch = clocks.watch()
    clocks.wall += 1000 * SECOND
    for _ in range(50):
        clocks.pass_(60)
        assert watch.look() is not None  # time alone does not make it right
    clocks.wall -= 1000 * SECOND
    assert watch.look() is None


def test_a_confirmed_clock_is_trusted():
    clocks = Clocks()
    watch = clocks.watch()
    clocks.wall -= 1000 * SECOND
    assert watch.look() is not None
    watch.confirm()
    clocks.pass_(5)
    assert watch.look() is None
    clocks.wall += 1000 * SECOND
    assert watch.look() is not None


def test_the_next_process_sees_a_jump_between_the_two():
    clocks = Clocks()
    stored = clocks.watch().stored
    clocks.pass_(3600)
    again = clocks.watch()
    again.resume(stored, NOON)
    assert again.hold is None
    clocks.wall += 100 * SECOND
    again = clocks.watch()
    again.resume(stored, NOON)
    assert again.hold is not None
    again.confirm()
    later = clocks.watch()
    later.resume(again.stored, NOON)
    assert later.hold is None


def test_after_a_restart_of_the_machine_the_clock_must_not_be_before_the_last_release():
    clocks = Clocks()
    stored = clocks.watch().stored
    for given in (stored, "", "other 5", "boot x", "boot"):
        watch = clocks.watch(boot_id=lambda: "another boot")
        watch.resume(given, NOON + 3600 * SECOND)
        assert watch.hold is not None, given
        assert watch.hold.reason == "behind"
        assert "3600 s behind the last release" in watch.hold.sentence
    watch = clocks.watch(boot_id=lambda: "another boot")
    watch.resume(stored, NOON + 3600 * SECOND)
    clocks.wall += 3600 * SECOND  # the machine has found out what time it is
    clocks.monotonic += 3600 * SECOND
    assert watch.look() is None


def test_an_unknown_machine_identity_never_matches():
    clocks = Clocks()
    stored = clocks.watch(boot_id=lambda: "").stored
    watch = clocks.watch(boot_id=lambda: "")
    watch.resume(stored, NOON + 3600 * SECOND)
    assert watch.hold is not None


def test_the_real_clocks_are_read():
    assert uptime() <= uptime()
    assert isinstance(boot(), str)
    assert ClockWatch().look() is None
