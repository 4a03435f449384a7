"""A stream's driver, in a process of its own that can be killed: python -m tests.spark.driver."""

import os
import sys
from pathlib import Path

from hushfade.spark import KeyFile, local_session, private_decaying_sums
from tests.spark.cases import COLUMNS, HOW, PLAN, QUIET, STEPS
from tests.spark.conftest import read, written
from tests.spark.tries import RELEASED, waiting

LOGGING = """
rootLogger.level = info
logger.spark.name = org.apache.spark
logger.spark.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c %m%n
"""


def main(place: Path) -> None:
    """All files of the place, each in a batch, from the place's checkpoint on.

    What its tasks draw is written down in a directory of its own, and the first that draws waits.
    """
    java, told = QUIET["spark_driver_extraJavaOptions"], place / "log4j2.properties"
    told.write_text(LOGGING)
    session = local_session(
        2,
        spark_eventLog_enabled="true",
        spark_eventLog_compress="false",
        spark_eventLog_dir=(place / "log").as_uri(),
        **QUIET | {"spark_driver_extraJavaOptions": f"{java} -Dlog4j2.configurationFile={told}"},
    )
    released = private_decaying_sums(
        read(session, place / "events", COLUMNS), PLAN, steps=STEPS, lateness="4h", buckets=3,
        clock=read(session, place / "clock", "timestamp timestamp"),
        noise=KeyFile(place / "key", stream="visits"), **HOW,
    )  # fmt: skip
    released.explain(extended=True)
    run = str(os.getpid())
    (place / "drawn" / run).mkdir(parents=True)
    again = released.mapInPandas(waiting(str(place / "drawn"), run), RELEASED)
    written(again, place).explain(extended=True)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
