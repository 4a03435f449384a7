import json
import os
import shutil
from urllib.parse import unquote, urlparse

import pandas as pd
import pytest

from hushfade.spark import local_session
from tests.spark.cases import COLUMNS, QUIET


def need_java():
    """Skip where there is no Java.  `make test` always has one, of the machine or from a wheel."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: run lab/scripts/make-java")


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session on this machine."""
    need_java()
    place = tmp_path_factory.mktemp("spark")
    session = local_session(
        2,
        spark_sql_warehouse_dir=str(place),
        spark_python_daemon_module="tests.spark.warm_daemon",
        **QUIET,
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class Files:
    """Directories of events and of times that a stream reads, one file of each a batch."""

    def __init__(self, place):
        self.places = {name: place / name for name in ("events", "clock")}
        for directory in self.places.values():
            directory.mkdir()
        self._count = 0

    def add(self, frame, clock):
        """The events of a batch, and what the clock says at its end."""
        said = pd.DataFrame({"timestamp": [pd.Timestamp(clock)]})
        for name, rows, column in (("events", frame, "at"), ("clock", said, "timestamp")):
            path = self.places[name] / f"{self._count:03d}.parquet"
            rows.astype({column: "datetime64[us, UTC]"}).to_parquet(path, index=False)
            os.utime(path, (10**9 + self._count, 10**9 + self._count))
        self._count += 1

    def stream(self, session, columns=COLUMNS):
        return read(session, self.places["events"], columns)

    def clock(self, session):
        return read(session, self.places["clock"], "timestamp timestamp")


def read(session, directory, columns):
    reader = session.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(directory))


def written(released, place, name="released"):
    """All that there is now, to files; the query when it is done."""
    sink = released.writeStream.option("checkpointLocation", str(place / "kept"))
    query = sink.trigger(availableNow=True).start(str(place / name), format="parquet")
    query.awaitTermination()
    return query


def published(place):
    """The files that the sink has committed, as a reader of it sees them."""
    lines = [
        json.loads(line)
        for log in (place / "released" / "_spark_metadata").glob("[0-9]*")
        for line in log.read_text().splitlines()[1:]
    ]
    paths = [unquote(urlparse(line["path"]).path) for line in lines if line["action"] == "add"]
    return pd.concat([pd.read_parquet(path) for path in paths])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("connect")
