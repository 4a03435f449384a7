"""The options of `hushfade run` alone: where records come from, and where releases go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hushfade.cli.options import GUARANTEE, OUTPUT, RECORDS, TIME

NOISE = "Noise"

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES",
        help="CSV, TSV, JSON lines or Parquet; .gz, .bz2, .zst and .lz4 are unpacked; - is the "
        "standard input.",
        show_default=False,
    ),
]
InputFormat = Annotated[
    Literal["csv", "tsv", "jsonl", "parquet"] | None,
    typer.Option(
        "--input-format",
        help="The files' format. Left out, their names say it; the standard input is CSV.",
        rich_help_panel=RECORDS,
        show_default=False,
    ),
]
Value = Annotated[
    str | None,
    typer.Option(
        "--value",
        metavar="COLUMN",
        help="What is summed. Without it each record counts 1. Needs --low and --high.",
        rich_help_panel=RECORDS,
    ),
]
SkipEmpty = Annotated[
    bool,
    typer.Option(
        "--skip-empty",
        help="Records without a value are left out; otherwise they are refused.",
        rich_help_panel=RECORDS,
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="COLUMN",
        help="Which of the --keys a record belongs to. Records of other keys are dropped.",
        rich_help_panel=RECORDS,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="When a record happened: 2026-01-31, 2026-01-31T12:00, with Z or +01:00 or without. "
        "Without it the rows are the steps, in order.",
        rich_help_panel=TIME,
    ),
]
TimeUnit = Annotated[
    Literal["s", "ms", "us", "ns"] | None,
    typer.Option(
        "--time-unit",
        help="Times are numbers: so many of these since 1970, UTC.",
        rich_help_panel=TIME,
        show_default=False,
    ),
]
Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="TIME",
        help="When the first step begins. Records before it are dropped.",
        rich_help_panel=TIME,
        show_default="live: the step that is open",
    ),
]
End = Annotated[
    str | None,
    typer.Option(
        "--end",
        metavar="TIME",
        help="When the last step ends. Records from then on are dropped.",
        rich_help_panel=TIME,
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps",
        metavar="COUNT",
        help="How many steps, in place of --end; live: stop after so many.",
        rich_help_panel=TIME,
    ),
]
PublicRange = Annotated[
    bool,
    typer.Option(
        "--public-range",
        help="Take the first and the last step from the data: only where the times of the first "
        "and the last record are public. Reads the files twice.",
        rich_help_panel=TIME,
    ),
]
RowsPerStep = Annotated[
    int,
    typer.Option(
        "--rows-per-step",
        metavar="COUNT",
        help="Without --time: how many rows make a step.",
        rich_help_panel=TIME,
    ),
]
Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Read lines from the standard input as they come, and release when a step closes: "
        "with --every by the clock, else at each empty line.",
        rich_help_panel=TIME,
    ),
]
Lateness = Annotated[
    str | None,
    typer.Option(
        "--lateness",
        metavar="DURATION",
        help="Live: how long after its end a step waits for late records.",
        rich_help_panel=TIME,
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="COLUMN",
        help="Whose record it is. Records beyond --participations, --separation and "
        "--per-user-limit are dropped, first come first counted, so that the guarantee holds for "
        "each person.",
        rich_help_panel=GUARANTEE,
    ),
]
Participations = Annotated[
    int | None,
    typer.Option(
        "--participations",
        metavar="COUNT",
        help="In how many steps one person may count, over the whole run.",
        rich_help_panel=GUARANTEE,
        show_default="1; must be given with --user",
    ),
]
PerUserLimit = Annotated[
    int,
    typer.Option(
        "--per-user-limit",
        "--records-per-step",
        metavar="COUNT",
        help="How many records one person may have in one step.",
        rich_help_panel=GUARANTEE,
    ),
]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="A plan that hushfade plan -o wrote, in place of the options of decay, guarantee and "
        "bounds.",
        rich_help_panel=GUARANTEE,
    ),
]
NoiseKey = Annotated[
    Path | None,
    typer.Option(
        "--noise-key",
        metavar="FILE",
        help="32 secret bytes, mode 0600: the same noise when a failed run is repeated. Needs "
        "--stream. Never for other data.",
        rich_help_panel=NOISE,
    ),
]
StreamName = Annotated[
    str | None,
    typer.Option(
        "--stream",
        metavar="NAME",
        help="With --noise-key: the name of this series, another for each.",
        rich_help_panel=NOISE,
    ),
]
UnsafeSeed = Annotated[
    int | None,
    typer.Option(
        "--unsafe-seed",
        metavar="NUMBER",
        help="Noise that anybody can repeat: for tests and examples. Nothing is private.",
        rich_help_panel=NOISE,
    ),
]
OutputFormat = Annotated[
    Literal["csv", "jsonl", "parquet"] | None,
    typer.Option(
        "--output-format",
        help="Left out, the name of --output says it; the standard output is CSV.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        "--confidence",
        metavar="NUMBER",
        help="How often lower and upper hold the true sum between them.",
        rich_help_panel=OUTPUT,
    ),
]
NonNegative = Annotated[
    bool,
    typer.Option(
        "--non-negative",
        help="Show 0 for values below 0. Costs a bias, no privacy.",
        rich_help_panel=OUTPUT,
    ),
]
Whole = Annotated[
    bool,
    typer.Option(
        "--whole",
        help="Round values to whole numbers. Costs no privacy.",
        rich_help_panel=OUTPUT,
    ),
]
Watch = Annotated[
    bool,
    typer.Option(
        "--watch",
        help="Draw the series in the terminal while it is released.",
        rich_help_panel=OUTPUT,
    ),
]
