"""The options about time: the length of a step, and how many steps there are."""

from fractions import Fraction
from typing import Annotated

from hushfade.cli.options.parameters import OptionGroup, option, option_group


@option_group("Time")
class StepOptions(OptionGroup):
    """The length of a step."""

    every: Annotated[
        str | None,
        option(
            "The length of a step, such as 1h, 15min or 1d. Needed if any other option is a "
            "duration. A plan keeps it, and no other length is accepted with that plan.",
            "DURATION",
        ),
    ] = None

    @property
    def step(self) -> int | None:
        """The length of a step in nanoseconds; None if steps have no length.

        >>> StepOptions(every="1h").step == 3600 * 10**9
        True
        """
        from hushfade import duration

        if self.every is None or self.every == duration.ROWS:
            return None
        return duration.nanoseconds(self.every, name="--every")


@option_group("Time")
class TimeOptions(StepOptions):
    """The length of a step, and the number of steps."""

    horizon: Annotated[
        str | None,
        option(
            "The length of the stream. Without it the stream may run for ever.", "STEPS|DURATION"
        ),
    ] = None

    @property
    def steps_to_horizon(self) -> int | None:
        """The horizon in steps; None if there is none."""
        if self.horizon is None:
            return None
        return whole_steps_in(self.horizon, self.step, "--horizon")


def steps_in(text: str, step: int | None, option: str) -> Fraction:
    """How many steps the text of an option means: a number of steps, or a duration."""
    from hushfade import duration

    return duration.steps(text, step, name=option, step_name="--every")


def whole_steps_in(text: str, step: int | None, option: str) -> int:
    """The same, if it is a whole number of steps.

    >>> whole_steps_in("7d", 3600 * 10**9, "--window")
    168
    """
    from hushfade import duration

    return duration.whole_steps(text, step, name=option, step_name="--every")
