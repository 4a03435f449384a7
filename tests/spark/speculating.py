"""A driver whose slow tasks are run twice: python -m tests.spark.speculating place master."""

import os
import sys
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from hushfade.spark import KeyFile, local_session, private_decaying_sums
from tests.spark import tries
from tests.spark.cases import COLUMNS, HOW, PLAN, STEPS
from tests.spark.cluster import JAVA
from tests.spark.conftest import read, written
from tests.spark.tries import RELEASED, waiting

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "700m",
    "spark.executor.memory": "600m",
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def main(place: Path, master: str) -> None:
    """A table and a stream, in which the first try of partition 0 tells its rows and then waits."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # as a user of a cluster must
    cloudpickle.register_pickle_by_value(tries)  # workers have no tests
    builder = SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    builder.getOrCreate()
    session = local_session(2)  # the same session, with the rest of what streams need
    noise = KeyFile(place / "key", stream="visits")
    table = private_decaying_sums(
        session.read.parquet(str(place / "events")),
        PLAN,
        steps=STEPS,
        noise=noise,
        buckets=3,
        **HOW,
    )
    again = table.mapInPandas(waiting(str(place / "table")), RELEASED)
    again.write.parquet(str(place / "tabled"))
    stream = private_decaying_sums(
        read(session, place / "events", COLUMNS), PLAN, steps=STEPS, buckets=3,
        noise=KeyFile(place / "key", stream="visits", record=place / "stream.uses"),
        clock=read(session, place / "clock", "timestamp timestamp"), lateness="1s", **HOW,
    )  # fmt: skip
    written(stream.mapInPandas(waiting(str(place / "stream")), RELEASED), place)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
