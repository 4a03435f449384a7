import os
import shutil

import pytest

from hushfade.connect.spark import local_session
from tests.connect.cases import QUIET


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session on this machine.  Where a build must be whole, Java must be there."""
    if shutil.which("java") is None and "CI" not in os.environ:
        pytest.skip("Java is not installed: see scripts/make-java")
    place = tmp_path_factory.mktemp("spark")
    session = local_session(2, spark_sql_warehouse_dir=str(place), **QUIET)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class Files:
    """A directory of events that a stream reads, one file a batch."""

    def __init__(self, place):
        self.place = place / "events"
        self.place.mkdir()
        self._count = 0

    def add(self, frame):
        path = self.place / f"{self._count:03d}.parquet"
        frame.astype({"at": "datetime64[us, UTC]"}).to_parquet(path, index=False)
        os.utime(path, (10**9 + self._count, 10**9 + self._count))
        self._count += 1

    def stream(self, session, columns):
        reader = session.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.place))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("connect")
