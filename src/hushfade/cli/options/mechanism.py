"""The option that chooses the factorization, and the plan that all options together make."""

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from hushfade.cli.options.parameters import OptionGroup, choice, naming_options, option_group

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

    def plan(
        self,
        decay: "Decay",
        guarantee: "Guarantee",
        records: "RecordOptions",
        *,
        horizon: int | None,
        valued: bool = False,
    ) -> "Plan":
        """The plan; `valued`: records have values, so that they need bounds."""
        from hushfade.planning.planner import plan

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
                resolution=1.0 if counts else records.resolution,
                keys=keys,
            )
