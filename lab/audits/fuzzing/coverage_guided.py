"""Inputs guided by coverage: atheris keeps inputs that reach new edges of hushfade's code."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lab.paths import PACKAGE, ROOT

PLANTED = "lab.audits.fuzzing.planted_faults"
# Loaded at the start, so that atheris also traces modules that hushfade loads late.
TRACED = (
    "hushfade.planning.plan_file", "hushfade.stream.saved_state", "hushfade.stream.stream",
    "hushfade.crossing.memory", "hushfade.training.correlated_noise", "hushfade.cli.options",
    "hushfade.cli.explain", "hushfade.store", "hushfade.records.live_lines",
    "hushfade.records.json_lines", "hushfade.serve.app", "hushfade.releases.files", PLANTED,
)  # fmt: skip
# Numerical work, which needs no tracing.
NUMERICAL = (
    "hushfade.factors.power_series", "hushfade.factors.root_series", "hushfade.factors.zeros",
    "hushfade.factors.limit_norms", "hushfade.factors.fast_division", "hushfade.factors.columns",
    "hushfade.training.compact_taps", "hushfade.planning.piecewise_taps", "hushfade.laws",
    "hushfade.crossing.exact_probabilities", "hushfade.public.recursion",
)  # fmt: skip


def untraced() -> list[str]:
    """The modules that atheris does not trace.

    It cannot trace compiled loops.  It does not need to trace numerical work, or the code of this
    package that makes and judges the inputs.
    """
    names = [name for name in _modules(ROOT / "lab" / "audits", "lab.audits") if name != PLANTED]
    for name, file in _modules(PACKAGE, "hushfade").items():
        numerical = any(f"{name}.".startswith(f"{prefix}.") for prefix in NUMERICAL)
        if numerical or "hushfade.compiled" in file.read_text(encoding="utf-8"):
            names.append(name)
    return [*names, "hushfade.compiled"]


def _modules(folder: Path, package: str) -> dict[str, Path]:
    """The files of a package by module name, found without importing them."""
    found = {}
    for file in folder.rglob("*.py"):
        parts = file.relative_to(folder).with_suffix("").parts
        found[".".join([package, *parts]).removesuffix(".__init__")] = file
    return found


def installed() -> bool:
    """True if atheris is installed."""
    return find_spec("atheris") is not None


def load() -> None:
    """Load hushfade with traced edges; it must not have been loaded before."""
    with _atheris().instrument_imports(include=["hushfade", "lab"], exclude=untraced()):
        for name in TRACED:
            import_module(name)


def fed(watch: Any, count: int, *, number: int, folder: Path, done: Callable[[], None]) -> None:
    """Judge `count` inputs, call `done`, and exit the process."""
    from lab.audits.fuzzing.byte_changes import any_change, changed

    target, tool = watch.target, _atheris()
    seeds = folder / "seeds"
    seeds.mkdir()
    for place, data in enumerate(target.seeds):
        (seeds / f"{place:03d}").write_bytes(data)

    def judge(data: bytes) -> None:
        if watch.inputs < count:
            watch.judge(data)
            if watch.inputs >= count:
                done()

    def change(data: bytes, most: int, chosen: int) -> bytes:
        rng = random.Random(chosen)
        if rng.random() < 0.4:
            data = tool.Mutate(data, min(most, max(2 * len(data), 64)))
        else:
            data = changed(data, [any_change(rng) for _ in range(rng.choice((1, 1, 2, 3)))])
        return bytes(target.repair(data) if rng.random() < 0.7 else data)[:most]

    longest = 2 * max(map(len, target.seeds)) + 4096
    arguments = [
        "audit", f"-runs={count + len(target.seeds) + 2}", f"-seed={number}", "-timeout=0",
        f"-max_len={longest}", "-len_control=0", "-rss_limit_mb=4096",
        f"-artifact_prefix={folder}/", str(seeds),
    ]  # fmt: skip
    tool.Setup(arguments, judge, custom_mutator=change)
    tool.Fuzz()


def _atheris() -> Any:
    return import_module("atheris")
