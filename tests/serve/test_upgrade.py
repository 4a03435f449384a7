"""Requests that propose another protocol: HTTP/1.1 serves them, and their bodies stay bodies.

By default curl --http2 and Java's HttpClient propose HTTP/2 with every POST over plain HTTP.
"""

import json
import shutil
import socket
import subprocess
import time
from contextlib import closing
from itertools import count, product
from threading import Thread
from urllib.request import urlopen

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade.serve.limits import Limits
from hushfade.serve.process import configured, listening
from hushfade.store import Store
from tests.serve.client import ONE, PLAN
from tests.serve.test_connections import connected, served

PROPOSALS = [  # fields of a head, the usual ones first
    ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQCAAAAAA"),
    ("connection: uPGRADE", "uPGRADE: H2C"),
    ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
    ("Connection: Upgrade", "Upgrade: h2c, websocket"),
    ("Connection: Upgrade", "Upgrade: h2c", "Upgrade: websocket"),
    ("Connection: keep-alive", "Connection: upgrade", "Upgrade: TLS/1.3"),
    ("Connection: Upgrade", "Upgrade:"),
    ("Connection: Upgrade, close", "Upgrade: h2c"),
    ("Connection: Upgrade", "Upgrade: h2c", "Expect: 100-continue"),
    ("Upgrade: h2c",),
    ("Connection: Upgrade",),
    (),
]
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
NOTHING = HEALTH.replace(b"health", b"none")
CLOSE = b"POST /v1/streams/late/steps/1/close HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
JSON, LINES = "application/json", "application/x-ndjson"


@pytest.fixture
def port(tmp_path):
    """The port of a service with a stream."""
    with closing(Store.open(tmp_path / "releases.db")) as store:
        store.add_dataset("clinics", ONE)
        store.add_stream("late", PLAN, dataset="clinics")
    with served(tmp_path) as (found, _):
        yield found


def request(proposal, body, *, path="/v1/streams/late/records", kind=JSON, chunked=False):
    """The head and the body of a POST."""
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    if chunked:
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    start = f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {kind}"
    return "\r\n".join([*start, *proposal, length, "", ""]).encode(), body


def answers(port, packets, closes=False):
    """The status and body of each response until the one about health, which is asked last."""
    with connected(port) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for packet in packets:
            line.sendall(packet)
            time.sleep(0.005)
        if not closes:
            line.sendall(HEALTH)
        with line.makefile("rb") as said:
            found = [response(said)]
            while not closes and found[-1] != (200, b'{"status":"up"}'):
                found.append(response(said))
            return found if closes else found[:-1]


def response(said):
    """The status and the body of the next response."""
    number = int(said.readline().split()[1])
    fields = dict(field.rstrip().lower().split(b": ") for field in iter(said.readline, b"\r\n"))
    if number == 100:
        return response(said)
    return number, said.read(int(fields[b"content-length"]))


def packets(head, body, how):
    match how:
        case "one":
            return [head + body]
        case "two":
            return [head, body]
        case "many":
            cut = len(head) - 9
            return [head[:cut], head[cut:] + body[:3], body[3:]]
    raise AssertionError


def status(port):
    """What the service reports about the stream."""
    with urlopen(f"http://127.0.0.1:{port}/v1/streams/late", timeout=20) as found:
        return json.load(found)


def counted(port):
    return status(port)["not_for_publication"]["open_records"]


def test_a_batch_counts_once_whatever_protocol_its_sender_proposes(port):
    numbers = count(1)
    for proposal, kind, chunked, how in product(
        PROPOSALS, (JSON, LINES), (False, True), ("one", "two", "many")
    ):
        sender, before = f"sender-{next(numbers)}", counted(port)
        if kind == JSON:
            path = "/v1/streams/late/records"
            body = b'{"sender": "%b", "sequence": 1, "records": [1, 0, 1]}' % sender.encode()
        else:
            path, body = f"/v1/streams/late/records?sender={sender}&sequence=1", b"1\n0\n1\n"
        head, body = request(proposal, body, path=path, kind=kind, chunked=chunked)
        closes = any("close" in field for field in proposal)
        case = proposal, kind, chunked, how
        for _ in range(2):
            found = answers(port, packets(head, body, how), closes)
            assert found == [(200, b'{"status":"accepted","records":3}')], case
            assert counted(port) == before + 3, case


def test_no_body_is_read_as_a_request_whatever_protocol_its_sender_proposes(port):
    for proposal, path, chunked, how in product(
        PROPOSALS, ("/v1/streams/late/records", "/v1/none"), (False, True), ("one", "two", "many")
    ):
        head, body = request(proposal, CLOSE, path=path, chunked=chunked)
        closes = any("close" in field for field in proposal)
        case = proposal, path, chunked, how
        found = answers(port, packets(head, body, how), closes)
        assert [number for number, _ in found] == [404 if "none" in path else 400], case
    assert status(port)["step"] == 0


def test_requests_that_wait_in_one_packet_are_all_served_in_order(port):
    parts = []
    for number, proposal in enumerate(PROPOSALS[:7], 1):
        body = json.dumps({"sender": "a", "sequence": number, "records": [1] * number}).encode()
        parts += [*request(proposal, body, chunked=number % 2 == 0), NOTHING]
    found = answers(port, [b"".join(parts)])
    assert [number for number, _ in found] == [200, 404] * 7
    assert [json.loads(text)["records"] for _, text in found[::2]] == [*range(1, 8)]
    assert counted(port) == 28


NAMES = st.from_regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,12}", fullmatch=True)
VALUES = st.text('\t !",:;=()[]{}\\azAZ09é\xffÿ', max_size=12).map(lambda text: text.strip("\t "))
FRAMING = {"content-length", "transfer-encoding", "connection", "upgrade", "expect"}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    fields=st.lists(st.tuples(NAMES.filter(lambda name: name.lower() not in FRAMING), VALUES)),
    place=st.integers(0, 100), method=st.sampled_from(["POST", "PUT", "DELETE", "GET", "OPTIONS"]),
    path=st.from_regex(r"/[a-zA-Z0-9%._~!$&'()*+,;=:@/-]{0,12}(\?[a-z%&=?]{0,9})?", fullmatch=True),
    chunks=st.lists(st.binary(min_size=1, max_size=20) | st.just(CLOSE), max_size=3),
    chunked=st.booleans(), proposal=st.sampled_from(PROPOSALS[:7]),
    cuts=st.lists(st.integers(0, 300), max_size=3),
)  # fmt: skip
def test_the_request_is_the_same_with_and_without_a_proposal(
    echo, fields, place, method, path, chunks, chunked, proposal, cuts
):
    body = b"".join(chunks)
    lines = [f"{name}: {value}" for name, value in fields]
    lines.append("Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}")
    if chunked:
        body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    proposing = [*lines[:place], *proposal, *lines[place:]]
    found = []
    for given_lines in (lines, proposing):
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *given_lines, "", ""])
        data = head.encode("latin-1") + body
        ends = sorted({*(cut for cut in cuts if cut < len(data)), len(data)})
        parts = [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        found.append(answers(echo, [part for part in parts if part]))
    ((_, plain),), ((_, proposed),) = found
    assert plain == proposed


async def repeat(scope, receive, send):
    """Respond with the request, without what proposes a protocol; or with the health."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    proposing = {field.split(":")[0].lower() for fields in PROPOSALS for field in fields}
    fields = [field for field in scope["headers"] if field[0].decode() not in proposing]
    request = scope["method"], scope["raw_path"], scope["query_string"], fields, body
    text = b'{"status":"up"}' if scope["path"] == "/health" else repr(request).encode()
    length = (b"content-length", str(len(text)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": text})


@pytest.fixture(scope="module")
def echo():
    """The port of an application that responds with the requests that reach it."""
    config = configured(repeat, Limits(), "127.0.0.1", 0, lifespan="off")
    server, sockets = uvicorn.Server(config), listening("127.0.0.1", 0)
    thread = Thread(target=server.run, args=(sockets,))
    thread.start()
    yield sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def test_a_tunnel_is_refused_and_nothing_behind_it_is_read(port):
    head = b"CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    for parts in ([head + CLOSE], [head, CLOSE]):
        with connected(port) as line:
            try:
                for part in parts:
                    line.sendall(part)
                    time.sleep(0.02)
                assert line.recv(4096).startswith(b"HTTP/1.1 400 ")
                assert line.recv(4096) == b""
            except ConnectionError:
                pass  # it was closed with bytes unread
    assert status(port)["step"] == 0


def test_a_trailer_is_no_part_of_the_head(port):
    head, body = request((), b'{"sender": "a", "sequence": 1, "records": [1]}', chunked=True)
    head = head.replace(b"Content-Type: application/json\r\n", b"")
    body = body.removesuffix(b"\r\n") + b"Content-Type: application/json\r\n\r\n"
    assert [number for number, _ in answers(port, [head + body])] == [415]
    assert counted(port) == 0


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_with_http2_sends_records_that_count_once(port):
    if b"HTTP2" not in subprocess.check_output(["curl", "--version"]):
        pytest.skip("this curl has no HTTP/2")
    url = f"http://127.0.0.1:{port}/v1/streams/late/records"
    batch = json.dumps({"sender": "a", "sequence": 1, "records": [1, 0, 1]})
    for kind, address, body in (
        (JSON, url, batch), (LINES, f"{url}?sender=b&sequence=1", "1\n0\n1\n"),
    ):  # fmt: skip
        before = counted(port)
        command = ["curl", "-s", "--http2", "-H", f"Content-Type: {kind}", "--data-binary", body]
        for _ in range(2):
            found = subprocess.run([*command, address], capture_output=True, check=True, timeout=60)
            assert found.stdout == b'{"status":"accepted","records":3}'
            assert counted(port) == before + 3


JAVA = """
import java.net.URI;
import java.net.http.*;

class Sender {
    public static void main(String[] given) throws Exception {
        var client = HttpClient.newHttpClient();
        for (int i = 0; i < 2; i++) {
            var request = HttpRequest.newBuilder(URI.create(given[0]))
                .header("Content-Type", "application/x-ndjson")
                .POST(HttpRequest.BodyPublishers.ofString("1\\n0\\n1\\n")).build();
            var answer = client.send(request, HttpResponse.BodyHandlers.ofString());
            System.out.println(answer.statusCode() + " " + answer.body());
        }
    }
}
"""


@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java compiler is installed")
def test_the_http_client_of_java_sends_records_that_count_once(port, tmp_path):
    source = tmp_path / "Sender.java"
    source.write_text(JAVA)
    url = f"http://127.0.0.1:{port}/v1/streams/late/records?sender=a&sequence=1"
    found = subprocess.run(["java", str(source), url], capture_output=True, check=True, timeout=240)
    assert found.stdout.decode().splitlines() == ['200 {"status":"accepted","records":3}'] * 2
    assert counted(port) == 3
