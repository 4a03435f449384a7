"""All targets by name, each with how many of a thousand inputs it gets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from audits.parsers import documents, live, planted, rows, words
from audits.parsers.law import Target

Opened: TypeAlias = Callable[[Path], AbstractContextManager[Target]]

TARGETS: dict[str, tuple[Opened, int]] = {
    "plans": (documents.plans, 100),
    "companions": (documents.companions, 20),
    "streams": (documents.streams, 50),
    "traces": (documents.traces, 30),
    "series": (documents.series, 60),
    "marks": (documents.marks, 80),
    "commas": (rows.commas, 60),
    "tabs": (rows.tabs, 30),
    "objects": (rows.objects, 40),
    "pages": (rows.pages, 30),
    "arrows": (rows.arrows, 60),
    "lines": (rows.lines, 50),
    "durations": (words.durations, 100),
    "calendars": (words.calendars, 100),
    "options": (words.options, 50),
    "keys": (live.keys, 60),
    "steps": (live.steps, 60),
    "bodies": (live.bodies, 20),
}
CONTROLS: dict[str, Opened] = {
    "crashes": planted.crashes,
    "changes": planted.changes,
    "leaks": planted.leaks,
    "hangs": planted.hangs,
    "passages": planted.passages,
}
