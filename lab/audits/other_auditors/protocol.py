"""The input and the output of an auditor's script.

    input    a file of numpy arrays: for each mechanism its scores with and without the record, and
             the threshold above which the attack guesses that the record is present; level, delta
    output   one line of JSON: {"versions": {...}, "bounds": {mechanism: {method: number or why}}}

A bound is the library's lower bound on epsilon.  It is wrong with a probability of at most `level`.
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
    """One mechanism's scores, and the parameters of the bound."""

    present: Any
    absent: Any
    threshold: float
    level: float
    delta: float


Method = Callable[[Given], float]


def given(path: str) -> dict[str, Given]:
    """The contents of the file, by mechanism."""
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
    """Print the bounds of every method for every mechanism of the file on the command line."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print to standard error
    bounds = {
        name: {method: _bound(work, scores) for method, work in methods.items()}
        for name, scores in given(sys.argv[1]).items()
    }
    versions = {name: version(name) for name in libraries}
    print(json.dumps({"versions": versions, "bounds": bounds}), file=out, flush=True)


def _bound(work: Method, scores: Given) -> float | str:
    try:
        found = float(work(scores))
    except Exception as error:  # the page reports the library's error
        return f"{type(error).__name__}: {error}"
    return found if np.isfinite(found) else f"{found}"
