"""The third-party auditors, and how they run: each in its own environment."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import environments
from lab.environments import Absent, made, ran, reason
from lab.paths import ROOT

PLACE = environments.PLACE / "auditors"
PATIENCE = 1800.0  # seconds for all results of one library
SETTINGS = {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}


@dataclass(frozen=True)
class Auditor:
    """A library: its script in this package, and the requirements that pip installs."""

    title: str
    script: str
    wanted: tuple[str, ...]
    alone: tuple[str, ...] = ()  # installed without dependencies
    takes_delta: bool = True


AUDITORS = (
    Auditor("JAX Privacy", "jax_privacy", ("jax-privacy==2.0.0", "numpy==2.4.6")),
    Auditor("privacy-estimates", "privacy_estimates", ("privacy-estimates==0.1.0.post1",)),
    Auditor(
        "TensorFlow Empirical Privacy",
        "empirical_privacy",
        ("immutabledict==2.2.5", "numpy==2.4.6", "scikit-learn==1.9.1", "statsmodels==0.15.0"),
        # the only module that the script uses needs neither TensorFlow nor its models
        alone=("tensorflow-empirical-privacy==0.1.0",),
        takes_delta=False,
    ),
)


@dataclass(frozen=True)
class Answer:
    """Versions, and for each mechanism and method its bound, or the reason why it failed."""

    versions: dict[str, str]
    bounds: dict[str, dict[str, float | str]]


def asked(auditor: Auditor, scores: Path) -> Answer:
    """The auditor's result for the scores; raises Absent with the reason if it fails."""
    command = [
        str(installed(auditor)),
        "-m",
        f"lab.audits.other_auditors.{auditor.script}",
        str(scores),
    ]
    try:
        done = ran(command, cwd=ROOT, timeout=PATIENCE, **SETTINGS)
    except subprocess.TimeoutExpired:
        raise Absent(f"no answer within {PATIENCE:g} s") from None
    if done.returncode != 0:
        raise Absent(reason(done.stderr))
    found: dict[str, Any] = json.loads(done.stdout)
    return Answer(found["versions"], found["bounds"])


def installed(auditor: Auditor) -> Path:
    """The auditor's Python, in an environment with its requirements; raises Absent if pip fails."""
    alone = [("--no-deps", *auditor.alone)] if auditor.alone else []
    return made(PLACE / auditor.script, auditor.wanted, *alone)


def offered(package: str) -> str | None:
    """The newest version that pip finds under this name, or None; installs nothing.

    Anybody can register an unused name tomorrow, so this module never installs unknown packages.
    """
    command = [sys.executable, "-m", "pip", "index", "versions", package]
    done = ran([*command, "--disable-pip-version-check"], cwd=ROOT)
    newest = re.match(r"\S+ \((?P<version>[^)]+)\)", done.stdout)
    return newest["version"] if done.returncode == 0 and newest else None
