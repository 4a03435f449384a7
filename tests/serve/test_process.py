"""The whole process: sockets, signals, the command line."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from hushfade.cli.console import Exit
from hushfade.errors import Refused
from hushfade.serve import Service
from hushfade.serve.process import listening
from hushfade.serve.process import serve as served
from hushfade.store import Store
from tests.cli.command import invoke
from tests.serve.client import PLAN


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def process(tmp_path, place):
    """A running service of a store in either database, and its address."""
    port = free_port()
    command = [sys.executable, "-m", "hushfade", "serve"]
    command += ["--store", str(place.where), "--port", str(port)]
    if place.mark is not None:
        command += ["--mark", str(place.mark)]
    log = (tmp_path / "log").open("wb")
    started = subprocess.Popen(command, stderr=log, stdout=log)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            if httpx.get(f"{address}/ready").status_code == 200:
                break
        except httpx.TransportError:
            assert started.poll() is None, (tmp_path / "log").read_text(encoding="utf-8")
        time.sleep(0.05)
    yield started, address, place
    started.kill()
    started.wait()
    log.close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_service_that_is_told_to_stop_lets_listeners_go_and_closes_its_store(
    process, how, tmp_path
):
    started, address, place = process
    with httpx.Client(base_url=address, timeout=60) as client:
        client.post("/v1/datasets", json={"name": "d", "epsilon": 1, "delta": 1e-6})
        plan = json.loads(PLAN.to_json())
        made = client.post("/v1/streams", json={"name": "s", "dataset": "d", "plan": plan})
        assert made.status_code == 201
        with client.stream("GET", "/v1/streams/s/events") as listening:
            lines = listening.iter_lines()
            assert next(lines) == "retry: 2000"
            sent = {"sender": "a", "sequence": 1, "records": [1, 1]}
            assert (
                httpx.post(f"{address}/v1/streams/s/records", json=sent, timeout=60).status_code
                == 200
            )
            assert (
                httpx.post(f"{address}/v1/streams/s/steps/1/close", timeout=60).status_code == 200
            )
            assert "id: 1" in [next(lines) for _ in range(3)]
            os.kill(started.pid, how)
            rest = list(lines)  # it ends
            assert not any(line.startswith("event: end") for line in rest)
    assert started.wait(20) == 0
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "POST /v1/streams 201" in log
    assert "records" not in log  # what is accepted would flood it
    assert "everyone on this machine" in log
    assert "Traceback" not in log
    store = place.open()  # nobody else writes any more
    assert store.verify() == 3
    assert len(store.releases("s")) == 1


def test_what_was_acknowledged_outlives_a_kill(process):
    started, address, place = process
    with httpx.Client(base_url=address, timeout=60) as client:
        client.post("/v1/datasets", json={"name": "d", "epsilon": 1, "delta": 1e-6})
        plan = json.loads(PLAN.to_json())
        client.post("/v1/streams", json={"name": "s", "dataset": "d", "plan": plan})
        sent = {"sender": "a", "sequence": 1, "records": [1, 1, 1]}
        assert client.post("/v1/streams/s/records", json=sent).status_code == 200
        started.kill()
    started.wait()
    assert place.open().live("s").records == 3


def test_what_was_acknowledged_while_the_service_stopped_is_committed(process):
    started, address, place = process
    with httpx.Client(base_url=address, timeout=60) as client:
        client.post("/v1/datasets", json={"name": "d", "epsilon": 1, "delta": 1e-6})
        plan = json.loads(PLAN.to_json())
        client.post("/v1/streams", json={"name": "s", "dataset": "d", "plan": plan})
    many = threading.Event()

    def send(sender):
        """The number of acknowledged batches; each has one record."""
        with httpx.Client(base_url=address, timeout=60) as client:
            for sequence in range(100_000):
                content = {"sender": sender, "sequence": sequence, "records": [1]}
                try:
                    found = client.post("/v1/streams/s/records", json=content)
                except httpx.TransportError:  # no response: it may be committed or not
                    return sequence
                if found.status_code != 200:
                    assert found.status_code == 503
                    return sequence
                if sequence == 5:
                    many.set()
        raise AssertionError("the service did not stop")

    with ThreadPoolExecutor(4) as senders:
        sending = [senders.submit(send, f"s{n}") for n in range(4)]
        assert many.wait(60)
        started.terminate()
        acknowledged = [one.result(60) for one in sending]
    assert started.wait(30) == 0
    live = place.open().live("s")
    for n, number in enumerate(acknowledged):
        committed = live.senders.get(f"s{n}", -1) + 1
        assert number <= committed <= number + 1
    assert sum(acknowledged) <= live.records <= sum(acknowledged) + 4


def test_a_service_for_others_needs_a_token(tmp_path):
    place = str(tmp_path / "releases.db")
    found = invoke("serve", "--store", place, "--host", "0.0.0.0")
    assert found.exit_code == Exit.REFUSED
    assert "hushfade token" in found.stderr
    Store.open(place).close()  # it was closed


def test_a_token_is_shown_once_and_can_be_revoked(tmp_path):
    place = str(tmp_path / "releases.db")
    shown = invoke("token", place, "--name", "sensors", "--scope", "ingest", "--scope", "read")
    text = shown.stdout.strip()
    assert text.startswith("hushfade_")
    assert len(text.split()) == 1
    told = invoke("token", place, "--name", "boss", "--scope", "admin", "--json")
    assert json.loads(told.stdout)["token"] != text
    twice = invoke("token", place, "--name", "sensors", "--scope", "read")
    assert twice.exit_code == Exit.REFUSED
    assert invoke("token", place, "--name", "sensors", "--revoke").exit_code == 0
    assert invoke("token", place, "--name", "nobody").exit_code == Exit.USAGE  # no scope
    again = invoke("token", place, "--name", "sensors", "--scope", "read")
    assert again.stdout.strip() != text


def test_a_port_that_is_in_use_is_refused_before_anything_is_said(tmp_path, capsys):
    store = Store.open(tmp_path / "releases.db")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"port {port} of 127.0.0.1 is in use"):
            served(Service(store), "127.0.0.1", port, started=print)
    store.close()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_a_host_that_is_not_this_machine_is_refused(host):
    with pytest.raises(Refused, match="host must be an address of this machine"):
        listening(host, 0)
