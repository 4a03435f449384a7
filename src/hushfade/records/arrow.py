"""pyarrow has no types: this module names its classes, as Any."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

Values: TypeAlias = Any
"""A pyarrow.ChunkedArray: one column of a batch."""

Schema: TypeAlias = Any
"""A pyarrow.Schema."""

Table: TypeAlias = Any
"""A pyarrow.Table."""

pa: Any = import_module("pyarrow")
compute: Any = import_module("pyarrow.compute")


def part(name: str) -> Any:
    """pyarrow.csv, pyarrow.json or pyarrow.parquet, imported on first use."""
    return import_module(f"pyarrow.{name}")
