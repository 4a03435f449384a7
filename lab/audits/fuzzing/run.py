"""The runs of both engines, two processes at a time, as findings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lab.audits.effort import FULL, Size
from lab.audits.fuzzing import coverage_guided
from lab.audits.fuzzing.invariants import MEMORY, SECONDS, in_hand
from lab.audits.fuzzing.targets import CONTROLS, TARGETS
from lab.findings import Finding, Part
from lab.progress import progress

INPUTS = {True: 1_000_000, False: 6_000}  # in total, of a full and of a quick audit
SHARES = {"grammar": 0.1, "guided": 0.9}  # hypothesis is slow
PLANTED = {  # the number of inputs with which each engine must find a planted fault
    "grammar": {"crashes": 2000, "changes": 2000, "leaks": 2000, "hangs": 2000},
    "guided": {
        "crashes": 10_000, "changes": 10_000, "leaks": 10_000, "hangs": 10_000, "passages": 50_000,
    },
}  # fmt: skip
FAULTS = {"crashes": "crash", "changes": "change", "leaks": "leak", "hangs": "hang"}
WORKERS = 2
CLAIM = "a value or a refusal; no other error, no leak, no change"


@dataclass(frozen=True)
class Run:
    """The result of one target under one engine."""

    engine: str
    target: str
    results: dict[str, Any]
    edges: tuple[int, int] | None  # reached by the well-formed inputs, and at the end

    @property
    def faults(self) -> int:
        """The number of inputs that violated an invariant."""
        return sum(self.results["faults"].values())


def part(size: Size) -> Part:
    """All targets under both engines, and those with planted faults."""
    inputs = INPUTS[size == FULL]
    engines = [engine for engine in SHARES if engine == "grammar" or coverage_guided.installed()]
    runs = ran(engines, {name: inputs * share // 1000 for name, share in shares().items()})
    wanted = round(inputs * sum(SHARES[engine] for engine in engines))
    findings = [*_findings(runs), _whole(runs, wanted), *_controls(runs)]
    if "guided" not in engines:
        findings.append(Finding("guided by coverage", CLAIM, "atheris is not installed", None))
    for finding in findings:
        progress(f"parsers, {finding.subject}: {finding.measurement}, {finding.verdict}")
    return Part(
        "Parsers and loaders",
        "Two engines change well-formed inputs in many ways and mostly correct the checksums: "
        "hypothesis, and atheris, which keeps inputs that reach new edges of the code.  An input "
        f"may take {SECONDS:g} s, and the process may grow by {MEMORY >> 30} GiB.  Warnings count "
        "as errors.  After every refusal the engine checks that the state is unchanged.  Records "
        "contain marks that no message may show.  A planted fault is a bug that the engine must "
        "find.",
        findings,
    )


def shares() -> dict[str, int]:
    """The number of inputs for each target, of a thousand in total."""
    return {name: share for name, (_, share) in TARGETS.items()}


def ran(engines: Sequence[str], counts: dict[str, int], *, planted: bool = True) -> list[Run]:
    """The runs of these engines with `counts` inputs per target, and the planted faults."""
    with TemporaryDirectory() as directory, ThreadPoolExecutor(WORKERS) as threads:
        jobs = []
        for engine in engines:
            each = {name: max(1, round(n * SHARES[engine])) for name, n in counts.items()}
            if planted:
                each |= PLANTED[engine]
            for place in range(WORKERS):
                asked = [f"{n}={c}" for n, c in list(each.items())[place::WORKERS]]
                jobs.append((engine, Path(directory) / f"{engine}-{place}", asked))
        return [run for found in threads.map(_ran, jobs) for run in found]


def _ran(job: tuple[str, Path, list[str]]) -> list[Run]:
    engine, folder, asked = job
    folder.mkdir()
    command = [
        sys.executable,
        "-m",
        "lab.audits.fuzzing.child_process",
        engine,
        str(folder),
        *asked,
    ]
    with (folder / "output").open("wb") as output:
        subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=True)
    return [_read(engine, folder / name.partition("=")[0]) for name in asked]


def _read(engine: str, folder: Path) -> Run:
    """The result files of a target's process, also if it died."""
    output = (folder / "output").read_text(errors="replace")
    code = int((folder / "code").read_text())
    if code == 0 and (folder / "result.json").exists():
        results = json.loads((folder / "result.json").read_text())
    else:
        last = in_hand(folder / "last").hex() if (folder / "last").exists() else ""
        results = {
            "name": folder.name, "inputs": 0, "accepted": 0, "refused": 0, "slowest": 0.0,
            "memory": 0, "seconds": 0.0, "faults": {"death": 1},
            "examples": [[f"death: code {code}, {output[-300:]}", last]],
        }  # fmt: skip
    edges = [int(found) for found in re.findall(r"cov: (\d+)", output)]
    return Run(engine, folder.name, results, (edges[0], edges[-1]) if edges else None)


# Findings -----------------------------------------------------------------------------------


def _findings(runs: Sequence[Run]) -> Iterator[Finding]:
    for target in TARGETS:
        ours = [run for run in runs if run.target == target]
        for run in ours:
            for description, data in run.results["examples"]:
                progress(f"parsers, {run.results['name']}, {description}: {data[:4000]}")
        faults = sum(run.faults for run in ours)
        yield Finding(ours[0].results["name"], CLAIM, _measured(ours), faults == 0)


def _measured(runs: Sequence[Run]) -> str:
    counts = " + ".join(f"{run.results['inputs']:,}" for run in runs)
    read, refused = (sum(run.results[name] for run in runs) for name in ("accepted", "refused"))
    shown = f"{counts} inputs: {read:,} read, {refused:,} refused"
    for run in runs:
        if run.edges is not None:
            shown += f"; {run.edges[0]} edges, then {run.edges[1]}"
    shown += f"; slowest {max(run.results['slowest'] for run in runs):.2g} s"
    faults = [f"{count} {kind}" for run in runs for kind, count in run.results["faults"].items()]
    return f"{shown}; {', '.join(faults) or '0 faults'}"


def _whole(runs: Sequence[Run], wanted: int) -> Finding:
    ours = [run for run in runs if run.target in TARGETS]
    inputs, faults = sum(run.results["inputs"] for run in ours), sum(run.faults for run in ours)
    edges = sum(run.edges[1] for run in ours if run.edges is not None)
    memory = max(run.results["memory"] for run in ours) >> 20
    return Finding(
        "all targets",
        f"{wanted:,} inputs, 0 faults",
        f"{inputs:,} inputs, {faults} faults; {edges:,} edges; memory grew by at most {memory} MiB",
        inputs >= 0.99 * wanted and faults == 0,
    )


def _controls(runs: Sequence[Run]) -> Iterator[Finding]:
    for run in runs:
        if run.target in CONTROLS:
            kind = FAULTS.get(run.target, "crash")
            count = run.results["faults"].get(kind, 0)
            yield Finding(
                f"{run.results['name']}, {run.engine}",
                f"a {kind}",
                f"{count} in {run.results['inputs']:,} inputs",
                count > 0,
                is_bug=True,
            )
