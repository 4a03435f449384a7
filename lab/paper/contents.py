"""The report's chapters, in order."""

from __future__ import annotations

from lab.paper import (
    beyond,
    bolot,
    bounds,
    calibration,
    class_f,
    coefficients,
    completion,
    discrepancy,
    earlier_bounds,
    exponentials,
    formula,
    gaps,
    limit,
    mechanisms,
    power_laws,
    releases,
    window,
    window_stream,
)
from lab.paper.document import Chapter

CHAPTERS = (
    Chapter("bounds", "Theorem 2: the factorization norms of every decay", bounds.blocks),
    Chapter("formula", "The formula for a_n, by Bell polynomials", formula.blocks),
    Chapter("membership", "The class F", class_f.blocks),
    Chapter("power-laws", "Theorems 3, 19 and 20: power laws", power_laws.blocks),
    Chapter("exponentials", "Theorem 4: exponentials", exponentials.blocks),
    Chapter("gaps", "The gaps between upper and lower bound", gaps.blocks),
    Chapter("prior", "Section 4.1: the bounds known before, and Lemma 16", earlier_bounds.blocks),
    Chapter("bolot", "Sections 4.2 and 4.3: the Gaussian mechanism, Bolot et al.", bolot.blocks),
    Chapter(
        "mechanisms", "The mechanisms known before, against the number of steps", mechanisms.blocks
    ),
    Chapter("window", "Theorem 7: the sliding window, printed and corrected", window.blocks),
    Chapter("window-stream", "The sliding window on a simulated stream", window_stream.blocks),
    Chapter(
        "coefficients",
        "The numbers quoted with Figures 1 and 2, printed and corrected",
        coefficients.blocks,
    ),
    Chapter("discrepancy", "Hereditary discrepancy and its bounds by γ2", discrepancy.blocks),
    Chapter("completion", "Schur products, completion, Mathias' footnote", completion.blocks),
    Chapter("calibration", "The noise: how much, and its law", calibration.blocks),
    Chapter("releases", "Algorithm 1 at work", releases.blocks),
    Chapter("limit", "Beyond the paper: the limit of γ2, and certificates", limit.blocks),
    Chapter("beyond", "Beyond the paper: horizons, memory, and the class F", beyond.blocks),
)
