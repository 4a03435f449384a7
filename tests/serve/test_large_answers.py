"""Large answers: room for a few, made and sent as they are read."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hushfade.errors import Failed
from hushfade.serve.large_answers import Pieces

SENT = {"type": "http", "method": "GET"}


def sent(response, send=None, scope=SENT):
    """The messages that an answer sends."""
    messages = []

    async def keep(message):
        messages.append(message)

    asyncio.run(response(dict(scope), None, send or keep))
    return messages


@asynccontextmanager
async def room():
    yield


@pytest.mark.parametrize("pieces", [[], [b"x"], [b"a", b"b"], [b"a"] * 5])
def test_an_answer_is_sent_whole_whether_its_pieces_exist_or_are_made(pieces):
    for given, more in (
        (pieces, {}),
        (lambda: iter(pieces), {}),
        (lambda: iter(pieces), {"room": room()}),
    ):
        start, *bodies = sent(Pieces(given, media_type="text/csv", **more))
        assert start["status"] == 200
        assert b"".join(body["body"] for body in bodies) == b"".join(pieces)
        assert [body["more_body"] for body in bodies] == [True] * (len(bodies) - 1) + [False]
        length = dict(start["headers"]).get(b"content-length")
        if len(bodies) == 1:
            assert length == str(len(b"".join(pieces))).encode()
        else:
            assert length is None


def test_the_next_piece_is_made_when_the_last_one_is_on_its_way():
    told = []

    def make():
        for number in range(4):
            told.append(f"made {number}")
            yield b"x"

    async def send(message):
        told.append(message["type"].rpartition(".")[2])

    sent(Pieces(make, media_type="text/csv", room=room()), send)
    assert told.index("made 3") > told.index("body")
    assert told.count("body") == 5


def test_room_is_taken_until_the_answer_is_read():
    told = []

    @asynccontextmanager
    async def counted():
        told.append("taken")
        yield
        told.append("left")

    async def send(message):
        told.append(message["type"])

    sent(Pieces(lambda: [b"a", b"b"], media_type="text/csv", room=counted()), send)
    assert (told[0], told[-1]) == ("taken", "left")
    assert told.count("http.response.body") == 3


def test_what_cannot_be_made_is_refused():
    def failing():
        raise Failed("the store has stopped")
        yield

    for more in ({}, {"room": room()}):
        start, body = sent(Pieces(failing, media_type="text/csv", **more))
        assert start["status"] == 503
        assert b"the store has stopped" in body["body"]


def test_an_answer_that_fails_in_the_middle_is_cut_and_never_looks_whole():
    def failing():
        yield b"a"
        yield b"b"
        raise Failed("the database cannot be read")

    cut = []
    scope = SENT | {"hushfade.abort": lambda: cut.append(True)}
    messages = sent(Pieces(failing, media_type="text/csv", room=room()), scope=scope)
    assert cut == [True]
    assert messages[-1]["more_body"]


def test_a_client_that_does_not_read_is_given_up():
    cut = []

    async def stuck(message):
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    scope = SENT | {"hushfade.abort": lambda: cut.append(True)}
    sent(Pieces([b"a", b"b"], media_type="text/csv", patience=0.01), stuck, scope)
    assert cut == [True]
