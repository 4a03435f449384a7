"""Whether a plan, the declared columns and the steps fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushfade.errors import InvalidValue
from hushfade.public.statistics import Ratio
from hushfade.records.batch import Columns
from hushfade.records.calendar import Order, RowOrder, Timed
from hushfade.records.parse_columns import BETWEEN_KEYS

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


def check_fit(plan: Plan, columns: Columns, order: Order, *, skip_empty: bool) -> None:
    """Raise if the plan, the columns and the steps conflict, or would break the guarantee."""
    grid = plan.grid
    if grid.statistic is not None and columns.value is None:
        raise InvalidValue("a statistic needs a column of values (value=, or --value COLUMN)")
    if (columns.denominator is not None) != isinstance(grid.statistic, Ratio):
        raise InvalidValue(
            "a column of denominators must be given for a ratio, and only for a ratio "
            "(denominator=, or --ratio COLUMN/COLUMN)"
        )
    if grid.norm is not None:
        raise InvalidValue("records must be numbers here, not vectors: use a plan without vectors")
    if (columns.key is None) != (grid.keys is None):
        raise InvalidValue(
            "a key column and declared keys must be given together (--key and --keys)"
        )
    divided = len(columns.key_columns()) - 1
    if divided > 0 and any(key.count(BETWEEN_KEYS) != divided for key in grid.keys or ()):
        raise InvalidValue(
            f"must each contain {divided} {BETWEEN_KEYS} for {divided + 1} key columns",
            argument="keys",
        )
    if columns.time is not None and not isinstance(order, Timed):
        raise InvalidValue("a time column needs steps with a length of time")
    if isinstance(order, RowOrder):
        if columns.value is None:
            raise InvalidValue(
                "steps of rows need a column of values: without it all steps are equal"
            )
        if plan.guarantee.neighbours != "replace":
            raise InvalidValue(
                "must be replace if steps consist of rows: removing a row would move all later "
                "rows",
                argument="neighbours",
            )
    if skip_empty and not may_leave_out(plan):
        raise InvalidValue(
            "needs 0 between low and high if neighbours is replace: a record without a value "
            "counts as 0",
            argument="skip_empty",
        )


def may_leave_out(plan: Plan) -> bool:
    """Whether records without a valid value may be dropped.

    Dropping a record is like adding it with the value 0.  If neighbours replace a record, the
    guarantee covers the change from another value to 0 only if 0 is between the bounds.
    """
    if plan.grid.statistic is not None:  # a record that leaves changes the lanes by less
        return True
    return plan.guarantee.neighbours != "replace" or plan.grid.low <= 0.0 <= plan.grid.high
