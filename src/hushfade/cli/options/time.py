"""The options for time: the length of a step, and the number of steps."""

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from hushfade.cli.options.parameters import OptionGroup, option, option_group

if TYPE_CHECKING:
    from hushfade.duration import Length


@option_group("Time")
class StepOptions(OptionGroup):
    """The length of a step."""

    every: Annotated[
        str | None,
        option(
            "The length of a step, such as 1h, 15min or 1d. Required if any other option is a "
            "duration. The plan stores it and cannot be used with another length. A step may also "
            "be a calendar day, week or month, in UTC or in another time zone, such as 'month "
            "Europe/Vienna'.",
            "DURATION",
        ),
    ] = None

    @property
    def step(self) -> "Length":
        """The length of a step: nanoseconds, a calendar step, or None if steps have no length.

        >>> StepOptions(every="1h").step == 3600 * 10**9
        True
        """
        from hushfade import duration

        return duration.length(self.every, name="--every")

    @property
    def declared_step(self) -> str | None:
        """The step in the form that a plan stores.

        >>> StepOptions(every="7d").declared_step
        '1w'
        """
        from hushfade import duration

        return None if self.every is None else duration.declared_step(self.every, name="--every")


@option_group("Time")
class TimeOptions(StepOptions):
    """The length of a step, and the number of steps."""

    horizon: Annotated[
        str | None,
        option(
            "The length of the stream. Without it the stream can continue indefinitely.",
            "STEPS|DURATION",
        ),
    ] = None

    @property
    def steps_to_horizon(self) -> int | None:
        """The horizon in steps, or None without a horizon."""
        if self.horizon is None:
            return None
        return whole_steps_in(self.horizon, self.step, "--horizon")


def steps_in(text: str, step: "Length", option: str) -> Fraction:
    """The number of steps in the text of an option: a number of steps, or a duration."""
    from hushfade import duration

    return duration.steps(text, step, name=option, step_name="--every")


def whole_steps_in(text: str, step: "Length", option: str) -> int:
    """The number of steps in the text of an option.  Raise unless it is a whole number.

    >>> whole_steps_in("7d", 3600 * 10**9, "--window")
    168
    """
    from hushfade import duration

    return duration.whole_steps(text, step, name=option, step_name="--every")
