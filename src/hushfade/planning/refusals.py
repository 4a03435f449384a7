"""Why a law or a method cannot give a guarantee, and what can."""

from __future__ import annotations

from hushfade.decay import Decay
from hushfade.errors import InvalidValue
from hushfade.privacy.guarantee import Guarantee
from hushfade.private.grid import Grid

_WIDE = "vectors, and for several records per step with keys"


def check_law(guarantee: Guarantee, grid: Grid, law: str | None) -> None:
    """Raise if no mechanism with this law gives the guarantee; None is any law."""
    wide = grid.norm is not None or (grid.keys is not None and guarantee.records_per_step > 1)
    if law not in (None, "gaussian"):
        if guarantee.gaussian_only:
            raise InvalidValue(
                "must be gaussian where mu or rho is declared",
                argument="law",
                got=law,
                remedy="leave it out, or declare epsilon and delta",
            )
        if wide:
            raise InvalidValue(f"must be gaussian for {_WIDE}", argument="law", got=law)
    if guarantee.pure:
        if wide:
            raise InvalidValue(
                f"must be > 0 for {_WIDE}: they need Gaussian noise", argument="delta", got=0
            )
        if law not in (None, "laplace"):
            raise InvalidValue(
                "must be laplace for delta = 0",
                argument="law",
                got=law,
                remedy="leave it out, or give delta > 0",
            )


def check_gaussian(guarantee: Guarantee, method: str) -> None:
    """Raise if Gaussian noise, which the method has unless a law is given, needs a delta."""
    if guarantee.pure:
        raise InvalidValue(
            f"must be > 0 for the method '{method}', which has Gaussian noise here",
            argument="delta",
            got=0,
            remedy="take the method 'best', 'input' or 'blocks'",
        )


def check_blend(guarantee: Guarantee, times: int, law: str | None) -> None:
    """Raise if there is no blend for the guarantee; `times` is the number of a person's steps."""
    if law not in (None, "huber"):
        raise InvalidValue("must be huber for the method 'blend'", argument="law", got=law)
    why = None
    if guarantee.pure:
        why = "with delta = 0"
    elif guarantee.gaussian_only:
        why = "where mu or rho is declared"
    elif times > 1:
        why = "for several records per person"
    if why is not None:
        raise InvalidValue(
            f"must not be 'blend' {why}", argument="method", remedy="take the method 'best'"
        )


def endless(decay: Decay) -> InvalidValue:
    """The error of a decay that needs a horizon for delta = 0."""
    return InvalidValue(
        f"must be given for {decay!r} with delta = 0: its error grows for ever", argument="horizon"
    )
