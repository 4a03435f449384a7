"""A description of the machine, as far as it affects speed."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "numba", "cryptography", "river")
LOAD = os.getloadavg()[0]  # as the run begins


def described() -> str:
    """Processor, cores, memory, load and versions in one line, without the name of the host."""
    parts = [_processor(), f"{os.cpu_count()} cores", _memory(), f"load {LOAD:.1f} at the start"]
    parts += [f"Python {platform.python_version()}", *map(_library, LIBRARIES)]
    return ", ".join(part for part in parts if part)


def _processor() -> str:
    """The processor's model on Linux, or the architecture."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _memory() -> str:
    names = getattr(os, "sysconf_names", {})
    if not {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= set(names):
        return ""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{size / 2**30:.0f} GiB"


def _library(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return ""
