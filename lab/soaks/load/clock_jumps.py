"""Clock jumps: ten years ahead for some seconds, and back."""

from __future__ import annotations

import time

from lab.findings import Finding, Part
from lab.progress import progress
from lab.soaks.load.places import directory, every_second, new_store, plan
from lab.soaks.load.served import served

YEARS = 10 * 365 * 86400 * 10**9


def clock_jumps(seconds: float) -> Part:
    """The steps that close while the clock is wrong, with a confirmation, and the control."""
    findings = []
    for build, confirmed in (
        ("as_it_is", False),
        ("as_it_is", True),
        ("trusting_the_clock", False),
    ):
        control = build != "as_it_is"
        with directory() as place:
            clock = place / "clock"
            store = new_store(place / "releases.db")
            store.add_stream("s", plan(), dataset="d", settings=every_second())
            store.close()
            with served(place / "releases.db", place, build, clock=clock) as service:
                time.sleep(2)
                before = service.ask("GET", "/v1/streams/s")[1]["step"]
                clock.write_text(str(3600 * 10**9 if confirmed else YEARS), encoding="ascii")
                time.sleep(1)
                held, _ = service.ask("GET", "/ready")
                if confirmed:
                    service.ask("POST", "/v1/clock/confirm")
                time.sleep(seconds)
                during = service.ask("GET", "/v1/streams/s")[1]["step"]
                if not confirmed:
                    clock.write_text("0", encoding="ascii")
                time.sleep(2.5)
                after = service.ask("GET", "/v1/streams/s")[1]
                ready, _ = service.ask("GET", "/ready")
        steps = during - before
        progress(f"clock, {build}, confirmed {confirmed}: {steps} steps, {held}, {after['lag']}")
        measured = (
            f"{steps} steps while the clock was wrong, /ready {held}; afterwards lag "
            f"{after['lag']}, /ready {ready}"
        )
        if confirmed:
            subject, claim = "one hour ahead, confirmed", "held, then closes the steps of the hour"
            passed = held == 503 and steps > 100 and ready == 200
        else:
            subject, claim = f"ten years ahead for {seconds:.0f} s", "at most 2 steps close"
            passed = held == 503 and steps <= 2 and abs(after["lag"]) <= 3 and ready == 200
        if control:
            subject = f"a build that trusts any clock, {subject}"
            claim, passed = (
                "many steps close, and the stream is ahead",
                steps > 10 and after["lag"] < 0,
            )
        findings.append(Finding(subject, claim, measured, passed=passed, is_bug=control))
    return Part(
        "Clock jumps",
        "The wall clock of a service with steps of one second jumps.  The bound is 10 s.",
        findings,
    )
