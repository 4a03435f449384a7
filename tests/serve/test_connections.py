"""Idle, slow and too many connections, on real sockets."""

import re
import resource
import socket
import time
from contextlib import ExitStack, closing, contextmanager
from threading import Thread

import pytest

import hushfade as hf
from hushfade.serve import Service, connections
from hushfade.serve.limits import Limits
from hushfade.serve.process import Server, listening
from hushfade.store import Store

EVENTS = b"GET /v1/streams/late/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@contextmanager
def served(path, **limits):
    """A server in a thread, and its port."""
    store = Store.open(path / "releases.db")
    server = Server(Service(store, limits=Limits(**limits)), "127.0.0.1", 0)
    sockets = listening("127.0.0.1", 0)
    sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 13)  # connections inherit it
    port = sockets[0].getsockname()[1]
    thread = Thread(target=server.run, args=(sockets,))
    thread.start()
    try:
        yield port, server
    finally:
        server.should_exit = True
        thread.join()
        store.close()


def connected(port):
    found = socket.create_connection(("127.0.0.1", port), timeout=20)
    found.settimeout(20)
    return found


def asked(line, request=GET):
    """The first line of the answer.  A body of known length is read too, in however many parts."""
    line.sendall(request)
    answer = b""
    while piece := line.recv(4096):
        answer += piece
        head, end, body = answer.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if end and (length is None or len(body) >= int(length[1])):
            break
    return answer.split(b"\r\n")[0]


def ended(line):
    """Wait until the service has closed the connection; what it said before."""
    said = b""
    try:
        while piece := line.recv(4096):
            said += piece
    except ConnectionResetError:
        pass
    return said


def test_connections_that_say_nothing_or_too_little_time_out(tmp_path):
    with served(tmp_path, head=0.2, idle=1) as (port, _), ExitStack() as stack:
        silent, started, answered = (stack.enter_context(connected(port)) for _ in range(3))
        started.sendall(b"GET /health HTTP/1.1\r\nHost: 127")
        assert asked(answered) == b"HTTP/1.1 200 OK"
        for line in (silent, started, answered):
            assert ended(line) == b""


def test_a_head_that_arrives_byte_by_byte_has_one_time_limit(tmp_path):
    with served(tmp_path, head=0.3) as (port, _), connected(port) as line:
        line.sendall(b"GET /health HTTP/1.1\r\n")
        line.settimeout(0.02)
        with pytest.raises(ConnectionError):
            _drip(line)


def _drip(line):
    """Send byte after byte, each well within the limit, until the connection ends."""
    while True:
        line.sendall(b"X")
        try:
            if line.recv(100) == b"":
                raise ConnectionResetError
        except TimeoutError:
            continue


def test_a_body_that_nobody_reads_has_a_time_limit_too(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 0.1)
    with served(tmp_path, head=0.1) as (port, _), connected(port) as line:
        head = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
        assert asked(line, head) == b"HTTP/1.1 200 OK"
        line.sendall(b"x")
        ended(line)


def test_a_head_without_end_is_refused(tmp_path):
    with served(tmp_path) as (port, _), connected(port) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        filler = b"X: " + b"y" * 1000 + b"\r\n"
        try:
            for _ in range(200):
                line.sendall(filler)
        except OSError:
            pass
        said = ended(line)
        assert said == b"" or b" 431 " in said.split(b"\r\n")[0]


def test_idle_connections_make_room_for_new_ones(tmp_path):
    """Before, as many connections as the limit refused every request, also their own."""
    with served(tmp_path, connections=10) as (port, server), ExitStack() as stack:
        idle = [stack.enter_context(connected(port)) for _ in range(30)]
        with connected(port) as line:
            assert asked(line) == b"HTTP/1.1 200 OK"
            assert asked(line) == b"HTTP/1.1 200 OK"
        assert server.pool.open <= 11
        for line in idle[:15]:
            assert ended(line) == b""  # those that were idle for the longest time
        assert asked(idle[-1]) == b"HTTP/1.1 200 OK"


def test_connections_in_use_are_kept_and_one_too_many_is_turned_away(streamed):
    with served(streamed, connections=10) as (port, _), ExitStack() as stack:
        used = [stack.enter_context(connected(port)) for _ in range(10)]
        for line in used:
            assert asked(line, EVENTS) == b"HTTP/1.1 200 OK"
        with connected(port) as line:
            assert b" 503 " in ended(line).split(b"\r\n")[0]
        used.pop().close()
        for _ in range(200):  # until the service has noticed
            with connected(port) as line:
                if asked(line) == b"HTTP/1.1 200 OK":
                    break
        else:
            raise AssertionError("no connection was accepted again")


@pytest.fixture
def streamed(tmp_path):
    """A directory with a store that has a stream."""
    one = hf.Guarantee(epsilon=1, delta=1e-6)
    plan = hf.plan(hf.SlidingWindow(length=3), one, method="square_root", law="gaussian")
    with closing(Store.open(tmp_path / "releases.db")) as store:
        store.add_dataset("d", one)
        store.add_stream("late", plan, dataset="d")
    return tmp_path


def becomes(wanted, found):
    """Wait until `found()` is `wanted`."""
    for _ in range(2000):
        if found() == wanted:
            return
        time.sleep(0.005)
    raise AssertionError(f"{found()} instead of {wanted}")


def test_a_listener_that_leaves_is_forgotten_also_with_a_request_behind_its_events(streamed):
    with served(streamed) as (port, server):
        hub = server._service.hub
        with connected(port) as line:
            assert asked(line, EVENTS) == b"HTTP/1.1 200 OK"
            line.sendall(GET)  # its response would come after the events
            time.sleep(0.05)
            assert hub.count == 1
        becomes(0, lambda: hub.count)
        becomes(0, lambda: server.pool.open)


def test_only_a_few_requests_may_wait_behind_a_response(streamed):
    with served(streamed) as (port, server), connected(port) as line:
        assert asked(line, EVENTS) == b"HTTP/1.1 200 OK"
        line.sendall(GET * 10)
        time.sleep(0.05)
        assert server.pool.open == 1
        line.sendall(GET * 1000)
        ended(line)
        becomes(0, lambda: server._service.hub.count)
    with served(streamed) as (port, _), connected(port) as line:
        line.sendall(GET * 10)  # a few are answered in order
        said = b""
        while said.count(b'{"status":"up"}') < 10:
            said += line.recv(4096)


def test_a_client_that_reads_no_small_responses_is_cut_and_a_slow_one_is_not(tmp_path):
    request = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with served(tmp_path, stalled=0.3) as (port, server), ExitStack() as stack:
        silent, slow = (stack.enter_context(narrow(port)) for _ in range(2))
        for line in (silent, slow):
            line.sendall(request * 10)
        until = time.monotonic() + 1.2
        while time.monotonic() < until:
            assert slow.recv(1 << 13)
            time.sleep(0.04)
        becomes(1, lambda: server.pool.open)
        assert slow.recv(1 << 13)


def narrow(port):
    """A connection with small buffers."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 13)
    line.settimeout(20)
    line.connect(("127.0.0.1", port))
    return line


def test_the_limit_of_open_files_is_raised_as_far_as_it_may(monkeypatch):
    made = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limit: made.append(limit))
    for soft, hard, wanted, found, raised in (
        (1024, 20_000, 12_000, 12_000, [(12_100, 20_000)]),
        (1024, 4096, 12_000, 3996, [(4096, 4096)]),
        (1024, 1024, 12_000, 924, [(1024, 1024)]),
        (50_000, 50_000, 12_000, 12_000, []),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 12_000, 12_000, []),
    ):
        made.clear()
        monkeypatch.setattr(resource, "getrlimit", lambda kind, x=(soft, hard): x)
        assert connections.allowed(wanted) == found
        assert made == raised
