import pytest

from tests.serve.client import Client


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
