"""Runs one engine on some targets.

    python -m lab.audits.fuzzing.child_process ENGINE FOLDER TARGET=COUNT ...

This process loads hushfade once and forks a process for each target, because an input may kill the
process and atheris does not return.  It writes the results to FOLDER/TARGET/result.json.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
import traceback
from importlib import import_module
from pathlib import Path

from lab.audits.fuzzing import coverage_guided

NUMBER = 20_261  # the seed of all inputs
PATIENCE = 3600.0  # seconds after which a target is killed


def main() -> None:
    """Run the targets that the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m lab.audits.fuzzing.child_process")
    parser.add_argument("engine", choices=["grammar", "guided"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("targets", nargs="+")
    asked = parser.parse_args()
    if asked.engine == "guided":
        coverage_guided.load()
    import_module("lab.audits.fuzzing.targets")
    for target in asked.targets:
        name, _, count = target.partition("=")
        folder = asked.folder / name
        (folder / "work").mkdir(parents=True)
        process = os.fork()
        if process == 0:
            _alone(asked.engine, name, int(count), folder)
        (folder / "code").write_text(str(_ended(process)))


def _alone(engine: str, name: str, count: int, folder: Path) -> None:
    """Run one target in this process, and exit."""
    code = 1
    try:
        output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        _fed(engine, name, count, folder)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _fed(engine: str, name: str, count: int, folder: Path) -> None:
    from lab.audits.fuzzing import grammar
    from lab.audits.fuzzing.invariants import Watch
    from lab.audits.fuzzing.targets import CONTROLS, TARGETS

    opened = CONTROLS[name] if name in CONTROLS else TARGETS[name][0]
    with opened(folder / "work") as target:
        watch = Watch(target, folder / "last")
        began = time.process_time()

        def done() -> None:
            result = {"name": target.name, "seconds": time.process_time() - began, **watch.counts()}
            (folder / "result.json").write_text(json.dumps(result))

        if engine == "grammar":
            grammar.fed(watch, count, number=NUMBER)
            done()
        else:
            coverage_guided.fed(watch, count, number=NUMBER, folder=folder, done=done)


def _ended(process: int) -> int:
    """The exit code of a child; negative if a signal killed it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


if __name__ == "__main__":
    main()
