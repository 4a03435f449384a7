"""The step that a caller declares must be the step of the plan, because its decay counts steps."""

from __future__ import annotations

from hushfade import duration
from hushfade.errors import InvalidValue


def step_length(own: str | None, declared: object, *, name: str) -> duration.Length:
    """The length of a plan's own step, or of the declared one; raises if they disagree."""
    if declared is not None:
        step = duration.declared_step(declared, name=name)
        if own == duration.ROWS != step:
            raise InvalidValue("must not be given: the plan's steps are rows", argument=name)
        if own not in (None, step):
            raise InvalidValue(f"must be {own}, the plan's step", argument=name, got=repr(step))
        own = step
    return duration.length(own, name=name)


def check_rows(own: str | None, declared: object, *, name: str) -> None:
    """Raise if rows without times cannot be steps of the plan's own length."""
    step_length(own, declared, name=name)
    if declared is None and own not in (None, duration.ROWS):
        raise InvalidValue(
            f"must be given: the plan's step is {own}, and rows without times do not show how long "
            "a step is",
            argument=name,
            remedy=f"declare {own} if each row is one step of that length, or give times",
        )
