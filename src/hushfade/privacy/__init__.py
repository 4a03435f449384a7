"""Guarantees, the unit that they protect, and the ledger of what was spent."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "ledger":  # loaded on first use: importing hushfade stays quick
        return import_module("hushfade.privacy.ledger")
    raise AttributeError(f"module 'hushfade.privacy' has no attribute {name!r}")
