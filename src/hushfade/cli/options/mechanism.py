"""The options that choose the factorization, and the plan that all options together make."""

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
    from hushfade.decay import Decay
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee

MethodName: TypeAlias = Literal["square_root", "normalized", "unbounded"]


@option_group("Mechanism")
class MechanismOptions(OptionGroup):
    """The factorization of the weights."""

    method: Annotated[
        MethodName,
        choice(
            "How the weights are split around the noise: square_root for every decay; normalized "
            "for a smaller error over a fixed --horizon; unbounded for counting without a horizon."
        ),
    ] = "square_root"
    expect: Annotated[
        str | None,
        option(
            "With --method unbounded: the expected length of the stream, near which the error is "
            "least. The stream may run on.",
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
        step: int | None,
        valued: bool = False,
    ) -> "Plan":
        """The plan; `step` is a step's length; `valued`: records have values, which need bounds."""
        from hushfade.planning.planner import plan

        expect = None if self.expect is None else whole_steps_in(self.expect, step, "--expect")
        low, high = records.bounds(valued=valued)
        counts = records.counting and records.resolution is None
        keys = records.declared_keys()
        with naming_options(self, records, horizon="horizon"):
            return plan(
                decay,
                guarantee,
                low=low,
                high=high,
                horizon=horizon,
                method=self.method,
                expect=expect,
                resolution=1.0 if counts else records.resolution,
                keys=keys,
            )
