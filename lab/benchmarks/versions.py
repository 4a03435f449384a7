"""Two versions of hushfade, timed in turn: `python -m lab.benchmarks.versions REVISION`.

Checks out the revision to a temporary directory, runs `version_jobs` alternately in both versions,
and writes docs/results/versions.md: the ratio of the best processor times, job by job.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from lab import machine
from lab.paths import RESULTS, ROOT
from lab.progress import progress

JOBS = Path(__file__).with_name("version_jobs.py")


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks.versions")
    parser.add_argument("revision", help="the earlier version: a tag or commit")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each version")
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder:
        _git("worktree", "add", "--detach", folder, chosen.revision)
        try:
            before, after = _measured(Path(folder), chosen.rounds)
        finally:
            _git("worktree", "remove", "--force", folder)
    text = page(chosen.revision, before, after, chosen.rounds)
    (RESULTS / "versions.md").write_text(text, encoding="utf-8")
    print(text)


def page(revision: str, before: dict[str, float], after: dict[str, float], rounds: int) -> str:
    """The page for two sets of times."""
    rows = [f"| {name} | {after[name] / before[name]:.3f} |" for name in before]
    return "\n".join(
        [
            "# Speed against an earlier version",
            "",
            f"Written by `python -m lab.benchmarks.versions {revision}` on {date.today()}.",
            f"Machine: {machine.described()}.",
            "",
            f"Both versions ran in turn, {rounds} times each, in separate processes. A ratio is",
            "the best processor time of this version, divided by the best time of the earlier one.",
            "Below 1, this version is faster.",
            "",
            "| job | ratio |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def _measured(earlier: Path, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    best: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for number in range(rounds + 1):  # the first compiles the loops and is not counted
        for tree, times in zip((earlier, ROOT), best, strict=True):
            for name, seconds in _times(tree).items():
                if number > 0:
                    times[name] = min(seconds, times.get(name, seconds))
        progress(f"round {number} of {rounds}")
    return best


def _times(tree: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have bytecode
    done = subprocess.run(
        [sys.executable, str(JOBS)],
        env=environment, cwd=tree, check=True, capture_output=True, text=True,
    )  # fmt: skip
    times: dict[str, float] = json.loads(done.stdout)
    return times


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


if __name__ == "__main__":
    main()
