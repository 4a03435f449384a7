"""The options that commands share, in groups.  Each group is declared once, with its help texts.

    parameters   declares options              decay, guarantee, records, time, mechanism, output,
                                               together

A group checks that its options agree with each other, and converts them to hushfade's objects.
"""

from __future__ import annotations

from hushfade.cli.options.decay import DecayOptions
from hushfade.cli.options.guarantee import GuaranteeOptions, PersonOptions
from hushfade.cli.options.mechanism import MechanismOptions
from hushfade.cli.options.output import (
    FileOptions,
    Force,
    PictureOptions,
    PlanFileOptions,
    ReportOptions,
)
from hushfade.cli.options.records import BoundsOptions, RecordOptions
from hushfade.cli.options.time import StepOptions, TimeOptions
from hushfade.cli.options.together import TogetherOptions

__all__ = [
    "BoundsOptions",
    "DecayOptions",
    "FileOptions",
    "Force",
    "GuaranteeOptions",
    "MechanismOptions",
    "PersonOptions",
    "PictureOptions",
    "PlanFileOptions",
    "RecordOptions",
    "ReportOptions",
    "StepOptions",
    "TimeOptions",
    "TogetherOptions",
]
