import itertools
import os

import pytest

from tests.store.places import Place

_number = itertools.count()


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
