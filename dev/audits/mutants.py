"""Mutants: hushfade's own code with one thing changed.  The audit must notice each of them.

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
from dev.audits.effort import Size
from dev.audits.mutations import MUTANTS, PLANS, Edit, Mutant
from dev.findings import Finding, Part
from dev.paths import PACKAGE, ROOT
from dev.progress import progress
from hushfade import audit as room
from hushfade.audit import QUICK
from hushfade.audit.review import BROKEN

RIGHT = "no change at all"
_COMMAND = "from dev.audits import mutants; mutants.answer()"
_SECONDS = 900
_WORKERS = 2


@dataclass(frozen=True)
class Answer:
    """What an audit found."""

    checks: int
    failed: tuple[str, ...]  # the check of each that failed, as often as it did

    @property
    def accusing(self) -> list[str]:
        """Those of them that did not only break down."""
        return [check for check in self.failed if check != BROKEN]

    def __str__(self) -> str:
        if not self.failed:
            return f"none of {self.checks} checks fails"
        told = ", ".join(dict.fromkeys(self.accusing)) or "they only break down"
        return f"{len(self.failed)} of {self.checks} checks fail: {told}"


def part(size: Size) -> Part:
    """Every mutant with the checks that noticed it, and the code as it is."""
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
        "hushfade's own code with one thing changed in a line or two, in a copy of the package. "
        "The quick form of the audit, in a process that has that copy only, on a plan which the "
        "change breaks; the copy without a change on all of these plans. "
        f"**Mutants caught {caught} of {len(MUTANTS)}.**",
        findings,
    )


def sought(name: str, mutant: Mutant, directory: Path, extent: room.Size = QUICK) -> Finding:
    """Which checks fail; one that breaks down has noticed nothing.  Without edits none may."""
    is_bug = bool(mutant.edits)
    try:
        answer = audited(mutant.edits, mutant.plans, directory, extent)
    except subprocess.TimeoutExpired:
        shown, passed = f"no answer in {_SECONDS} s", False
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
    """What the audit says of the package with these edits.

    The copies of one directory have the same path, and keep what they compile beside it.  Loops are
    known by the digest of all of them: a copy with a changed loop compiles its own.
    """
    home = directory / "hushfade"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(PACKAGE, home, ignore=shutil.ignore_patterns("__pycache__"))
    for file, text in edited(edits).items():
        (home / file).write_text(text, encoding="utf-8")
    paths = {
        "PYTHONPATH": os.pathsep.join(map(str, (directory, ROOT))),
        "NUMBA_CACHE_DIR": str(directory / "compiled"),
    }
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
        raise RuntimeError(f"a mutant must be audited to its end, got {done.returncode}: {last}")
    told = json.loads(done.stdout)
    assert Path(told["home"]).samefile(home)
    return Answer(told["checks"], tuple(told["failed"]))


def edited(edits: Iterable[Edit]) -> dict[str, str]:
    """The files that are changed, as they are then; each old text must be there exactly once."""
    texts: dict[str, str] = {}
    for file, old, new in edits:
        text = texts.get(file) or (PACKAGE / file).read_text(encoding="utf-8")
        assert text.count(old) == 1, (
            f"{file} must have {old!r} once, has it {text.count(old)} times"
        )
        texts[file] = text.replace(old, new)
    return texts


def answer() -> None:
    """What the process of a mutant does."""
    job = json.load(sys.stdin)
    plans = {name: PLANS[name]() for name in job["plans"]}
    found = room.audit(plans, size=room.Size(**job["size"]))
    told = {
        "home": str(Path(hushfade.__file__).parent),
        "checks": len(found.findings),
        "failed": [finding.check for finding in found.failed],
    }
    json.dump(told, sys.stdout)
