"""The files of golden vectors: one per group of plans, one of joint plans, one of digests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.golden.cases import GROUPS
from tests.golden.comparison import differences
from tests.golden.vectors import vector

FOLDER = Path(__file__).parent


def present(group: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The vectors and the digests of the plans of a group."""
    vectors, digests = {}, {}
    for case in GROUPS[group]():
        plan = case.plan()
        assert case.name not in vectors, case.name
        vectors[case.name] = vector(case, plan)
        digests[case.name] = plan.digest.hex()
    return vectors, digests


def read(name: str) -> Any:
    """The content of a file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def all_differences() -> Iterator[str]:
    """A line per field of any file that differs."""
    digests = read("digests")
    for group in GROUPS:
        vectors, of_group = present(group)
        yield from differences(read(group), json.loads(json.dumps(vectors)), group)
        yield from differences(digests[group], of_group, f"digests: {group}")


def write() -> None:
    """Write all files."""
    digests = {}
    for group in GROUPS:
        vectors, digests[group] = present(group)
        _save(group, vectors)
    _save("digests", digests)


def _save(name: str, content: dict[str, dict[str, Any]]) -> None:
    """One line per field of a case, so that a difference shows where it is."""
    cases = []
    for case, fields in content.items():
        lines = [f'  "{field}": {json.dumps(value)}' for field, value in fields.items()]
        cases.append(f" {json.dumps(case)}: {{\n" + ",\n".join(lines) + "\n }")
    text = "{\n" + ",\n".join(cases) + "\n}\n"
    (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
