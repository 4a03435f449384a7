"""Writes the computed pages of the documentation: `python -m lab.tables [NAME]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from lab.tables import (
    command_reference,
    halves_diagram,
    joint_plans,
    noise_laws,
    norms,
    pictures,
    quantile_ranks,
    service_page,
    statistics_coverage,
    unbounded_counting,
    which_mechanism,
)

PAGES: dict[str, Callable[[], None]] = {
    "commands": command_reference.main,
    "halves": halves_diagram.main,
    "joint_plans": joint_plans.main,
    "noise_laws": noise_laws.main,
    "norms": norms.main,
    "pictures": pictures.main,
    "quantiles": quantile_ranks.main,
    "service_page": service_page.main,
    "statistics": statistics_coverage.main,
    "unbounded_counting": unbounded_counting.main,
    "which_mechanism": which_mechanism.main,
}


def main() -> None:
    """Write the chosen page, or all pages."""
    parser = argparse.ArgumentParser(prog="python -m lab.tables")
    parser.add_argument("name", nargs="?", choices=sorted(PAGES), help="one page")
    chosen = parser.parse_args().name
    for name in [chosen] if chosen else PAGES:
        PAGES[name]()


main()
