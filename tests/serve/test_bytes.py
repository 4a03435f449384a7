"""Bytes on a socket that are no request, or a wrong one: the server refuses them, and lives."""

import gzip
import logging
import socket
from threading import Thread
from time import sleep

import pytest

from hushfade.serve import Service
from hushfade.serve.guard import Guard
from hushfade.serve.process import Server
from hushfade.store import Store, tokens
from tests.serve.client import PLAN


@pytest.fixture(params=["httptools", "h11"])
def port(tmp_path, request):
    """Of a server with tokens; the token of its administrator; its store."""
    store = Store.open(tmp_path / "releases.db")
    text = tokens.add(store, "us", ["admin"])
    store.add_dataset("clinics", PLAN.guarantee)
    store.add_stream("late", PLAN, dataset="clinics")
    server = Server(Service(store, Guard(tokens.kept(store))), "127.0.0.1", 0)
    server.config.http = request.param  # whichever is installed is used
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        sleep(0.01)
    found = server.servers[0].sockets[0].getsockname()[1]
    yield found, text.encode(), store
    server.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


def test_no_address_leads_to_files_beside_the_page(port):
    number, *_ = port
    for path in (b"..%2f..%2fpyproject.toml", b"/etc/passwd", b"%2e%2e/serve/app.py", b"../app.py"):
        assert exchange(number, get(b"/page/" + path)).startswith(b"HTTP/1.1 404")


def exchange(port, data, *, leave=False):
    """All that comes back; `leave`: nothing more is sent, and that is told."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as found:
        answer = b""
        try:
            found.sendall(data)
            if leave:
                found.shutdown(socket.SHUT_WR)
            while part := found.recv(1 << 16):
                answer += part
        except ConnectionError:
            pass  # it was told to go, with its bytes unread
        return answer


def post(
    path=b"/v1/streams/late/records", body=b"", *headers, length=None, kind=b"application/json"
):
    length = len(body) if length is None else length
    lines = [b"POST " + path + b" HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close"]
    lines += [b"Content-Type: " + kind, b"Authorization: Bearer TOKEN", *headers]
    if length is not False:
        lines.append(b"Content-Length: " + str(length).encode())
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def get(path, *headers):
    lines = [b"GET " + path + b" HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close", *headers]
    return b"\r\n".join([*lines, b"Authorization: Bearer TOKEN"]) + b"\r\n\r\n"


RECORDS = b'{"sender": "mark1", "sequence": 1, "records": [%s]}'
DATASET = b'{"name": "mark1", "delta": 0.1, "epsilon": %s}'
LINE = b"application/x-ndjson"
CHUNKED = b"Transfer-Encoding: chunked"
WHOLE = [
    # what is no HTTP
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"mark1\r\n\r\n",
    b"\x00" * 100 + b"\r\n\r\n",
    b"GET /health\r\n\r\n",
    b"GET  /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"GET /health HTTP/9.9\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n",  # no host
    b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n",
    b"GET /mark1\x00 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"GET /mark1\xff\xfe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"G\xffT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"CONNECT mark1:443 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    # headers
    get(b"/v1/streams", b"X: " + b"a" * 100_000),
    get(b"/v1/streams", *[b"X%d: mark1" % n for n in range(10_000)]),
    get(b"/v1/streams", b"X: a\x00mark1"),
    get(b"/v1/streams", b"X : mark1"),
    get(b"/v1/streams", b"mark1"),
    get(b"/v1/streams", b"Authorization: Bearer \xff\xfemark1"),
    get(b"/v1/streams/late/events", b"Last-Event-ID: \xb2\xb3mark1"),
    get(b"/v1/streams/late/events", b"Last-Event-ID: " + b"9" * 5000),
    # addresses
    get(b"/" + b"a" * 100_000),
    get(b"/v1/streams/%00"),
    get(b"/v1/streams/%ff%fe%ED%A0%80"),
    get(b"/v1/streams/late%2f..%2f.."),
    get(b"/v1/streams/late/releases?after=%00"),
    get(b"/v1/streams/late/releases?after=%ff&%fe=%ED%A0%80"),
    get(b"/v1/streams/late/releases?" + b"after=1&" * 5000),
    get(b"/v1/streams/late/releases?after=" + b"9" * 30_000),
    get(b"http://mark1.example/v1/none"),
    get(b"//mark1/v1"),
    # lengths
    post(body=b"{}", length="mark1"),
    post(body=b"{}", length=-1),
    post(body=b"{}", length="9" * 40),
    post(body=b"{}", length=9 << 30),
    post(b"/v1/plan", b"{}", b"Content-Length: 3", length=2),
    post(b"/v1/plan", b'{"a":1}mark1 is more than was said', length=7),
    # pieces
    post(b"/v1/plan", b"zz\r\n{}\r\n0\r\n\r\n", CHUNKED, length=False),
    post(b"/v1/plan", b"-2\r\n{}\r\n0\r\n\r\n", CHUNKED, length=False),
    post(b"/v1/plan", b"1\r\n{}\r\n0\r\n\r\n", CHUNKED, length=False),
    post(b"/v1/plan", b"2;x=mark1\r\n{}\r\n0\r\nmark1: mark1\r\n\r\n", CHUNKED, length=False),
    post(b"/v1/plan", b"2\r\n{}\r\n0\r\n\r\n", CHUNKED, length=2),
    post(b"/v1/plan", b"{}", b"Transfer-Encoding: gzip, mark1", length=False),
    # bodies
    post(body=b"["),
    post(body=b"[" * 200_000),
    post(body=b'{"a":' * 200_000),
    *(post(body=RECORDS % (b"[" * depth + b"]" * depth)) for depth in (900, 960, 970, 980, 990)),
    *(post(b"/v1/datasets", DATASET % (b"[" * n + b"]" * n)) for n in range(900, 1000, 5)),
    post(body=RECORDS % b"1e999"),
    post(body=RECORDS % b"-1e999"),
    post(body=RECORDS % b"NaN"),
    post(body=RECORDS % b"Infinity"),
    post(body=RECORDS % (b"9" * 4000)),
    post(body=RECORDS % (b"9" * 5000)),
    post(body=RECORDS % b'"\\ud800mark1"'),
    post(body=b'{"sender": "\\ud800mark1", "sequence": 1, "records": [1]}'),
    post(body=b'{"sender": "a", "sender": "mark1", "sequence": 1, "records": [1]}'),
    post(body=b"\xef\xbb\xbf" + RECORDS % b"1"),
    post(body=(RECORDS % b"1").decode().encode("utf-16")),
    post(body=b"\xff" + RECORDS % b"1"),
    post(body=RECORDS % b"1" + b"\x00"),
    post(b"/v1/streams/late/records", gzip.compress(RECORDS % b"1"), b"Content-Encoding: gzip"),
    post(b"/v1/streams/late/records?sender=%ED%A0%80&sequence=1", b"1\n", kind=LINE),
    post(b"/v1/streams/late/records?sender=a&sequence=1", b"\x00\n", kind=LINE),
    post(b"/v1/tokens", b'{"name": "mark1", "scopes": ["mark1"]}'),
    post(b"/v1/streams", b'{"name": "mark1", "dataset": "mark1", "plan": {"mark1": 1}}'),
]  # fmt: skip
PARTIAL = [
    post(b"/v1/plan", b"ffffffffffffffffff\r\n{}\r\n0\r\n\r\n", CHUNKED, length=False),
    b"",
    b"\r\n",
    b"GET /hea",
    b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: mark1",
    post(body=b'{"sender": "mark1"', length=1000),
    post(body=b"5\r\n{\r\n", length=False)[:-1],
    post(b"/v1/plan", b"5\r\nmark1", CHUNKED, length=False),
]


def test_bytes_that_are_no_request_or_a_wrong_one_are_refused_and_the_server_lives(port, caplog):
    number, token, store = port
    before = store.live("late").totals.tolist(), len(list(store.entries()))
    statuses = set()
    with caplog.at_level(logging.INFO, "hushfade.serve"):
        for data in WHOLE:
            answer = exchange(number, data.replace(b"TOKEN", token))
            status = int(answer.split(b" ")[1])
            fine = status == 200 and data[:3] == b"GET"  # the server forgives some of them
            assert fine or 400 <= status < 500, (data[:300], answer[:300])
            assert b"mark1" not in answer
            statuses.add(status)
        for data in PARTIAL:
            answer = exchange(number, data.replace(b"TOKEN", token), leave=True)
            assert answer == b"" or b" 4" in answer[:12], (data, answer)
            assert b"mark1" not in answer
    assert exchange(number, get(b"/health")).startswith(b"HTTP/1.1 200")
    assert (store.live("late").totals.tolist(), len(list(store.entries()))) == before
    good = post(body=b'{"sender": "a", "sequence": 1, "records": [1]}').replace(b"TOKEN", token)
    assert exchange(number, good).startswith(b"HTTP/1.1 200")
    assert {400, 404, 413, 422} <= statuses
    assert len(caplog.records) > len(WHOLE) / 2
    for secret in ("mark1", "Traceback", token.decode()):
        assert secret not in caplog.text
