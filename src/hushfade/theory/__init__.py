"""The paper's theory as objects that compute: norms, bounds, certificates, implications."""

from __future__ import annotations

from hushfade.theory.bound import Bound, Bracket

__all__ = ["Bound", "Bracket"]
