"""Stages that make Spark try a task again, and that write down what each try saw."""

import os
import time
from pathlib import Path

from pyspark import TaskContext

RELEASED = "step bigint, time timestamp, key string, value double, stddev double"
SLOW = 15.0  # seconds; a copy is started, or the driver killed, long before


def failing_once(place: str):
    """A stage that fails after its work is done, the first time that each task is tried."""

    def passed(batches):
        yield from batches
        found = TaskContext.get()
        if found.attemptNumber() == 0:
            number = f"{found.stageId()}-{found.partitionId()}"
            (Path(place) / f"failed-{number}").touch()
            raise RuntimeError("this task fails when it is done")

    return passed


def waiting(place: str, run: str = ""):
    """A stage that writes down what each try of a task saw; the first with any rows is slow."""

    def passed(frames):
        task, rows = TaskContext.get(), 0
        name = f"{task.stageId()}-{task.partitionId()}-{task.attemptNumber()}"
        for number, frame in enumerate(frames):
            rows += len(frame)
            part = Path(place, run, f"{name}-{number}.part")
            frame.to_parquet(part)
            os.replace(part, part.with_suffix(".parquet"))
            yield frame
        if rows and task.attemptNumber() == 0 and _first(place):
            time.sleep(SLOW)

    return passed


def _first(place: str) -> bool:
    """Is this the first task to ask?"""
    try:
        (Path(place) / "slow").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
