"""Guarantees, the unit of privacy, and the ledger of the privacy budget."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "ledger":  # loaded on first use, so that importing hushfade stays fast
        return import_module("hushfade.privacy.ledger")
    raise AttributeError(f"module 'hushfade.privacy' has no attribute {name!r}")
