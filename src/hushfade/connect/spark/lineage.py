"""What a frame is made of, as Spark has analyzed it: what would break the promise is refused.

A batch that runs again must have the same totals, for it has the same noise.  And no record may
decide whether another counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from hushfade.errors import InvalidType, InvalidValue

_CHOSEN = {"GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"}  # any rows, by chance


def check_repeatable(df: DataFrame, name: str) -> None:
    """Refuse a frame that is, or may be, another each time it is computed."""
    plan = _analyzed(df, name)
    if not plan.deterministic() or any(node.nodeName() in _CHOSEN for node in _nodes(plan)):
        raise InvalidValue(
            f"{name} must be the same each time it is computed, without rand(), limit, sample and "
            "the like: what runs again has the same noise"
        )


def check_unmarked(df: DataFrame, name: str) -> None:
    """Refuse a frame whose watermark would have a say in when steps close."""
    if not df.isStreaming:
        raise InvalidType(f"{name} must be a streaming frame")
    if any(node.nodeName() == "EventTimeWatermark" for node in _nodes(_analyzed(df, name))):
        raise InvalidValue(
            f"{name} must have no watermark of its own: steps would close by its records, and one "
            "of them decide whether others count"
        )


def check_apart(clock: DataFrame, df: DataFrame) -> None:
    """Refuse a clock that is made of the records."""
    sources = [node for node in _nodes(_analyzed(df, "df")) if _is_leaf(node)]
    for node in _nodes(_analyzed(clock, "clock")):
        if _is_leaf(node) and any(node.sameResult(source) for source in sources):
            raise InvalidValue(
                "clock must not be made from the records: one of them would close steps for all"
            )


def _analyzed(df: DataFrame, name: str) -> Any:
    found = getattr(df, "_jdf", None)
    if found is None:
        raise InvalidType(f"{name} must be of a session in this process, not of Spark Connect")
    return found.queryExecution().analyzed()


def _nodes(plan: Any) -> Iterator[Any]:
    """The plan and all below it.  They are not looked for in its text, which Spark may cut."""
    yield plan
    children = plan.children()
    for place in range(children.size()):
        yield from _nodes(children.apply(place))


def _is_leaf(plan: Any) -> bool:
    return bool(plan.children().isEmpty())
