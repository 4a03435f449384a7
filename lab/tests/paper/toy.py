"""A report small enough to be checked by eye."""

import numpy as np

from lab.paper.document import Chapter, Claim, Figure, Line, Panel, Prose, Table, line

SQUARES = line("squares", np.arange(1, 5), np.arange(1, 5) ** 2)
TEN = line("ten", [1, 4], 10)
BAND = Line("about", (1.0, 4.0), (0.5, 15.0), "band", (1.5, 17.0))
FIGURE = Figure(
    "toy-squares",
    "Squares [of *whole* numbers].",
    (
        Panel("from one", "n", "n²", (SQUARES, BAND)),
        Panel("logarithmic", "n", "n²", (SQUARES, line("ten", [1, 4], 10)), x_log=True, y_log=True),
    ),
)
TABLE = Table(
    "toy-table",
    "Kinds of cells.",
    ("word", "whole", "real", "truth"),
    (("a|b", 1048576, 1.0327955589886444, True), ("c", -1, 5.96e-8, False)),
    digits=5,
)
HOLDS = Claim("Theorem 3", "|x| ≤ 1", "1", "0.5", "holds")
WEAK = Claim("Claim 14", "S ≤ 804.7", "804.7", "2.25", "weak", "S ≤ 2.3")
FALSE = Claim("Theorem 3", "γ2 ≤ 1", "1", "1.0328", "false", "the sum runs to T")


def first(extent):
    yield Prose(f"Two *claims*, {extent.name}.")
    yield HOLDS
    yield FALSE
    yield TABLE


def second(extent):
    yield FIGURE
    yield Prose("- one\n- two")
    yield WEAK


CHAPTERS = (Chapter("one", "The first", first), Chapter("two", "The second & last", second))
