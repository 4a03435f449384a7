"""The files of golden vectors: one per group of plans, one of joint plans, one of digests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hushfade as hf
from tests.golden import vectors
from tests.golden.cases import GROUPS, compositions, joints
from tests.golden.comparison import differences

FOLDER = Path(__file__).parent


def present(group: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The vectors and the digests of the plans of a group."""
    made, digests = {}, {}
    for case in GROUPS[group]():
        plan = case.plan()
        made[case.name] = vectors.vector(case, plan)
        digests[case.name] = plan.digest.hex()
    return made, digests


def present_joint() -> dict[str, Any]:
    """The vectors of joint plans, and of plans that are only composed."""
    made = {}
    for one in joints():
        joint = hf.plan_together(one.series, one.guarantee, weights=one.weights)
        made[one.name] = vectors.joint_vector(joint)
    for name, several in compositions():
        plans = [case.plan() for case in several]
        made[f"composed: {name}"] = vectors.composed_vector(plans)
    return made


def as_json(content: Any) -> Any:
    """The content as a file would give it back."""
    return json.loads(json.dumps(content))


def read(name: str) -> Any:
    """The content of a file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def group_differences(group: str) -> Iterator[str]:
    """A line per field of the plans of a group that differs, and per digest."""
    made, digests = present(group)
    yield from differences(read(group), as_json(made), group)
    yield from differences(read("digests")[group], digests, f"digests: {group}")


def joint_differences() -> Iterator[str]:
    """A line per field of the joint plans that differs."""
    yield from differences(read("joint"), as_json(present_joint()), "joint")


def all_differences() -> Iterator[str]:
    """A line per field of any file that differs."""
    for group in GROUPS:
        yield from group_differences(group)
    yield from joint_differences()


def write() -> None:
    """Write all files."""
    digests = {}
    for group in GROUPS:
        made, digests[group] = present(group)
        _save(group, made)
    _save("digests", digests)
    _save("joint", present_joint())


def _save(name: str, content: dict[str, dict[str, Any]]) -> None:
    """One line per field of a case, so that a difference shows where it is."""
    cases = []
    for case, fields in content.items():
        lines = [f'  "{field}": {json.dumps(value)}' for field, value in fields.items()]
        cases.append(f" {json.dumps(case)}: {{\n" + ",\n".join(lines) + "\n }")
    text = "{\n" + ",\n".join(cases) + "\n}\n"
    (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
