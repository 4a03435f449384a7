"""The options that choose the mechanism, and the plan that all options together make."""

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
    from hushfade.decay import Decay
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee

MethodName: TypeAlias = Literal[
    "best", "input", "blocks", "blend", "square_root", "normalized", "unbounded"
]
LawName: TypeAlias = Literal["gaussian", "laplace", "huber"]


@option_group("Mechanism")
class MechanismOptions(OptionGroup):
    """Where the noise is added, and its law."""

    method: Annotated[
        MethodName,
        choice(
            "Where the noise is added. best: compare the mechanisms and take the smallest error. "
            "input: on the inputs, for short memories. blocks: on sums over blocks of steps, for "
            "long memories and --delta 0. square_root: on the square root of the weights, as in "
            "the paper. blend: between input and square_root. normalized: the square root with a "
            "gain per step, for a fixed --horizon. unbounded: counting without a horizon."
        ),
    ] = "best"
    law: Annotated[
        LawName | None,
        choice(
            "The law of the noise. laplace: the only one for --delta 0. gaussian: the only one "
            "with --mu or --rho. huber: between both. By default the law with the smallest error."
        ),
    ] = None
    expect: Annotated[
        str | None,
        option(
            "For counting without a horizon: the expected length of the stream, near which the "
            "error is smallest. The stream may continue.",
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
    ) -> "Plan":
        """The plan; `valued`: records have values, which need bounds."""
        from hushfade.planning.planner import plan

        expect = None if self.expect is None else whole_steps_in(self.expect, time.step, "--expect")
        low, high = records.bounds(valued=valued)
        counts = not valued and records.counting and records.resolution is None
        keys = records.declared_keys()
        with naming_options(self, records, horizon="horizon"):
            return plan(
                decay,
                guarantee,
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
