"""What a script is given and answers.

    given     a file of numpy arrays: for each mechanism its scores with and without the record, and
              the threshold above which the record is taken to be there; level and delta
    answered  one line of JSON: {"versions": {...}, "bounds": {mechanism: {method: number or why}}}

A bound is the library's lower bound of epsilon, which the level allows to be too high.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Given:
    """One mechanism's scores, and what is asked about them."""

    present: Any
    absent: Any
    threshold: float
    level: float
    delta: float


Method = Callable[[Given], float]


def given(path: str) -> dict[str, Given]:
    """What stands in the file, by mechanism."""
    with np.load(path) as found:
        level, delta = float(found["level"]), float(found["delta"])
        return {
            str(name): Given(
                found[f"{place} present"],
                found[f"{place} absent"],
                float(found[f"{place} threshold"]),
                level,
                delta,
            )
            for place, name in enumerate(found["names"])
        }


def answer(methods: Mapping[str, Method], libraries: Iterable[str]) -> None:
    """Every method on every mechanism of the file that is named on the command line."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    bounds = {
        name: {method: _bound(work, scores) for method, work in methods.items()}
        for name, scores in given(sys.argv[1]).items()
    }
    versions = {name: version(name) for name in libraries}
    print(json.dumps({"versions": versions, "bounds": bounds}), file=out, flush=True)


def _bound(work: Method, scores: Given) -> float | str:
    try:
        found = float(work(scores))
    except Exception as error:  # a library's trouble is told on the page
        return f"{type(error).__name__}: {error}"
    return found if np.isfinite(found) else f"{found}"
