import pytest

from tests.serve.client import Client
from tests.store.conftest import place

__all__ = ["place"]  # a fixture here too


@pytest.fixture
def make(tmp_path):
    """Makes a service of a new store, and stops it after the test."""
    made = []

    def make(name="releases.db", **settings):
        made.append(Client(tmp_path / name, **settings))
        return made[-1]

    yield make
    for client in made:
        client.stop()


@pytest.fixture
def client(make):
    """A service without tokens, with four streams."""
    return make()


@pytest.fixture
def start(place):
    """Starts the service of one store, in either database, and the next when that has stopped."""
    made = []

    def start(**settings):
        if made:
            made[-1].stop()
            settings = {"plans": {}} | settings  # they are there
        made.append(Client(place.where, mark=place.mark, **settings))
        return made[-1]

    yield start
    for client in made:
        client.stop()
