"""Large answers: room for a few, sent as they are read."""

import asyncio
from contextlib import contextmanager, nullcontext

import pytest
from starlette.responses import Response

from hushfade.errors import Failed
from hushfade.serve.guard import Caller
from hushfade.serve.large_answers import PIECE, Held
from hushfade.store.tokens import SCOPES


def sent(held):
    """The messages that an answer sends."""
    messages = []

    async def send(message):
        messages.append(message)

    asyncio.run(held({"type": "http", "method": "GET"}, None, send))
    return messages


async def made(content):
    return Response(content, media_type="text/csv")


@pytest.mark.parametrize("length", [0, 1, PIECE, PIECE + 1, 3 * PIECE])
def test_an_answer_is_sent_whole_in_pieces(length):
    content = bytes(number % 251 for number in range(length))
    start, *pieces = sent(Held(nullcontext(), lambda: made(content)))
    assert start["status"] == 200
    assert (b"content-length", str(length).encode()) in start["headers"]
    assert b"".join(piece["body"] for piece in pieces) == content
    assert max(len(piece["body"]) for piece in pieces) <= PIECE
    assert [piece["more_body"] for piece in pieces] == [True] * (len(pieces) - 1) + [False]


def test_room_is_taken_until_the_answer_is_read():
    told = []

    @contextmanager
    def room():
        told.append("taken")
        yield
        told.append("left")

    async def send(message):
        told.append(message["type"])

    asyncio.run(Held(room(), lambda: made(b"x"))({"type": "http"}, None, send))
    assert told == ["taken", "http.response.start", "http.response.body", "left"]


def test_what_cannot_be_made_is_refused_and_takes_no_room():
    async def failing():
        raise Failed("the store has stopped")

    start, body = sent(Held(nullcontext(), failing))
    assert start["status"] == 503
    assert b"the store has stopped" in body["body"]


def test_who_does_not_read_has_no_more_answers(make):
    client = make("guarded.db", scopes=SCOPES)
    guard = client.service.guard
    path = "/v1/streams/late/releases"
    slots = [guard.room(Caller("token read")) for _ in range(8)]
    for slot in slots:
        slot.__enter__()
    assert client.get(path, as_="read").status_code == 503
    assert client.get(path, as_="admin").status_code == 200
    for slot in slots:
        slot.__exit__(None, None, None)
    assert client.get(path, as_="read").status_code == 200


def test_a_scrape_is_made_once_for_each_change(client, monkeypatch):
    made = []
    text = "hushfade.serve.service.metrics.text"
    monkeypatch.setattr(text, lambda registry: f"{made.append(1) or len(made)}\n")
    assert [client.get("/metrics").text for _ in range(3)] == ["1\n"] * 3
    client.close_step(1)
    assert [client.get("/metrics").text for _ in range(2)] == ["2\n"] * 2
