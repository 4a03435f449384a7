"""Runs the soak: `python -m soaks [--quick]`.

A full run writes docs/results/soak.md; a quick one kills less and is printed.  The exit code is 1
if anything was lost, or a control was not caught.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from audits.finding import Finding, Part
from audits.report import page
from benchmarks.timing import progress
from soaks import kills, logs

PAGE = Path(__file__).parents[1] / "docs" / "results" / "soak.md"


def main() -> int:
    """All parts in order, as one page; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m soaks")
    parser.add_argument("--quick", action="store_true", help="fewer kills, printed")
    quick = parser.parse_args().quick
    parts = [_killed(40 if quick else 600), _damaged(stride=997 if quick else 7)]
    text = page(parts, title="Soak", command="make soak")
    if quick:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
        progress(f"written: docs/results/{PAGE.name}")
    return 0 if all(finding.passed for part in parts for finding in part.findings) else 1


def _killed(count: int) -> Part:
    findings = []
    for name, seeded in (("noise by the step", True), ("fresh noise", False)):
        found = kills.soak(count, seeded=seeded)
        progress(f"killed, {name}: {found}")
        findings.append(
            Finding(
                f"{found.kills} kills, {name}",
                "0 lost or counted twice, 0 drawn twice, published bytes unchanged",
                f"{found.acknowledged} batches acknowledged, {found.steps} steps: {found.lost} "
                f"lost, {found.drawn_twice} drawn twice, {found.changed} changed; ledger "
                f"{'verified' if found.verified else 'BROKEN'}",
                passed=(found.lost, found.drawn_twice, found.changed) == (0, 0, 0)
                and found.verified,
            )
        )
    found = kills.soak(max(40, count // 6), seeded=False, control=True)
    progress(f"control: {found}")
    findings.append(
        Finding(
            f"a build that publishes before it commits, {found.kills} kills",
            "steps of which two values were seen",
            f"{found.drawn_twice} of {found.steps} steps",
            passed=found.drawn_twice > 0,
            is_bug=True,
        )
    )
    return Part(
        "kill -9",
        "A process accepts batches and closes steps; it is killed at random moments and at each of "
        f"{len(kills.POINTS)} points in the order of a step, and started again.",
        findings,
    )


def _damaged(*, stride: int) -> Part:
    findings = []
    for how, found in logs.damaged(3, stride=stride).items():
        progress(f"log {how}: {found}")
        findings.append(
            Finding(
                f"log {how} at {found.tried} offsets",
                "always a committed prefix, or refused",
                f"{found.prefixes} prefixes of {found.lengths} lengths, {found.refused} refused, "
                f"{found.wrong} wrong",
                passed=found.wrong == 0 and found.lengths > 2,
            )
        )
    return Part(
        "Damaged logs",
        f"The write-ahead log of a small store, damaged at every {stride}th offset.",
        findings,
    )


sys.exit(main())
