"""Mutants: hushfade's own code with one change.  The audit must detect each of them.

Seeded bugs replace methods of `Subject`.  Mutants change the lines of the package: a dropped check,
another sign, index or constant.  Each is a copy of the package, audited in a separate process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

import hushfade
from hushfade import audit as room
from hushfade.audit import QUICK
from hushfade.audit.review import BROKEN
from lab.audits.effort import Size
from lab.audits.mutations import MUTANTS, PLANS, Edit, Mutant
from lab.findings import Finding, Part
from lab.paths import PACKAGE, ROOT
from lab.progress import progress

RIGHT = "no change at all"
_COMMAND = "from lab.audits import mutants; mutants.answer()"
_SECONDS = 900
_WORKERS = 2


@dataclass(frozen=True)
class Answer:
    """The result of an audit."""

    checks: int
    failed: tuple[str, ...]  # the check of each finding that failed

    @property
    def accusing(self) -> list[str]:
        """The checks that failed without raising an error."""
        return [check for check in self.failed if check != BROKEN]

    def __str__(self) -> str:
        if not self.failed:
            return f"none of {self.checks} checks fails"
        names = ", ".join(dict.fromkeys(self.accusing)) or "all of them raise errors"
        return f"{len(self.failed)} of {self.checks} checks fail: {names}"


def part(size: Size) -> Part:
    """Every mutant with the checks that detected it, and the unchanged code."""
    with TemporaryDirectory() as directory, ThreadPoolExecutor(_WORKERS) as pool:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(_WORKERS):
            free.put(Path(directory, str(number)))

        def found(named: tuple[str, Mutant]) -> Finding:
            own = free.get()
            try:
                return sought(*named, own)
            finally:
                free.put(own)

        right = RIGHT, Mutant((), tuple(PLANS))
        findings = list(pool.map(found, [right, *MUTANTS.items()]))
    caught = sum(finding.passed is True for finding in findings[1:])
    return Part(
        "Mutants",
        "A mutant is a copy of the package with a change in one or two lines. The quick form of "
        "the audit runs in a process that has only this copy, on a plan that the change breaks. "
        "The unchanged copy runs on all of these plans. "
        f"**Mutants caught {caught} of {len(MUTANTS)}.**",
        findings,
    )


def sought(name: str, mutant: Mutant, directory: Path, extent: room.Size = QUICK) -> Finding:
    """The checks that fail on the mutant; a check that raises an error does not count.

    Without edits no check may fail.
    """
    is_bug = bool(mutant.edits)
    try:
        answer = audited(mutant.edits, mutant.plans, directory, extent)
    except subprocess.TimeoutExpired:
        shown, passed = f"no result in {_SECONDS} s", False
    except RuntimeError as error:
        error.add_note(name)
        raise
    else:
        shown, passed = str(answer), bool(answer.accusing) if is_bug else not answer.failed
    claim = "a check fails" if is_bug else "no check fails"
    finding = Finding(name, claim, shown, passed, is_bug=is_bug)
    progress(f"mutant, {name}: {finding.measurement}, {finding.verdict}")
    return finding


def audited(
    edits: Iterable[Edit], plans: Iterable[str], directory: Path, extent: room.Size
) -> Answer:
    """The result of the audit of the package with these edits.

    A copy has the package's compiled loops.  The name of each ends with a digest of its sources, so
    a copy compiles every loop again that its edits change.
    """
    home = directory / "hushfade"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(PACKAGE, home, ignore=shutil.ignore_patterns("*.pyc"))
    for file, text in edited(edits).items():
        (home / file).write_text(text, encoding="utf-8")
    paths = {"PYTHONPATH": os.pathsep.join(map(str, (directory, ROOT)))}
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND],
        input=json.dumps({"plans": list(plans), "size": asdict(extent)}),
        cwd=directory,
        env=os.environ | paths,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:]
        raise RuntimeError(f"the audit of a mutant ended with {done.returncode}: {last}")
    result = json.loads(done.stdout)
    assert Path(result["home"]).samefile(home)
    return Answer(result["checks"], tuple(result["failed"]))


def edited(edits: Iterable[Edit]) -> dict[str, str]:
    """The changed files with their new text; each old text must occur exactly once."""
    texts: dict[str, str] = {}
    for file, old, new in edits:
        text = texts.get(file) or (PACKAGE / file).read_text(encoding="utf-8")
        assert text.count(old) == 1, (
            f"{file} must have {old!r} once, has it {text.count(old)} times"
        )
        texts[file] = text.replace(old, new)
    return texts


def answer() -> None:
    """Print the result of the audit as JSON; the process of a mutant calls this."""
    job = json.load(sys.stdin)
    plans = {name: PLANS[name]() for name in job["plans"]}
    found = room.audit(plans, size=room.Size(**job["size"]))
    result = {
        "home": str(Path(hushfade.__file__).parent),
        "checks": len(found.findings),
        "failed": [finding.check for finding in found.failed],
    }
    json.dump(result, sys.stdout)
