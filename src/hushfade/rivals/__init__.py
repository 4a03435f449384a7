"""Every mechanism that the paper compares with, and the best since, side by side."""

from __future__ import annotations

from hushfade.rivals.mechanism import Mechanism

__all__ = ["Mechanism"]
