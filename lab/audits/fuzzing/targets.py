"""All fuzz targets by name, each with its share of a thousand inputs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from lab.audits.fuzzing import documents, live_inputs, option_texts, planted_faults, record_files
from lab.audits.fuzzing.invariants import Target

Opened: TypeAlias = Callable[[Path], AbstractContextManager[Target]]

TARGETS: dict[str, tuple[Opened, int]] = {
    "plans": (documents.plans, 100),
    "companions": (documents.companions, 20),
    "streams": (documents.streams, 50),
    "traces": (documents.traces, 30),
    "series": (documents.series, 60),
    "marks": (documents.marks, 80),
    "commas": (record_files.commas, 60),
    "tabs": (record_files.tabs, 30),
    "objects": (record_files.objects, 40),
    "pages": (record_files.pages, 30),
    "arrows": (record_files.arrows, 60),
    "lines": (record_files.lines, 50),
    "durations": (option_texts.durations, 100),
    "calendars": (option_texts.calendars, 100),
    "options": (option_texts.options, 50),
    "keys": (live_inputs.keys, 60),
    "steps": (live_inputs.steps, 60),
    "bodies": (live_inputs.bodies, 20),
}
CONTROLS: dict[str, Opened] = {
    "crashes": planted_faults.crashes,
    "changes": planted_faults.changes,
    "leaks": planted_faults.leaks,
    "hangs": planted_faults.hangs,
    "passages": planted_faults.passages,
}
