"""The companion of a file of releases, read back and checked.

The companion states its guarantee three times: in words, as the composed numbers of all epochs, and
in the plan.  A reader refuses a companion whose statements disagree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushfade.errors import InvalidValue
from hushfade.planning import promise
from hushfade.planning.epochs import Epochs, epochs_of
from hushfade.planning.plan import Plan
from hushfade.releases.files import FORMAT


@dataclass(frozen=True)
class Companion:
    """What the companion states about the releases."""

    epochs: Epochs
    person: bool  # hushfade enforced the limits per person
    noise: str
    limits: str | None
    changed: tuple[str, ...]
    confidence: float

    @property
    def unsafe(self) -> bool:
        """Whether the noise has a known seed."""
        return self.noise.startswith(promise.UNSAFE)


def is_companion(document: object) -> bool:
    """Whether the JSON data are a companion, and not a plan."""
    return isinstance(document, dict) and document.get("format") == FORMAT


def read(document: Mapping[str, Any]) -> Companion:
    """The companion in JSON data.  Raise InvalidValue if its statements disagree."""
    plan = Plan.from_json(json.dumps(document.get("plan")))
    epochs = epochs_of(plan, document.get("composed"))
    unit, noise, changed = (document.get(name) for name in ("unit", "noise", "changed"))
    confidence = document.get("confidence")
    if unit not in ("person", "record"):
        raise InvalidValue("must be 'person' or 'record'", argument="unit", got=repr(unit)[:60])
    if not isinstance(noise, str):
        raise InvalidValue("the companion must describe its noise")
    if not isinstance(changed, list) or not all(isinstance(way, str) for way in changed):
        raise InvalidValue("the companion must list how the values were changed")
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise InvalidValue("must be in (0, 1)", argument="confidence", got=repr(confidence)[:60])
    person, limits = unit == "person", document.get("limits")
    found = Companion(epochs, person, noise, limits, tuple(changed), confidence)
    stated = promise.sentence(
        plan, enforced=person, guarantee=epochs.guarantee, unsafe=found.unsafe
    )
    if document.get("guarantee") != stated:
        raise InvalidValue(
            "the guarantee in words must be the guarantee of the plan and its epochs",
            remedy="write the releases again, or use the companion that hushfade wrote",
        )
    if limits != promise.limits(plan, enforced=person):
        raise InvalidValue("the limits per person must be the limits of the plan")
    return found
