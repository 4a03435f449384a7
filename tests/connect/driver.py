"""A stream's driver, in a process of its own that can be killed: python -m tests.connect.driver."""

import sys
from pathlib import Path

from hushfade.connect.spark import KeyFile, local_session, private_decaying_sums
from tests.connect.cases import COLUMNS, HOW, PLAN, QUIET, STEPS


def main(place: Path) -> None:
    """All files of the place, each in a batch, from the place's checkpoint on."""
    session = local_session(
        2,
        spark_log_level="INFO",
        spark_eventLog_enabled="true",
        spark_eventLog_compress="false",
        spark_eventLog_dir=(place / "log").as_uri(),
        **QUIET,
    )
    events = session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    released = private_decaying_sums(
        events.parquet(str(place / "events")), PLAN, steps=STEPS, watermark="3h", buckets=3,
        noise=KeyFile(place / "key", stream="visits"), **HOW,
    )  # fmt: skip
    released.explain(extended=True)
    sink = released.writeStream.option("checkpointLocation", str(place / "kept"))
    query = sink.trigger(availableNow=True).start(str(place / "released"), format="parquet")
    query.explain(extended=True)
    query.awaitTermination()
    query.explain(extended=True)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
