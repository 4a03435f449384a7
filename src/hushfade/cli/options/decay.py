"""The options for the decay."""

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from hushfade.cli.options.parameters import (
    OptionGroup,
    choice,
    naming_options,
    number,
    number_in,
    option,
    option_group,
    option_name,
)
from hushfade.cli.options.time import steps_in, whole_steps_in
from hushfade.decays import CustomDecay, Decay, Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from hushfade.duration import Length

Kind: TypeAlias = Literal["none", "exponential", "power", "window", "custom"]

_KINDS: dict[str, Kind] = {  # the decay that each option sets
    "half_life": "exponential",
    "alpha": "exponential",
    "power": "power",
    "window": "window",
    "weights": "custom",
}


@option_group("Decay")
class DecayOptions(OptionGroup):
    """The decay: how the weight of a record falls with its age."""

    decay: Annotated[
        Kind | None,
        choice("The kind of decay. Not needed if one of the options below is given."),
    ] = None
    half_life: Annotated[
        str | None,
        option(
            "Exponential decay: the weight of a record halves in this many steps, or in a "
            "duration such as 24h.",
            "STEPS|DURATION",
        ),
    ] = None
    alpha: Annotated[
        float | None,
        number("Exponential decay: a record that is k steps old has weight alpha^-k. Above 1."),
    ] = None
    power: Annotated[
        float | None,
        number("Power-law decay: a record that is k steps old has weight (k+1)^-power. Above 0."),
    ] = None
    window: Annotated[
        str | None,
        option(
            "Sliding window: records count fully for this many steps, or for a duration such as "
            "7d, and then not at all.",
            "STEPS|DURATION",
        ),
    ] = None
    weights: Annotated[
        str | None,
        option(
            "Custom decay: the weights of the steps, the newest step first. Older steps have "
            "weight 0.",
            "1,0.5,0.25",
        ),
    ] = None

    def function(self, step: "Length") -> Decay:
        """The decay that the options choose; `step` is a step's length.

        >>> DecayOptions(half_life="24h").function(step=3600 * 10**9)
        Exponential(half_life=24.0)
        >>> DecayOptions(decay="power").function(step=None)
        Traceback (most recent call last):
        hushfade.errors.InvalidValue: --decay power needs --power
        """
        given = [name for name in _KINDS if getattr(self, name) is not None]
        options = [option_name(name) for name in given]
        if len(given) > 1:
            raise InvalidValue(f"{options[0]} and {options[1]} cannot be combined")
        if not given:
            return self._without_parameter()
        if self.decay not in (None, _KINDS[given[0]]):
            raise InvalidValue(f"--decay {self.decay} and {options[0]} cannot be combined")
        with naming_options(self, length="window"):
            if self.half_life is not None:
                half_life = steps_in(self.half_life, step, "--half-life")
                return Exponential(half_life=float(half_life))
            if self.alpha is not None:
                return Exponential.from_alpha(self.alpha)
            if self.power is not None:
                return PowerLaw(power=self.power)
            if self.window is not None:
                return SlidingWindow(whole_steps_in(self.window, step, "--window"))
            assert self.weights is not None
            return CustomDecay(tuple(_numbers(self.weights)))

    def _without_parameter(self) -> Decay:
        if self.decay == "none":
            return NoDecay()
        needed = [option_name(name) for name, kind in _KINDS.items() if self.decay in (None, kind)]
        if self.decay is None:
            raise InvalidValue(f"a decay must be given: {_listed(needed)}, or --decay none")
        raise InvalidValue(f"--decay {self.decay} needs {_listed(needed)}")


def _listed(options: list[str]) -> str:
    return " or ".join([", ".join(options[:-1]), options[-1]] if len(options) > 1 else options)


def _numbers(text: str) -> list[float]:
    try:
        return [number_in(part) for part in text.split(",")]
    except ValueError:
        raise InvalidValue(
            "must be numbers separated by commas", argument="weights", got=repr(text[:40])
        ) from None
