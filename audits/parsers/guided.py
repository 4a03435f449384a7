"""Inputs guided by coverage: atheris keeps what reaches new edges of hushfade's code."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Loaded here in any case, so that also what is loaded late, when it is used, is traced.
TRACED = (
    "hushfade.planning.plan_file", "hushfade.stream.saved_state", "hushfade.stream.stream",
    "hushfade.crossing.memory", "hushfade.training.correlated_noise", "hushfade.cli.options",
    "hushfade.cli.explain", "hushfade.store", "hushfade.records.live_lines",
    "hushfade.records.json_lines", "hushfade.serve.app", "hushfade.releases.files",
    "audits.parsers.planted",
)  # fmt: skip
# Compiled loops cannot be traced; numerical work need not be; nor what feeds and judges.
UNTRACED = (
    "hushfade.compiled", "hushfade.crossing.step", "hushfade.crossing.sampling",
    "hushfade.training.right_inverse", "hushfade.public.recursion", "hushfade.convolve",
    "hushfade.convolve.online", "hushfade.convolve.recursive", "hushfade.convolve.stepped",
    "hushfade.records.line_blocks", "hushfade.records.limits", "hushfade.crossing.laws.gaussian",
    "hushfade.numerics.power_series", "hushfade.numerics.fft_products",
    "hushfade.factors.root_series", "hushfade.numerics.unit_disk",
    "hushfade.planning.piecewise_taps", "hushfade.numerics.fast_division",
    "hushfade.numerics.geometric_scaling", "hushfade.factors.limits",
    "hushfade.factors.compact_taps", "audits.parsers.law", "audits.parsers.changes",
    "audits.parsers.repairs", "audits.parsers.grammar", "audits.parsers.documents",
    "audits.parsers.rows", "audits.parsers.words", "audits.parsers.live", "audits.parsers.targets",
)  # fmt: skip


def installed() -> bool:
    """Is atheris here?"""
    return find_spec("atheris") is not None


def load() -> None:
    """Loads hushfade with its edges traced; nobody may have loaded it before."""
    with _atheris().instrument_imports(include=["hushfade", "audits"], exclude=list(UNTRACED)):
        for name in TRACED:
            import_module(name)


def fed(watch: Any, count: int, *, number: int, folder: Path, done: Callable[[], None]) -> None:
    """So many inputs, judged.  Does not come back: `done` is called after the last one."""
    from audits.parsers.changes import any_change, changed

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
