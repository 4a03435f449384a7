import pytest

from hushfade.errors import Failed, Refused

pytest.importorskip("psycopg")

from hushfade.store.postgres import Postgres


def test_why_it_cannot_be_opened_is_told_in_words(postgres_server):
    where = postgres_server.url
    for changed, told in [
        (postgres_server.database("none"), "the database does not exist"),
        (where.replace("postgres@", "nobody:secret@"), "the user does not exist"),
        (where.replace("host=", "host=/nowhere"), "no server runs on this host"),
        (where + "&port=secret", "its address must have the form postgresql://"),
        (where + "&secret=1", "its address must have the form postgresql://"),
    ]:
        with pytest.raises(Failed, match=f"the database cannot be opened: {told}") as caught:
            Postgres(changed)
        assert "secret" not in str(caught.value)
        assert "published" not in str(caught.value)


def test_a_second_writer_is_refused_and_not_told_the_address(postgres_server, monkeypatch):
    monkeypatch.setattr("hushfade.store.postgres._PATIENCE", 0.0)
    first = Postgres(postgres_server.url)
    with pytest.raises(Refused) as caught:
        Postgres(postgres_server.url)
    assert str(caught.value).startswith("another process writes to this database: stop it")
    first.close()


def test_what_cannot_be_read_is_not_said_to_be_unpublished(postgres_server):
    database = Postgres(postgres_server.url)
    with pytest.raises(Failed, match=r"cannot be read: UndefinedTable$"):
        database.read("SELECT * FROM nothing")
    with pytest.raises(Failed, match=r"cannot be written: UndefinedTable; nothing was published$"):
        database.write("DELETE FROM nothing")
    database.close()


def test_the_server_notices_a_lost_network_soon(postgres_server, monkeypatch):
    """Otherwise it holds the lock of the connection for as long as the system allows: hours.

    The test's server listens on a Unix socket only, where these settings have no effect.
    """
    given, read = {}, Postgres.read

    def watching(self, sql, *values):
        if sql == "SELECT set_config(?, ?, false)":
            given[values[0]] = int(values[1]) if values[1].isdecimal() else values[1]
        return read(self, sql, *values)

    monkeypatch.setattr(Postgres, "read", watching)
    Postgres(postgres_server.new_database("keepalives")).close()
    idle, pause, count = (given[f"tcp_keepalives_{x}"] for x in ("idle", "interval", "count"))
    assert idle + pause * count <= 30
