"""Planning: a stream's mechanism, privacy and accuracy, fixed before any record arrives."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "certificate":  # loaded on first use, so that importing hushfade stays fast
        return import_module("hushfade.planning.certificate")
    raise AttributeError(f"module 'hushfade.planning' has no attribute {name!r}")
