import itertools
import os

import pytest

from tests.store import places

_number = itertools.count()


@pytest.fixture(scope="session")
def postgres_server():
    if places.programs() is None:
        pytest.skip("PostgreSQL's programs are not installed: see scripts/make-postgres")
    with places.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A place for a new store, in either database."""
    if request.param == "sqlite":
        found = places.Place(tmp_path / "releases.db", None)
    else:
        url = request.getfixturevalue("postgres_server")
        name = f"store_{os.getpid()}_{next(_number)}"
        found = places.Place(places.new_database(url, name), tmp_path / "mark")
    yield found
    found.close()
