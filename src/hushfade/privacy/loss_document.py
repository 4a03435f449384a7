"""A privacy loss as a JSON document, so that anybody can compute its epsilon and delta again.

The document has the worst cases: the mu of Gaussian noise, and for other laws the law and by how
much it is shifted how often, in integers.
"""

from __future__ import annotations

import json
from typing import Any

from hushfade import check
from hushfade.errors import HushfadeError, InvalidValue
from hushfade.laws.document import law_document, law_from
from hushfade.privacy.loss import Case, PrivacyLoss, Shifted
from hushfade.privacy.rounded_losses import Shift
from hushfade.privacy.unit import Relation

FORMAT = "hushfade loss 1"
_LIMIT = 1 << 24  # characters
_LARGEST = 1 << 62  # shift, and number of times


def written(loss: PrivacyLoss) -> str:
    """The document."""
    return json.dumps(
        {
            "format": FORMAT,
            "relation": None if loss.relation is None else loss.relation.listed(),
            "cases": [_case(case) for case in loss.cases],
        }
    )


def read(text: str | bytes) -> PrivacyLoss:
    """The loss of a document; every field is checked."""
    if len(text) > _LIMIT:
        raise InvalidValue(f"the loss must have at most {_LIMIT} characters", got=len(text))
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise InvalidValue(f"the loss must have format {FORMAT!r}")
        unit = document["relation"]
        loss = PrivacyLoss(
            tuple(_case_from(case) for case in document["cases"]),
            None if unit is None else Relation.of_list(unit),
        )
        same = json.loads(written(loss)) == document
    except HushfadeError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise InvalidValue(f"the loss must be a document of format {FORMAT!r}") from None
    if not same or not loss.cases:
        raise InvalidValue(f"the loss must have the fields of {FORMAT!r}, and a case")
    return loss


def _case(case: Case) -> dict[str, Any]:
    return {
        "mu": case.mu,
        "shifted": [
            {"noise": law_document(law), "shifts": [list(shift) for shift in shifts]}
            for law, shifts in case.shifted
        ],
    }


def _case_from(document: dict[str, Any]) -> Case:
    mu = check.real(mu=document["mu"])
    if not mu >= 0.0:
        raise InvalidValue("must be >= 0", argument="mu", got=repr(mu))
    return Case(mu, tuple(_shifted_from(part) for part in document["shifted"]))


def _shifted_from(document: dict[str, Any]) -> Shifted:
    shifts = tuple(
        Shift(
            check.count(size=size, least=0, most=_LARGEST), check.count(times=times, most=_LARGEST)
        )
        for size, times in document["shifts"]
    )
    return Shifted(law_from(document["noise"]), shifts)
