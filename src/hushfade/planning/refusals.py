"""Errors for a law or a method that cannot give a guarantee, with the alternatives."""

from __future__ import annotations

from hushfade.decays import Decay
from hushfade.errors import InvalidValue
from hushfade.planning.shifts import gaussian_alone
from hushfade.privacy.guarantee import Guarantee
from hushfade.private.grid import Grid

_WIDE = "vectors, and for several records per step with keys"


def check_law(guarantee: Guarantee, grid: Grid, law: str | None) -> None:
    """Raise InvalidValue if no mechanism with this law gives the guarantee; None means any law."""
    wide = gaussian_alone(guarantee, grid)
    if law not in (None, "gaussian"):
        if guarantee.gaussian_only:
            raise InvalidValue(
                "must be gaussian if mu or rho is declared",
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
    """Raise InvalidValue if delta is 0: without a law, the method has Gaussian noise."""
    if guarantee.pure:
        raise InvalidValue(
            f"must be > 0 for the method '{method}', which uses Gaussian noise here",
            argument="delta",
            got=0,
            remedy="use the method 'best', 'input' or 'blocks'",
        )


def check_blend(guarantee: Guarantee, times: int, law: str | None) -> None:
    """Raise InvalidValue if no blend gives the guarantee.

    `times` is the number of steps in which one person has records.
    """
    if law not in (None, "huber"):
        raise InvalidValue("must be huber for the method 'blend'", argument="law", got=law)
    why = None
    if guarantee.pure:
        why = "with delta = 0"
    elif guarantee.gaussian_only:
        why = "if mu or rho is declared"
    elif times > 1:
        why = "for several records per person"
    if why is not None:
        raise InvalidValue(
            f"must not be 'blend' {why}", argument="method", remedy="use the method 'best'"
        )


def endless(decay: Decay) -> InvalidValue:
    """The error for a decay that needs a horizon if delta = 0."""
    return InvalidValue(
        f"must be given for {decay!r} with delta = 0, because its error grows without bound",
        argument="horizon",
    )
