"""Checks of a frame's analyzed plan: it rejects operators that would break the guarantee.

A batch that runs again must have the same totals, because it has the same noise.  And no record may
decide whether another record counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from hushfade.errors import InvalidType, InvalidValue

_CHOSEN = {"GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"}  # any rows, by chance
_BY_ORDER = {  # of rows, which is another when a task runs again
    "AnyValue", "CollectList", "First", "Last", "ListAgg", "MaxBy", "MinBy", "Mode",
}  # fmt: skip
_READ = ("path", "subscribe", "subscribePattern", "assign", "topic", "streamName")
_PATTERN = set("*?[{")


def check_repeatable(df: DataFrame, name: str) -> None:
    """Raise if a frame may differ each time it is computed.

    A stream may use the current time: it is the time of the batch, which Spark records.
    """
    plan = analyzed(df, name)
    if not df.isStreaming and plan.containsPattern(_current(df)):
        raise InvalidValue(
            f"{name} must be the same each time it is computed, because it has the same noise each "
            "time: it must not use current_timestamp(), now() or similar functions. Write the time "
            "as a literal"
        )
    found = next((node.nodeName() for node in nodes(plan) if _picks(node)), None)
    if found is not None or not plan.deterministic():
        raise InvalidValue(
            f"{name} must be the same each time it is computed, because it has the same noise each "
            "time: it must not use rand(), limit, sample, first, dropDuplicates of some columns "
            f"or similar operators. Found: {found or 'an expression that is not deterministic'}. "
            "To limit the records per person, use the argument user"
        )


def check_unmarked(df: DataFrame, name: str) -> None:
    """Raise if a frame has a watermark, which would affect when steps close."""
    if not (isinstance(df, DataFrame) and df.isStreaming):
        raise InvalidType(f"{name} must be a streaming frame")
    if any(node.nodeName() == "EventTimeWatermark" for node in nodes(analyzed(df, name))):
        raise InvalidValue(
            f"{name} must have no watermark: its records would close steps, and one record would "
            "decide whether others count"
        )


def check_apart(clock: DataFrame, df: DataFrame) -> None:
    """Raise if the clock reads the same sources as the records."""
    sources, others = (
        [node for node in nodes(analyzed(frame, name)) if _is_leaf(node)]
        for frame, name in ((df, "df"), (clock, "clock"))
    )
    read = {place for source in sources for place in _places(source, df)}
    for node in others:
        again = any(_overlap(place, other) for place in _places(node, clock) for other in read)
        if again or any(node.sameResult(source) for source in sources):
            raise InvalidValue(
                "clock must not be derived from the records: one record would close steps for all"
            )


def analyzed(df: DataFrame, name: str) -> Any:
    """The logical plan of a frame, with its relations and columns resolved."""
    found = getattr(df, "_jdf", None)
    if found is None:
        raise InvalidType(f"{name} must belong to a session in this process, not to Spark Connect")
    return found.queryExecution().analyzed()


def nodes(plan: Any) -> Iterator[Any]:
    """The plan, all below it, and subqueries.  Not looked for in its text, which Spark may cut."""
    yield plan
    for below in (*each(plan.children()), *each(plan.subqueries())):
        yield from nodes(below)


def each(items: Any) -> Iterator[Any]:
    """The items of one of Scala's sequences."""
    return (items.apply(place) for place in range(items.size()))


def _is_leaf(plan: Any) -> bool:
    return bool(plan.children().isEmpty())


def _current(df: DataFrame) -> Any:
    """Spark's mark of expressions that stand for the time, the user and so on of a query."""
    jvm: Any = df.sparkSession._jvm
    return jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()


def _picks(node: Any) -> bool:
    """Whether the operator chooses rows at random, or by their order."""
    name = node.nodeName()
    if name.startswith("Deduplicate"):
        return bool(node.keys().size() < node.output().size())
    return name in _CHOSEN or any(map(_by_order, each(node.expressions())))


def _by_order(expression: Any) -> bool:
    name = expression.getClass().getSimpleName()
    return name in _BY_ORDER or any(map(_by_order, each(expression.children())))


def _places(node: Any, df: DataFrame) -> Iterator[tuple[str, str]]:
    """What a streaming source reads: directories, topics, a table."""
    kind = node.nodeName()
    if kind == "StreamingRelation":
        options = node.dataSource().options()
        found = {name: options.get(name) for name in _READ}
        said = {name: each.get() for name, each in found.items() if each.isDefined()}
    elif kind == "StreamingRelationV2":
        said = {name: node.extraOptions().get(name) for name in _READ}
        if node.identifier().isDefined():
            yield "table", node.identifier().get().toString()
    else:
        return
    for name, text in said.items():
        if name == "path" and text is not None:
            yield name, _directory(text, df)
        elif text is not None:
            yield from (("topic", each.strip()) for each in text.split(","))


def whole_path(text: str, df: DataFrame) -> str:
    """A path with its file system."""
    session: Any = df.sparkSession
    path = session._jvm.org.apache.hadoop.fs.Path(text)
    qualified = path.getFileSystem(session._jsc.hadoopConfiguration()).makeQualified(path)
    return str(qualified.toString())


def _directory(text: str, df: DataFrame) -> str:
    """The whole path, up to the first pattern in it, with a slash at its end."""
    parts = whole_path(text, df).split("/")
    plain = next((at for at, part in enumerate(parts) if _PATTERN & set(part)), len(parts))
    return "/".join(parts[:plain]) + "/"


def _overlap(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """The same topic or table, or a directory and one in it."""
    if one[0] != "path" or other[0] != "path":
        return one == other
    return one[1].startswith(other[1]) or other[1].startswith(one[1])
