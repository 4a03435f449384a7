"""The parts of the page: every input path, and the seeded bugs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from dev.findings import Finding, Part
from dev.progress import progress
from dev.soaks.neighbours import spark_path
from dev.soaks.neighbours.all_paths import all_paths, cases_of
from dev.soaks.neighbours.cases import Violation, check
from dev.soaks.neighbours.input_path import AnyPath
from dev.soaks.neighbours.seeded_bugs import BUGS

CLAIM = (
    "the units match the records; one record changes only its own contribution, and one unit of "
    "privacy changes R x by at most the sensitivity"
)


@dataclass(frozen=True)
class Size:
    """The sizes of a run."""

    cases: int  # per path
    jobs: int  # of Spark
    cases_of_job: int
    cases_of_bug: int  # the most cases until a bug must be caught


LONG = Size(cases=1600, jobs=10, cases_of_job=250, cases_of_bug=5000)
SHORT = Size(cases=40, jobs=1, cases_of_job=60, cases_of_bug=2000)
NAMES = (*all_paths(Path()), spark_path.NAME)
"""All input paths."""


def paths_part(size: Size, directory: Path, names: Sequence[str] = NAMES, first: int = 0) -> Part:
    """The cases of these input paths, from the seed `first` on."""
    findings, total = [], 0
    for name in names:
        if name == spark_path.NAME:
            total += size.jobs * size.cases_of_job
            findings.append(_of_spark(size, first))
        else:
            cases = range(first, first + cases_of(name, size.cases))
            total += len(cases)
            findings.append(_of_path(all_paths(directory)[name], cases))
    return Part(
        "Every input path",
        f"{total} random inputs, each with a neighbour: one record added, removed or changed at "
        "any position. If limits per person are enforced, there is a second neighbour without the "
        "records of one unit of privacy: a person, in one stretch of time if the unit is renewed. "
        "It must not change the totals, nor R x for three right factors, by more than the claimed "
        "sensitivity. The code that users call reads both, up to the units per step and key. "
        "Plain Python independently computes the expected units. Records have unusual fields, and "
        "in some cases one is malformed. A malformed record must stop the job before any noise is "
        "drawn. In live input it must change nothing, except that it uses up the limits of its "
        "person.",
        findings,
    )


def _of_path(path: AnyPath, cases: range) -> Finding:
    began, broken, rejected = monotonic(), list[str](), 0
    for seed in cases:
        try:
            rejected += check(path, seed)
        except Violation as violation:
            broken.append(str(violation))
    counts = f"{len(cases)} cases; {2 * len(cases) - rejected} inputs read, {rejected} rejected"
    progress(f"{path.name}: {counts}, {monotonic() - began:.0f} s")
    return _finding(path.name, counts, broken, read=rejected < 2 * len(cases))


def _of_spark(size: Size, first: int) -> Finding:
    began, broken = monotonic(), list[str]()
    with spark_path.session() as session:
        for seed in range(first, first + size.jobs):
            try:
                spark_path.check_job(session, seed, size.cases_of_job)
            except Violation as violation:
                broken.append(str(violation))
        try:
            stopped = spark_path.check_rejections(session)
        except Violation as violation:
            stopped = 0
            broken.append(str(violation))
    cases = size.jobs * size.cases_of_job
    counts = f"{cases} cases in {size.jobs} jobs; {stopped} malformed records stopped their jobs"
    progress(f"{spark_path.NAME}: {counts}, {monotonic() - began:.0f} s")
    return _finding(spark_path.NAME, counts, broken)


def _finding(name: str, counts: str, broken: list[str], *, read: bool = True) -> Finding:
    """Without violations a path passes, if it has read any input at all."""
    shown = f"{counts}; violations: {len(broken)}"
    if broken:
        shown += f", the first: {broken[0]}".replace("|", "/")
    return Finding(name, CLAIM, shown, passed=read and not broken)


def bugs_part(size: Size, directory: Path, names: Sequence[str] = NAMES) -> Part:
    """The seeded bugs in these input paths, each until a case detects it."""
    findings = []
    for bug in (bug for bug in BUGS if bug.path in names):
        seed = caught_by(bug.path, bug.planted, size.cases_of_bug, directory)
        shown = "in no case" if seed is None else f"{bug.path}, case {seed + 1}"
        findings.append(Finding(bug.name, "detected", shown, passed=seed is not None, is_bug=True))
        progress(f"{bug.name}: {shown}")
    return Part(
        "Seeded bugs",
        "Each reader has one bug. The first ten were found in hushfade. The measurement is the "
        "first case that detects the bug.",
        findings,
    )


def caught_by(
    path: str, planted: Callable[[], AbstractContextManager[None]], most: int, directory: Path
) -> int | None:
    """The seed of the first of `most` cases that detects a planted bug, or None."""
    with planted():
        if path == spark_path.NAME:
            with spark_path.session() as session:
                return _first(lambda seed: spark_path.check_job(session, seed, 50), 5)
        chosen = all_paths(directory)[path]
        return _first(lambda seed: check(chosen, seed), most)


def _first(checked: Callable[[int], object], most: int) -> int | None:
    for seed in range(most):
        try:
            checked(seed)
        except Violation:
            return seed
    return None
