"""The wall clock compared with a clock that nobody can set.

Steps close by the wall clock.  If it jumps ahead by a year, a year of steps would close at once and
the stream would then stand still for a year.  So the service trusts the wall clock only while it
advances like the monotonic clock:

    offset = wall clock - monotonic clock         the trusted offset follows slow corrections

If the offset differs from the trusted one by more than the bound, the service holds all steps until
the clock agrees again or an administrator confirms it.  Smaller corrections pass.  The trusted
offset is stored, so a restart during a jump does not hide it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

BOUND = 10.0  # seconds
_SLEW = 0.1  # the trusted offset follows by at most this many seconds per second
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SECOND = 10**9


def uptime() -> int:
    """Nanoseconds since the machine started, including the time that it slept."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic_ns() if clock is None else time.clock_gettime_ns(clock)


def boot() -> str:
    """The identity of this start of the machine; empty if it is unknown."""
    with suppress(OSError):
        return _BOOT.read_text(encoding="ascii").strip()
    return ""


@dataclass(frozen=True)
class Hold:
    """Why all steps are held."""

    reason: str  # 'jump': the clock jumped; 'behind': it is before the last release
    seconds: float  # the wall clock minus the time that it should show

    @property
    def sentence(self) -> str:
        """The reason, for the operator."""
        side = "ahead of" if self.seconds > 0 else "behind"
        than = "the last release" if self.reason == "behind" else "its expected time"
        return (
            f"the wall clock is {abs(self.seconds):.0f} s {side} {than}: no step closes until it "
            "agrees again, or an administrator confirms it with POST /v1/clock/confirm"
        )


class ClockWatch:
    """Decides whether the wall clock can be trusted.  Each look reads both clocks."""

    def __init__(
        self,
        wall: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], int] = uptime,
        *,
        bound: float = BOUND,
        boot_id: Callable[[], str] = boot,
    ) -> None:
        self._wall, self._monotonic, self._bound = wall, monotonic, round(bound * _SECOND)
        self._boot = boot_id()
        self._seen = monotonic()
        self._trusted = wall() - self._seen  # nanoseconds
        self._last_release = 0
        self.now = self._trusted + self._seen  # what the wall clock showed at the last look
        self.hold: Hold | None = None

    def resume(self, stored: str, last_release: int) -> None:
        """Continue with the trusted offset of an earlier process, and the time of its last release.

        The stored offset counts if the machine was not restarted.  Otherwise the wall clock must
        not be before the last release.
        """
        known, _, offset = stored.partition(" ")
        if known and known == self._boot and offset.lstrip("-").isdecimal():
            self._trusted = int(offset)
        else:
            self._last_release = last_release
        self.look()

    @property
    def stored(self) -> str:
        """The trusted offset, for the next process."""
        return f"{self._boot} {self._trusted}"

    @property
    def difference(self) -> float:
        """The wall clock minus the time that it should show, in seconds."""
        return (self._wall() - self._monotonic() - self._trusted) / _SECOND

    def look(self) -> Hold | None:
        """Compare the clocks; the hold, or None if the wall clock is trusted."""
        now = self._monotonic()
        elapsed, self._seen = max(0, now - self._seen), now
        wall = self.now = self._wall()
        away = wall - now - self._trusted
        if abs(away) > self._bound:
            self.hold = Hold("jump", away / _SECOND)
        elif wall < self._last_release - self._bound:
            self.hold = Hold("behind", (wall - self._last_release) / _SECOND)
        else:
            self.hold = None
            step = round(_SLEW * elapsed)
            self._trusted += max(-step, min(step, away))
        return self.hold

    def confirm(self) -> None:
        """Trust the wall clock as it is now."""
        self._seen = self._monotonic()
        self.now = self._wall()
        self._trusted = self.now - self._seen
        self._last_release = 0
        self.hold = None
