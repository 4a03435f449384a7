"""A store that cannot be opened yet: the process answers, tries again, and can be stopped."""

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx
import pytest

from hushfade.errors import InUse, Refused, Unavailable
from hushfade.serve import Service, opening
from hushfade.serve.limits import Limits
from hushfade.serve.opening import Opening
from hushfade.store import Store
from hushfade.store.high_water_mark import MarkFile
from hushfade.store.sqlite import SQLite
from tests.serve.test_process import free_port
from tests.store.test_statement_deadline import ENDLESS

LIMITS = Limits(connections=10)


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(opening, "FIRST", 0.01)
    monkeypatch.setattr(opening, "LONGEST", 0.05)


def opened(begin, port=0, *, repeat=True):
    """The service and the sockets, or None after a signal."""
    return Opening(begin, repeat=repeat).wait("127.0.0.1", port, LIMITS)


def closed(found):
    service, sockets = found
    service.store.close()
    for one in sockets or ():
        one.close()


def answers(port, *paths):
    """The responses, as soon as something listens."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
        for _ in range(1000):
            try:
                return [client.get(path) for path in paths]
            except httpx.ConnectError:
                time.sleep(0.03)
    raise AssertionError("nothing listens")


def test_a_store_that_opens_at_once_is_open_before_anything_listens(tmp_path):
    found = opened(lambda: Service(Store.open(tmp_path / "a.db")))
    assert found[1] is None
    closed(found)


@pytest.mark.parametrize("fails", ["database", "mark"])
def test_with_a_full_disk_the_process_is_up_and_not_ready_until_there_is_space(
    tmp_path, fails, monkeypatch
):
    Store.open(tmp_path / "a.db").close()
    port, space = free_port(), Event()
    name = "transaction" if fails == "database" else "read"
    kind = SQLite if fails == "database" else MarkFile
    original = getattr(kind, name)

    def full(self, *given):
        if not space.is_set():
            if fails == "mark":
                raise OSError(errno.ENOSPC, "No space left on device")
            raise Unavailable("the database cannot be written: the disk is full")
        return original(self, *given)

    monkeypatch.setattr(kind, name, full)

    def look():
        try:
            return answers(port, "/health", "/ready", "/v1/streams", "/nothing")
        finally:
            space.set()

    with ThreadPoolExecutor(1) as other:
        looked = other.submit(look)
        service, sockets = opened(lambda: Service(Store.open(tmp_path / "a.db")), port)
    health, *others = looked.result()
    assert (health.status_code, health.json()) == (200, {"status": "up"})
    for answer in others:
        assert (answer.status_code, answer.json()["code"]) == (503, "stopped")
        assert answer.headers["retry-after"]
    assert [one.getsockname()[1] for one in sockets] == [port]  # the service listens on them
    assert service.store.streams() == []
    closed((service, sockets))


def test_what_cannot_pass_ends_the_process_at_once_and_nothing_is_tried_again():
    tried = []
    for error in (InUse("another process"), Refused("older"), OSError(errno.EACCES, "no")):

        def begin(error=error):
            tried.append(error)
            raise error

        with pytest.raises(type(error)):
            opened(begin)
    assert len(tried) == 3
    with pytest.raises(Unavailable):  # a new epoch must not be charged again and again
        opened(_unavailable, repeat=False)


def _unavailable():
    raise Unavailable("the disk is full")


@pytest.mark.parametrize("soon", [5.0, 0.0], ids=["before it listens", "while it listens"])
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_checks_of_a_store(tmp_path, monkeypatch, soon, kind):
    monkeypatch.setattr(opening, "SOON", soon)
    before, port, checking = signal.getsignal(kind), free_port(), Event()

    def begin():
        database = SQLite(tmp_path / "a.db")
        database._deadline._seconds = 25
        checking.set()
        try:
            return database.read(ENDLESS)
        finally:
            database.close()

    def stop():
        assert checking.wait(20)
        if not soon:
            assert [one.status_code for one in answers(port, "/ready")] == [503]
        os.kill(os.getpid(), kind)

    with ThreadPoolExecutor(1) as other:
        other.submit(stop)
        assert opened(begin, port) is None
    assert signal.getsignal(kind) is before
    SQLite(tmp_path / "a.db").close()  # the lock is released


@pytest.mark.parametrize("server", ["none", "silent"])
def test_without_its_database_server_the_process_is_not_ready_and_ends_with_status_0(
    tmp_path, server
):
    """Nothing listens on the port of the server, or what listens never responds."""
    pytest.importorskip("psycopg")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        database, port = silent.getsockname()[1], free_port()
        if server == "none":
            silent.close()
        where = f"postgresql://me:secret@127.0.0.1:{database}/none?connect_timeout=2"
        command = [sys.executable, "-m", "hushfade", "serve", "--store", where]
        command += ["--mark", str(tmp_path / "mark"), "--port", str(port)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
            try:
                health, ready = answers(port, "/health", "/ready")
                started.terminate()
                log = started.communicate(timeout=30)[1]
            finally:
                started.kill()
    assert (health.status_code, ready.status_code, started.returncode) == (200, 503, 0)
    assert "the store cannot be opened yet" in log
    assert "secret" not in log
    assert "Traceback" not in log


def test_a_port_in_use_is_refused_and_the_store_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "SOON", 0.0)
    with opening.listening("127.0.0.1", 0)[0] as taken:
        port = taken.getsockname()[1]
        ready = Event()

        def begin():
            ready.wait(0.2)
            return Service(Store.open(tmp_path / "a.db"))

        with pytest.raises(Refused, match="is in use"):
            opened(begin, port)
    Store.open(tmp_path / "a.db").close()
