import itertools
import os
import shutil

import pytest

from soaks import servers
from soaks.logs import MEMORY
from tests.store.places import Place

_number = itertools.count()


@pytest.fixture(scope="session")
def postgres_server():
    if servers.programs() is None:
        pytest.skip("PostgreSQL's programs are not installed: see scripts/make-postgres")
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30
    with servers.server(MEMORY if roomy else None) as found:
        yield found


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A place for a new store, in either database."""
    if request.param == "sqlite":
        found = Place(tmp_path / "releases.db", None)
    else:
        server = request.getfixturevalue("postgres_server")
        name = f"store_{os.getpid()}_{next(_number)}"
        found = Place(server.new_database(name), tmp_path / "mark")
    yield found
    found.close()
