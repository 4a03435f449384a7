"""The options for the guarantee."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

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
from hushfade.privacy.unit import Person, Record, Unit

if TYPE_CHECKING:
    from hushfade.duration import Length

DELTA = 1e-6  # the delta at which epsilon is reported, if mu or rho is given without a delta


@option_group("Guarantee")
class GuaranteeOptions(OptionGroup):
    """The guarantee."""

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

    def protecting(self, unit: Unit) -> Guarantee:
        """The guarantee for this unit of privacy."""
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
        with naming_options(self):
            return make(
                next(value for value in ways.values() if value is not None),
                delta=DELTA if self.delta is None else self.delta,
                neighbours=self.neighbours,
                protects=unit,
            )


@option_group("Guarantee")
class PersonOptions(GuaranteeOptions):
    """The guarantee, and the unit that it protects: one record, or the records of one person."""

    protect: Annotated[
        Literal["record", "person"] | None,
        option(
            "The unit of privacy: one record, or the records of one person. The options below "
            "describe a person.",
            "record|person",
            default="person if one of the options below is given, otherwise record",
        ),
    ] = None
    person_steps: Annotated[
        int | None,
        count(
            "The largest number of steps in which one person counts: in the whole stream, or in "
            "each --period.",
            default="1",
        ),
    ] = None
    records_per_step: Annotated[
        int, count("The largest number of records of one person that count in one step.")
    ] = 1
    apart: Annotated[
        str | None,
        option(
            "The smallest distance between two steps in which one person counts.",
            "STEPS|DURATION",
            default="1",
        ),
    ] = None
    within: Annotated[
        str | None,
        option(
            "Protect a person's records from any consecutive steps that together have this "
            "length: with --every 1d, 7d means any seven consecutive steps of a day, and not any "
            "168 hours. The guarantee is renewed indefinitely: it does not cover all records that "
            "a person ever has.",
            "STEPS|DURATION",
        ),
    ] = None
    period: Annotated[
        str | None,
        option(
            "Protect a person's records from any calendar day, week or month, in UTC or in another "
            "time zone, such as 'week Europe/Vienna'. Needs --person-steps. The guarantee is "
            "renewed in each period.",
            "PERIOD",
        ),
    ] = None

    def guarantee(self, step: "Length") -> Guarantee:
        """The guarantee; `step` is a step's length.

        >>> PersonOptions(epsilon=1, delta=1e-6, within="7d").guarantee(86400 * 10**9).protects
        Person(within=7)
        >>> round(PersonOptions(mu=0.5).guarantee(None).epsilon, 4)  # at delta = 1e-6
        2.2541
        """
        return self.protecting(self.unit(step))

    def unit(self, step: "Length") -> Unit:
        """The unit of privacy; `step` is a step's length."""
        given = self.given("person_steps", "records_per_step", "apart", "within", "period")
        if self.protect == "record" and given:
            raise InvalidValue(f"--protect record and {given[0]} cannot be combined")
        if self.protect != "person" and not given:
            return Record()
        within = None if self.within is None else whole_steps_in(self.within, step, "--within")
        apart = 1 if self.apart is None else whole_steps_in(self.apart, step, "--apart")
        with naming_options(self, steps="person_steps"):
            return Person(
                steps=self.person_steps,
                records_per_step=self.records_per_step,
                apart=apart,
                within=within,
                period=self.period,
            )
