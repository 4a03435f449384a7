"""The identity of a frame: the same in every session and on every machine that builds it equally.

    tree       Spark's analyzed plan: operators, expressions, literals, types; its numbers for
               columns are replaced by their order of appearance
    sql        each expression as SQL, which also shows what the tree leaves out, as in try_cast
    sources    where the records come from: format, options and paths, tables, names of files

The module rejects frames without an identity: rows in memory, whose digest would confirm a guess,
and functions in Python or Scala, whose code has no lasting name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from hushfade.errors import InvalidValue
from hushfade.spark.lineage import analyzed, each, nodes, whole_path

_OPERATORS = {
    "Aggregate", "CTERelationDef", "CTERelationRef", "CollectMetrics", "Deduplicate", "Distinct",
    "Except", "Expand", "Filter", "Generate", "Intersect", "Join", "OneRowRelation", "Project",
    "Range", "RebalancePartitions", "Repartition", "RepartitionByExpression", "ResolvedHint",
    "Sort", "SubqueryAlias", "Union", "View", "Window", "WithCTE",
}  # fmt: skip
_SOURCES = {
    "DataSourceV2Relation", "HiveTableRelation", "LogicalRelation", "StreamingRelation",
    "StreamingRelationV2",
}  # fmt: skip
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_FUNCTIONS = re.compile("UDF|UDAF|UDTF|UserDefined|ApplyFunction|V2Aggregator|ViaReflection")
# not a part of what a frame is: marks of a session, the time at which a view was made, the number
# of cores
_LEFT_OUT = {"jvmId", "desc", "dataframeId", "numSlices", "nonInheritableMetadataKeys"}
# options that decide when records are read and not which, and secrets, which may change
_PACE = {
    "maxfilespertrigger", "maxbytespertrigger", "maxoffsetspertrigger", "minoffsetspertrigger",
    "maxtriggerdelay",
}  # fmt: skip
_SECRET = re.compile("(?i)secret|password|token|access[.]?key|credential|jaas")


def identity(df: DataFrame, name: str) -> dict[str, Any]:
    """The identity of the frame, as plain data without records and secrets."""
    plan = analyzed(df, name)
    every = list(nodes(plan))
    sources = [_source(node, df, name) for node in every if _reads(node)]
    tree = _plain(json.loads(plan.toJSON()), {}, name)
    return {"tree": tree, "sql": [list(_sql(node)) for node in every], "sources": sources}


def _sql(node: Any) -> Iterator[str]:
    return (str(expression.sql()) for expression in each(node.expressions()))


def _reads(node: Any) -> bool:
    return bool(node.children().isEmpty()) and _kind(node) not in _OPERATORS


def _kind(node: Any) -> str:
    return str(node.getClass().getSimpleName())


# The tree ------------------------------------------------------------------------------------


def _plain(value: Any, numbers: dict[object, int], name: str) -> Any:
    """The tree without marks of the session.  Raise if it cannot describe an operator."""
    if isinstance(value, list):
        return [_plain(item, numbers, name) for item in value]
    if not isinstance(value, dict):
        return value
    if str(value.get("product-class")).endswith(".ExprId"):
        return numbers.setdefault(value["id"], len(numbers))
    kind, fields = str(value.get("class", "")), dict(value)
    simple = kind.rpartition(".")[2]
    if simple in _SOURCES:
        fields = {"class": simple, "output": fields["output"]}  # the rest is for `_source`
    elif kind:
        _check_known(kind, simple, name)
    if simple == "NamedLambdaVariable":
        del fields["name"]  # numbered by the session
    for key in ("id", "cteId"):
        if simple.startswith("CTERelation") and key in fields:
            fields[key] = numbers.setdefault(("relation", fields[key]), len(numbers))
    return {
        key: _plain(item, numbers, name)
        for key, item in fields.items()
        if key not in _LEFT_OUT and not key.startswith("__")
    }


def _check_known(kind: str, simple: str, name: str) -> None:
    if kind.startswith(_EXPRESSIONS):
        if not _FUNCTIONS.search(simple):
            return
    elif simple in _OPERATORS:
        return
    raise InvalidValue(
        f"{name} must consist of Spark's own expressions, so that the record of the noise key can "
        f"distinguish it from other frames. Found: {simple}. Apply functions before, and write the "
        "result to files or a table"
    )


# Sources -------------------------------------------------------------------------------------


def _source(node: Any, df: DataFrame, name: str) -> list[Any]:
    """The format, options and location of a source."""
    match _kind(node):
        case "StreamingRelation":
            source = node.dataSource()
            options = _options(_scala_map(source.options()), df)
            paths = [whole_path(path, df) for path in each(source.paths())]
            return ["stream", str(source.className()), options, paths]
        case "StreamingRelationV2":
            options = _options(dict(node.extraOptions().asCaseSensitiveMap()), df)
            return ["stream", str(node.sourceName()), options, _table(node)]
        case "LogicalRelation" if _kind(node.relation()) == "HadoopFsRelation":
            files = node.relation()
            options = _options(_scala_map(files.options()), df)
            kind = _kind(files.fileFormat())
            return ["files", kind, options, sorted(map(str, files.inputFiles()))]
        case "DataSourceV2Relation":
            options = _options(dict(node.options().asCaseSensitiveMap()), df)
            return ["table", str(node.table().name()), options, _table(node)]
        case "HiveTableRelation":
            return ["table", str(node.tableMeta().identifier().unquotedString())]
        case kind:
            raise InvalidValue(
                f"{name} must be read from files, tables or a streaming source, so that the record "
                f"of the noise key can distinguish it from other frames. Found: {kind}. Write rows "
                "in memory to files first"
            )


def _table(node: Any) -> list[str]:
    """The catalog and the name of a table, if there is one."""
    catalog, identifier = node.catalog(), node.identifier()
    places = [catalog.get().name()] if catalog.isDefined() else []
    return [
        str(place) for place in [*places, *([identifier.get()] if identifier.isDefined() else [])]
    ]


def _options(options: dict[str, str], df: DataFrame) -> dict[str, str]:
    """The options that decide which records are read, paths with their file system."""
    kept = {key.lower(): str(value) for key, value in options.items() if not _SECRET.search(key)}
    if "path" in kept:
        kept["path"] = whole_path(kept["path"], df)
    return {key: kept[key] for key in sorted(kept.keys() - _PACE)}


def _scala_map(options: Any) -> dict[str, str]:
    return {str(pair._1()): str(pair._2()) for pair in each(options.toSeq())}
