"""Tokens of a service that runs, and what is kept apart by them."""

import pytest

from hushfade.errors import InvalidValue, Refused
from hushfade.store import Reader, Store, tokens
from hushfade.store.live_streams import SENDERS
from hushfade.store.tokens import SCOPES
from tests.serve.client import UNIT, Listener


@pytest.fixture
def guarded(make):
    return make("guarded.db", scopes=SCOPES)


def added(client, name, scopes, as_="admin"):
    found = client.post("/v1/tokens", {"name": name, "scopes": scopes}, as_=as_)
    if found.status_code == 201:
        client.tokens[name] = found.json()["token"]
    return found


def admin(client):
    return b"authorization", f"Bearer {client.tokens['admin']}".encode()


def send(client, as_, sequence=1, sender="a"):
    content = {"sender": sender, "sequence": sequence, "records": [1]}
    return client.post("/v1/streams/late/records", content, as_=as_)


def test_a_token_made_while_it_runs_opens_at_once_what_its_scopes_allow(guarded):
    found = added(guarded, "page", ["read"])
    assert found.status_code == 201
    assert found.json()["scopes"] == ["read"]
    assert guarded.get("/v1/streams", as_="page").status_code == 200
    assert send(guarded, "page").status_code == 403
    listed = guarded.get("/v1/tokens", as_="admin").json()["tokens"]
    assert {"name": "page", "scopes": ["read"]} in listed
    assert guarded.tokens["page"] not in str(listed)


def test_a_token_made_while_it_runs_is_kept_in_the_store(guarded, tmp_path):
    added(guarded, "page", ["read"])
    again = tokens.kept(Reader.beside(tmp_path / "guarded.db"))
    assert tokens.bearer(again, guarded.tokens["page"]).name == "page"


def test_a_revoked_token_opens_nothing_at_once(guarded):
    assert send(guarded, "ingest").status_code == 200
    assert guarded.request("DELETE", "/v1/tokens/ingest", as_="admin").json()["revoked"]
    assert send(guarded, "ingest", 2).status_code == 401


def test_a_listener_is_let_go_when_its_token_is_revoked(guarded):
    bearer = (b"authorization", f"Bearer {guarded.tokens['read']}".encode())
    listener = Listener(guarded, "/v1/streams/late/events", [bearer])
    other = Listener(guarded, "/v1/streams/late/events", [admin(guarded)])
    listener.until("retry")
    other.until("retry")
    assert guarded.request("DELETE", "/v1/tokens/read", as_="admin").status_code == 200
    listener.task.result(10)
    assert not other.task.done()
    assert "event: end" not in listener.text
    other.leave()


def test_the_last_administrators_token_is_not_revoked(guarded):
    assert guarded.request("DELETE", "/v1/tokens/admin", as_="admin").status_code == 409
    added(guarded, "other", ["admin", "read"])
    assert guarded.request("DELETE", "/v1/tokens/admin", as_="admin").status_code == 200
    assert guarded.request("DELETE", "/v1/tokens/other", as_="other").status_code == 409


def test_the_first_token_of_an_open_service_must_be_an_administrators(client):
    assert added(client, "sensors", ["ingest"], as_=None).status_code == 409
    assert client.get("/v1/streams").status_code == 200
    assert added(client, "us", ["admin"], as_=None).status_code == 201
    assert client.get("/v1/streams").status_code == 401
    assert added(client, "sensors", ["ingest"], as_="us").status_code == 201


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ({"name": "a", "scopes": []}, 422),
        ({"name": "a", "scopes": ["all"]}, 422),
        ({"name": "a", "scopes": "read"}, 400),
        ({"name": "a", "scopes": [1]}, 400),
        ({"name": "a/b", "scopes": ["read"]}, 422),
        ({"name": "..", "scopes": ["read"]}, 422),
        ({"name": "", "scopes": ["read"]}, 400),
        ({"name": "a\n", "scopes": ["read"]}, 400),
        ({"name": "read", "scopes": ["read"]}, 409),
        ({"scopes": ["read"]}, 400),
    ],
)
def test_a_token_that_is_asked_for_wrongly_is_refused(guarded, content, status):
    before = guarded.get("/v1/tokens", as_="admin").json()
    assert guarded.post("/v1/tokens", content, as_="admin").status_code == status
    assert guarded.get("/v1/tokens", as_="admin").json() == before


def test_a_token_that_is_not_there_cannot_be_revoked(guarded):
    assert guarded.request("DELETE", "/v1/tokens/nobody", as_="admin").status_code == 404


def test_no_token_can_use_up_the_sequence_of_anothers_sender(guarded):
    added(guarded, "rival", ["ingest"])
    assert send(guarded, "rival", 500).json()["status"] == "accepted"
    for _ in range(2):
        assert send(guarded, "ingest", 1).json()["status"] == "accepted"
    assert guarded.totals() == [2 * UNIT]


def test_a_new_token_of_the_same_name_goes_on_with_its_senders(guarded):
    assert send(guarded, "ingest", 5).json()["status"] == "accepted"
    guarded.request("DELETE", "/v1/tokens/ingest", as_="admin")
    added(guarded, "ingest", ["ingest"])
    assert send(guarded, "ingest", 5).json()["status"] == "accepted"
    assert guarded.totals() == [UNIT]


def test_a_token_and_a_sender_cannot_be_joined_to_be_another_pair(guarded):
    """The names are printable, and what stands between them is not."""
    added(guarded, "ingest b", ["ingest"])
    assert send(guarded, "ingest b", 9, sender="c").json()["status"] == "accepted"
    for sender in ("b c", "bc", "b\nc"):
        before = guarded.totals()[0]
        counted = send(guarded, "ingest", 1, sender=sender).status_code == 200
        assert guarded.totals() == [before + UNIT * counted]


def test_tokens_are_made_together_or_not_at_all(tmp_path):
    store = Store.open(tmp_path / "releases.db")
    tokens.add(store, "c", ["read"])
    texts = {name: tokens.new_text() for name in "abc"}
    with pytest.raises(Refused, match="'c' already exists"):
        tokens.add_all(store, texts, ["ingest"])
    assert [token.name for token in tokens.kept(store)] == ["c"]
    del texts["c"]
    tokens.add_all(store, texts, ["ingest"])
    kept = tokens.kept(store)
    assert [tokens.bearer(kept, text).name for text in texts.values()] == ["a", "b"]
    store.close()


def test_a_stream_has_so_many_senders_and_no_more(client):
    live = client.store.live("late")
    live._owners[""] = SENDERS - 1
    assert client.send([1]).json()["status"] == "accepted"
    assert client.send([1], sender="b").status_code == 409
    assert client.send([1], 2).json()["status"] == "accepted"


@pytest.mark.parametrize("name", ["a/b", ".", "..", "", "a\n", "x" * 201])
def test_a_name_that_is_no_part_of_an_address_is_refused(tmp_path, name):
    store = Store.open(tmp_path / "releases.db")
    with pytest.raises(InvalidValue):
        tokens.add(store, name, ["read"])
    assert tokens.kept(store) == []
    store.close()


def test_a_token_is_not_made_twice_under_one_name(tmp_path):
    store = Store.open(tmp_path / "releases.db")
    tokens.add(store, "page", ["read"])
    with pytest.raises(Refused):
        tokens.add(store, "page", ["admin"])
    store.close()
