"""A privacy loss as a JSON document, from which anyone can compute epsilon and delta again.

The document lists the worst cases.  A case has the mu of Gaussian noise and, for other laws, the
law with the sizes and counts of its shifts as integers.  A case of several mechanisms may also have
choices: cases of which each of a number of mechanisms may have any.
"""

from __future__ import annotations

import json
from typing import Any

from hushfade import check
from hushfade.errors import HushfadeError, InvalidType, InvalidValue
from hushfade.format_marker import check_marker
from hushfade.laws import Gaussian, Huber, Laplace, Law
from hushfade.laws.document import law_document, law_from
from hushfade.privacy.loss import Case, Choice, PrivacyLoss, Shifted
from hushfade.privacy.rounded_losses import Shift
from hushfade.privacy.unit import Relation

FORMAT = "hushfade loss draft"
_LIMIT = 1 << 24  # characters
# the limits for any plan: cases, parts per case, shifts per part, sizes, times, mu
_CASES, _PARTS, _SHIFTS, _CHOICES = 256, 256, 2048, 4
_LARGEST, _TIMES, _MU = 1 << 54, 1 << 24, 1e3
_SLOPES, _SIGMAS, _CORE = (2.0**-44, 64.0), (0.1, 2.0**44), 1 << 44


def written(loss: PrivacyLoss) -> str:
    """The loss as a JSON document."""
    return json.dumps(
        {
            "format": FORMAT,
            "relation": None if loss.relation is None else loss.relation.listed(),
            "cases": [_case(case) for case in loss.cases],
        }
    )


def read(text: str | bytes) -> PrivacyLoss:
    """The loss in a document; every field is checked."""
    if not isinstance(text, str | bytes):
        raise InvalidType("the loss must be text", got=type(text).__name__)
    if len(text) > _LIMIT:
        raise InvalidValue(f"the loss must have at most {_LIMIT} characters", got=len(text))
    try:
        document = json.loads(text, object_pairs_hook=_once)
        check_marker(
            "the loss", document["format"], FORMAT, remedy="write it with this version of hushfade"
        )
        unit = document["relation"]
        loss = PrivacyLoss(
            tuple(_case_from(case) for case in _few(document["cases"], _CASES)),
            None if unit is None else Relation.of_list(unit),
        )
        same = json.loads(written(loss)) == document
    except HushfadeError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise InvalidValue(f"the loss must be a document of format {FORMAT!r}") from None
    if not same or not loss.cases:
        raise InvalidValue(f"the loss must have the fields of {FORMAT!r} and at least one case")
    return loss


def _case(case: Case) -> dict[str, Any]:
    return {
        "mu": case.mu,
        "shifted": [
            {"noise": law_document(law), "shifts": [list(shift) for shift in shifts]}
            for law, shifts in case.shifted
        ],
        "choices": [
            {"times": choice.times, "cases": [_case(one) for one in choice.cases]}
            for choice in case.choices
        ],
    }


def _case_from(document: dict[str, Any]) -> Case:
    mu = check.real(mu=document["mu"])
    if not 0.0 <= mu <= _MU:
        raise InvalidValue(f"must be from 0 to {_MU:g}", argument="mu", got=repr(mu))
    shifted = tuple(_shifted_from(part) for part in _few(document["shifted"], _PARTS))
    return Case(mu, shifted, tuple(map(_choice_from, _few(document["choices"], _PARTS))))


def _choice_from(document: dict[str, Any]) -> Choice:
    several = _few(document["cases"], _CHOICES)
    cases = tuple(_case_from(case) for case in several)
    if not cases or any(case.choices for case in cases):
        raise InvalidValue("a choice must have cases, and they must not have choices")
    return Choice(cases, check.count(times=document["times"], most=_TIMES))


def _shifted_from(document: dict[str, Any]) -> Shifted:
    shifts = tuple(
        Shift(check.count(size=size, least=0, most=_LARGEST), check.count(times=times, most=_TIMES))
        for size, times in _few(document["shifts"], _SHIFTS)
    )
    return Shifted(_law_from(document["noise"]), shifts)


def _law_from(document: dict[str, Any]) -> Law:
    """The law, if a plan can have its parameters; raises InvalidValue otherwise."""
    law = law_from(document)
    match law:
        case Gaussian(sigma=sigma):
            usual = _SIGMAS[0] <= sigma <= _SIGMAS[1]
        case Laplace(slope=slope):
            usual = _SLOPES[0] <= slope <= _SLOPES[1]
        case Huber(slope=slope, core=core):
            usual = _SLOPES[0] <= slope <= _SLOPES[1] and core <= _CORE
        case _:
            usual = False
    if not usual:
        raise InvalidValue("noise must have parameters that a plan can have")
    return law


def _few(several: list[Any], most: int) -> list[Any]:
    if len(several) > most:
        raise InvalidValue(f"the loss must have at most {most} parts of a kind", got=len(several))
    return several


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise InvalidValue("the loss must not repeat a field")
    return document
