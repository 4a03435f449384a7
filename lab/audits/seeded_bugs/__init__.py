"""Seeded bugs: mechanisms with one deliberate bug each, which the audit must detect.

Each bug replaces one of the methods of `hushfade.audit.Subject`.  The package hushfade has none of
these bugs.

subjects        the subject and the stream that every bug starts from, and the plans they break
plan_numbers    a plan with a wrong sigma, mu or horizon
stream_noise    a stream that draws the wrong noise
noise_sources   the same under one source of noise only
records         records and totals that are clipped, summed or counted in a wrong way
steps           one of the ways to close a step is wrong
noise_laws      Laplace and Huber noise with a wrong law or a wrong accounting
noise_keys      noise that is bound to too little
copies          older states, forked processes and seeds that are too short
added_floats    the true sum and the noise, added as floats
"""

from lab.audits.seeded_bugs import (
    added_floats,
    copies,
    noise_keys,
    noise_laws,
    noise_sources,
    plan_numbers,
    records,
    steps,
    stream_noise,
)
from lab.audits.seeded_bugs.subjects import Bug

_MODULES = (
    plan_numbers,
    records,
    stream_noise,
    copies,
    noise_sources,
    noise_laws,
    steps,
    noise_keys,
    added_floats,
)
SEEDED_BUGS: dict[str, Bug] = {
    name: bug for module in _MODULES for name, bug in module.BUGS.items()
}

__all__ = ["SEEDED_BUGS", "Bug"]
