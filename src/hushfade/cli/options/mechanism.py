"""The options for the mechanism, and the plan that follows from all options."""

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from hushfade.cli.options.parameters import (
    OptionGroup,
    choice,
    naming_options,
    option,
    option_group,
)
from hushfade.cli.options.time import whole_steps_in

if TYPE_CHECKING:
    from hushfade.cli.options.records import RecordOptions
    from hushfade.cli.options.time import StepOptions
    from hushfade.decays import Decay
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee
    from hushfade.public.statistics import Statistic

MethodName: TypeAlias = Literal[
    "best", "input", "blocks", "blend", "square_root", "normalized", "unbounded"
]
LawName: TypeAlias = Literal["gaussian", "laplace", "huber"]


@option_group("Mechanism")
class MechanismOptions(OptionGroup):
    """The mechanism: where it adds the noise, and the distribution of the noise."""

    method: Annotated[
        MethodName,
        choice(
            "Where the mechanism adds the noise. best: compare all mechanisms and choose the one "
            "with the smallest error. input: to the inputs, if records fade quickly. blocks: to "
            "sums over blocks of steps, if records fade slowly and --delta is 0. square_root: "
            "between two square roots of the decay matrix, as in the paper. blend: between input "
            "and square_root. normalized: square_root with a gain per step, for a fixed --horizon. "
            "unbounded: for counting (--decay none) without a horizon."
        ),
    ] = "best"
    law: Annotated[
        LawName | None,
        choice(
            "The distribution of the noise. laplace: the only choice with --delta 0. gaussian: the "
            "only choice with --mu or --rho. huber: Gaussian in the middle, with the tails of "
            "Laplace noise. By default the distribution with the smallest error."
        ),
    ] = None
    expect: Annotated[
        str | None,
        option(
            "For --method unbounded: the expected length of the stream, near which the error is "
            "smallest. The stream may become longer.",
            "STEPS|DURATION",
            default="1048576 steps",
        ),
    ] = None

    def plan(
        self,
        decay: "Decay",
        guarantee: "Guarantee",
        records: "RecordOptions",
        *,
        horizon: int | None,
        time: "StepOptions",
        valued: bool = False,
        statistic: "Statistic | None" = None,
    ) -> "Plan":
        """The plan of these options; `valued`: records have values, which need bounds."""
        from hushfade.planning.planner import plan

        expect = None if self.expect is None else whole_steps_in(self.expect, time.step, "--expect")
        low, high = (0.0, 1.0) if statistic is not None else records.bounds(valued=valued)
        counts = not valued and records.counting and records.resolution is None
        counts = counts and statistic is None  # a statistic has its own grid
        keys = records.declared_keys()
        with naming_options(self, records, horizon="horizon", every="every"):
            return plan(
                decay,
                guarantee,
                statistic=statistic,
                low=low,
                high=high,
                horizon=horizon,
                method=self.method,
                law=self.law,
                expect=expect,
                resolution=1.0 if counts else records.resolution,
                keys=keys,
                every=time.every,
            )
