"""The options for the guarantee."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from hushfade.cli.options.parameters import (
    OptionGroup,
    choice,
    count,
    naming_options,
    number,
    option,
    option_group,
    option_name,
)
from hushfade.cli.options.time import whole_steps_in
from hushfade.errors import InvalidValue
from hushfade.privacy.guarantee import Guarantee, Neighbours

if TYPE_CHECKING:
    from hushfade.duration import Length

DELTA = 1e-6  # the delta at which epsilon is reported, if mu or rho is given without a delta


@option_group("Guarantee")
class GuaranteeOptions(OptionGroup):
    """The guarantee for one record, or for the records of one person in one step."""

    epsilon: Annotated[
        float | None,
        number(
            "The privacy loss: one record changes the probability of any published outcome by at "
            "most a factor of e^epsilon, plus delta."
        ),
    ] = None
    delta: Annotated[
        float | None,
        number(
            "The additive term of the guarantee: a probability well below 1 / number of people, or "
            "0 for pure differential privacy. With --mu or --rho: the delta at which epsilon is "
            "reported.",
            default="1e-6 with --mu or --rho",
        ),
    ] = None
    mu: Annotated[
        float | None,
        number("The parameter mu of Gaussian differential privacy, in place of --epsilon."),
    ] = None
    rho: Annotated[
        float | None,
        number(
            "The parameter rho = mu^2/2 of zero-concentrated differential privacy, in place of "
            "--epsilon."
        ),
    ] = None
    neighbours: Annotated[
        Neighbours,
        choice(
            "What the guarantee hides. add_remove: whether a record exists. replace: the value of "
            "a record."
        ),
    ] = "add_remove"
    records_per_step: Annotated[
        int,
        count(
            "The largest number of records of one person in one step.",
            alias="--per-user-limit",
        ),
    ] = 1

    def guarantee(self, step: "Length") -> Guarantee:
        """The guarantee; `step` is a step's length."""
        return self._for_steps(participations=1, separation=1)

    def _for_steps(self, *, participations: int, separation: int) -> Guarantee:
        ways = {"epsilon": self.epsilon, "mu": self.mu, "rho": self.rho}
        given = [option_name(name) for name, value in ways.items() if value is not None]
        if len(given) > 1:
            raise InvalidValue(f"{given[0]} and {given[1]} cannot be combined")
        if not given:
            raise InvalidValue(
                "a guarantee must be given: --epsilon and --delta, or --mu, or --rho"
            )
        if self.epsilon is not None and self.delta is None:
            raise InvalidValue(
                "--epsilon needs --delta: 0, or a probability well below 1 / number of people, "
                "such as 1e-6"
            )
        make: Callable[..., Guarantee] = Guarantee
        if self.epsilon is None:
            make = Guarantee.from_rho if self.mu is None else Guarantee.from_mu
        with naming_options(self, participations="participations", separation="separation"):
            return make(
                next(value for value in ways.values() if value is not None),
                delta=DELTA if self.delta is None else self.delta,
                neighbours=self.neighbours,
                participations=participations,
                separation=separation,
                records_per_step=self.records_per_step,
            )


@option_group("Guarantee")
class PersonOptions(GuaranteeOptions):
    """The guarantee for a person with records in several steps."""

    participations: Annotated[
        int | None,
        count("The largest number of steps in which one person has records.", default="1"),
    ] = None
    separation: Annotated[
        str,
        option(
            "The smallest distance between two steps in which one person has records.",
            "STEPS|DURATION",
        ),
    ] = "1"

    def guarantee(self, step: "Length") -> Guarantee:
        """The guarantee; `step` is a step's length.

        >>> PersonOptions(epsilon=1, delta=1e-6).guarantee(None).neighbours
        'add_remove'
        >>> round(PersonOptions(mu=0.5).guarantee(None).epsilon, 4)  # at delta = 1e-6
        2.2541
        """
        return self._for_steps(
            participations=1 if self.participations is None else self.participations,
            separation=whole_steps_in(self.separation, step, "--separation"),
        )
