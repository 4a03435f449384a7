"""The options that the commands share, each with its help, its unit and its panel.

A command takes them as annotated arguments and hands them to `hushfade.cli.choices`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from hushfade.privacy.guarantee import Neighbours

DecayKind: TypeAlias = Literal["none", "exponential", "power", "window", "custom"]
MethodName: TypeAlias = Literal["square_root", "normalized", "unbounded"]

DECAY, TIME, GUARANTEE, RECORDS, OUTPUT = "Decay", "Time", "Guarantee", "Records", "Output"

# Decay --------------------------------------------------------------------------------------

Kind = Annotated[
    DecayKind | None,
    typer.Option(
        "--decay",
        help="How old records fade. Left out, it is told by the parameter that is given.",
        rich_help_panel=DECAY,
        show_default=False,
    ),
]
HalfLife = Annotated[
    str | None,
    typer.Option(
        "--half-life",
        metavar="STEPS|DURATION",
        help="Exponential: the weight halves in so many steps, or in a time such as 24h.",
        rich_help_panel=DECAY,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        metavar="NUMBER",
        help="Exponential, said otherwise: a record k steps old counts alpha^-k; above 1.",
        rich_help_panel=DECAY,
    ),
]
Power = Annotated[
    float | None,
    typer.Option(
        "--power",
        metavar="NUMBER",
        help="Power law: a record k steps old counts (k+1)^-power; above 0.",
        rich_help_panel=DECAY,
    ),
]
Window = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="STEPS|DURATION",
        help="Sliding window: the last so many whole steps count, or a time such as 7d.",
        rich_help_panel=DECAY,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="1,0.5,0.25",
        help="Custom: the weights of the newest step, the one before, and so on; then zeros.",
        rich_help_panel=DECAY,
    ),
]

# Time ---------------------------------------------------------------------------------------

Every = Annotated[
    str | None,
    typer.Option(
        "--every",
        metavar="DURATION",
        help="A step's length, such as 1h, 15min or 1d. Needed where times are given in durations.",
        rich_help_panel=TIME,
    ),
]
Horizon = Annotated[
    str | None,
    typer.Option(
        "--horizon",
        metavar="STEPS|DURATION",
        help="How long the stream is. Without it the stream may run for ever.",
        rich_help_panel=TIME,
    ),
]

# Guarantee ----------------------------------------------------------------------------------

Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        metavar="NUMBER",
        help="One record, or person, changes no probability by more than a factor e^epsilon.",
        rich_help_panel=GUARANTEE,
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        metavar="NUMBER",
        help="... up to this probability. With --mu or --rho: where epsilon is told.",
        rich_help_panel=GUARANTEE,
        show_default="1e-6 with --mu or --rho",
    ),
]
Mu = Annotated[
    float | None,
    typer.Option(
        "--mu",
        metavar="NUMBER",
        help="Gaussian privacy mu, in place of --epsilon.",
        rich_help_panel=GUARANTEE,
    ),
]
Rho = Annotated[
    float | None,
    typer.Option(
        "--rho",
        metavar="NUMBER",
        help="Zero-concentrated privacy rho = mu^2/2, in place of --epsilon.",
        rich_help_panel=GUARANTEE,
    ),
]
NeighbourRelation = Annotated[
    Neighbours,
    typer.Option(
        "--neighbours",
        help="What is hidden: whether a record is there, or which value it has.",
        rich_help_panel=GUARANTEE,
    ),
]
Participations = Annotated[
    int,
    typer.Option(
        "--participations",
        metavar="COUNT",
        help="In how many steps one person may have records.",
        rich_help_panel=GUARANTEE,
    ),
]
Separation = Annotated[
    str,
    typer.Option(
        "--separation",
        metavar="STEPS|DURATION",
        help="How far apart those steps are at least.",
        rich_help_panel=GUARANTEE,
    ),
]
RecordsPerStep = Annotated[
    int,
    typer.Option(
        "--records-per-step",
        metavar="COUNT",
        help="How many records one person may have in one step.",
        rich_help_panel=GUARANTEE,
    ),
]

# Records ------------------------------------------------------------------------------------

Low = Annotated[
    float | None,
    typer.Option(
        "--low",
        metavar="NUMBER",
        help="The least value of a record; smaller ones count as this. Known beforehand.",
        rich_help_panel=RECORDS,
    ),
]
High = Annotated[
    float | None,
    typer.Option(
        "--high",
        metavar="NUMBER",
        help="The largest value of a record; larger ones count as this. Known beforehand.",
        rich_help_panel=RECORDS,
    ),
]
Resolution = Annotated[
    float | None,
    typer.Option(
        "--resolution",
        metavar="NUMBER",
        help="The grid to which records are rounded, a power of two.",
        rich_help_panel=RECORDS,
        show_default="at most 1/1024 of the range",
    ),
]
Keys = Annotated[
    str | None,
    typer.Option(
        "--keys",
        metavar="A,B,C",
        help="One series for each of these keys, declared beforehand.",
        rich_help_panel=RECORDS,
    ),
]
KeysFile = Annotated[
    Path | None,
    typer.Option(
        "--keys-file",
        metavar="FILE",
        help="The same from a UTF-8 file with one key a line.",
        rich_help_panel=RECORDS,
    ),
]
Method = Annotated[
    MethodName,
    typer.Option(
        "--method",
        help="Where the noise goes: the square root of the weights; normalized, which needs and "
        "uses --horizon; unbounded, for counting without one.",
        rich_help_panel=RECORDS,
    ),
]

# Output -------------------------------------------------------------------------------------

Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="One JSON document on the standard output, and nothing else there.",
        rich_help_panel=OUTPUT,
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Write a picture, .png or .svg.",
        rich_help_panel=OUTPUT,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the result to this file, whole or not at all.",
        rich_help_panel=OUTPUT,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace files that exist.",
        rich_help_panel=OUTPUT,
    ),
]
