"""OpenDP: exact Gaussian noise on a vector, a measurement for one release."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lab.benchmarks.peers.protocol import Work, serve

opendp: Any = import_module("opendp.prelude")

DRAWS = 10**4  # about 20 µs each
SCALE = 300.0


def integers() -> Work:
    """The discrete Gaussian on integers."""
    return _vector(opendp.atom_domain(T=int), 0)


def floats() -> Work:
    """The Gaussian on floats, which uses the discrete Gaussian on a fine grid."""
    return _vector(opendp.atom_domain(T=float, nan=False), 0.0)


def _vector(atoms: Any, zero: float) -> Work:
    opendp.enable_features("contrib")
    release = opendp.m.make_gaussian(
        opendp.vector_domain(atoms), opendp.l2_distance(T=float), scale=SCALE
    )
    return Work(lambda: release([zero] * DRAWS), DRAWS)


if __name__ == "__main__":
    serve(
        {"Gaussian, integers": integers, "Gaussian, floats": floats},
        ["opendp", "numpy"],
    )
