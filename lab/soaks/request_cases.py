"""Requests for the service: made from its OpenAPI document, and then broken in many ways.

Schemathesis makes requests that fit the document's schemas, and requests that just do not.  This
module adds what Schemathesis cannot express: broken bytes, other encodings, huge numbers, repeated
fields.  Breaking a request is a hundred times faster than making a new one.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok

from lab.soaks.http_answers import Request

BASE = "http://127.0.0.1"
JSON = (b"content-type", b"application/json")
LINES = (b"content-type", b"application/x-ndjson")
_DROPPED = {"authorization", "user-agent", "accept-encoding", "connection"}

Rng = random.Random


def made(document: dict[str, Any], count: int, *, number: int = 0) -> list[Request]:
    """Requests of every operation, `count` that fit its schema and `count` that do not."""
    found: list[Request] = []
    schema = schemathesis.openapi.from_dict(document)
    for result in schema.get_all_operations():
        operation = result.ok() if isinstance(result, Ok) else None
        if operation is None:
            raise ValueError("cannot read an operation of the OpenAPI document")
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            if mode is GenerationMode.NEGATIVE and not _negatable(operation.definition.raw):
                continue
            found += _drawn(operation, mode, count, number)
    return found


def _negatable(operation: dict[str, Any]) -> bool:
    """True if a part of the request other than its token can be malformed."""
    places = {place["in"] for place in operation.get("parameters", ())}
    return "requestBody" in operation or bool(places & {"path", "query"} and operation["security"])


def _drawn(operation: Any, mode: GenerationMode, count: int, number: int) -> list[Request]:
    found: list[Request] = []

    @seed(number)
    @settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(operation.as_strategy(generation_mode=mode))
    def collect(case: Any) -> None:
        found.append(_plain(case))

    try:
        collect()
    except Unsatisfiable:
        return found
    return found


def _plain(case: Any) -> Request:
    """The request of a generated case."""
    arguments = case.as_transport_kwargs(base_url=BASE)
    url = urlsplit(arguments["url"])
    query = urlencode(arguments.get("params") or {}, doseq=True, errors="surrogatepass")
    body = arguments.get("data") or b""
    if arguments.get("json") is not None:
        body = json.dumps(arguments["json"])
    if isinstance(body, str):
        body = body.encode("utf-8", errors="surrogatepass")
    headers = tuple(
        (name.lower().encode("latin-1", errors="replace"), _bytes(value))
        for name, value in arguments["headers"].items()
        if name.lower() not in _DROPPED and not name.lower().startswith("x-schemathesis")
    )
    path = quote(url.path, safe="/%").encode()
    sent = body if isinstance(body, bytes) else b""
    return Request(case.method.upper(), path, case.operation.path, query.encode(), headers, sent)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", errors="replace")


# Changes of a request -----------------------------------------------------------------------

NUMBERS = (
    "0", "-0.0", "1", "-1", "1e999", "-1e999", "NaN", "Infinity", "-Infinity", "1e-400", "1e308",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "9" * 400, "9" * 5000,
    "1.5", "5e-324", "01", "1_000", "0x10", "１", "+1", "1.", ".5",
)  # fmt: skip
TEXTS = (
    '""', '"\\u0000"', '"\\ud800"', '"\\udfff\\ud800"', f'"{"a" * 201}"', f'"{"x" * 5000}"',
    '"."', '".."', '"a/b"', '"\\u202e"', '"\u00a0"', '"🂡"', '"\\"', '"\t"', '"late"', '"at"',
)  # fmt: skip
OTHERS = ("null", "true", "false", "[]", "{}", "[[]]", '[{"key": 1}]', "[" * 60 + "]" * 60)
WRAPS: tuple[Callable[[bytes], bytes], ...] = (
    lambda body: b"\xef\xbb\xbf" + body,
    lambda body: body.decode("utf-8", "replace").encode("utf-16"),
    gzip.compress,
    lambda body: b"[" * 100_000 + body,
    lambda body: b"[" * 960 + body + b"]" * 960,
    lambda body: b'{"a":' * 980 + (body or b"1") + b"}" * 980,
    lambda body: body + body,
    lambda body: body + b"\x00",
    lambda body: b"\xff" + body,
    lambda body: b"",
    lambda body: body.replace(b"\n", b"\r\n"),
    lambda body: body.replace(b":", b": " * 50),
)
KINDS = (
    b"application/json", b"application/x-ndjson", b"text/plain", b"", b"APPLICATION/JSON",
    b"application/json; charset=x", b"multipart/form-data", b"\xff\xfe",
    b"application/json,text/csv",
)  # fmt: skip
HEADERS = (
    (b"accept", b"text/csv"), (b"accept", b"application/vnd.apache.arrow.stream"),
    (b"accept", b"\xff;q=nan,,,"), (b"last-event-id", b"0"), (b"last-event-id", b"-1"),
    (b"last-event-id", b"9" * 40), (b"last-event-id", b"\xb2"), (b"content-length", b"-5"),
    (b"content-length", b"9" * 30), (b"content-length", b"\xb2"), (b"origin", b"null"),
    (b"origin", b"http://127.0.0.1"), (b"host", b""), (b"host", b"[::1"), (b"host", b"\xff"),
    (b"content-encoding", b"gzip"), (b"if-none-match", b'"x"'), (b"cookie", b"a=\x80"),
    (b"transfer-encoding", b"chunked"), (b"expect", b"100-continue"),
)  # fmt: skip
QUERIES = (
    b"after=0", b"limit=1", b"after=1&limit=2", b"after=-1", b"after=%00", b"after=1&after=1",
    b"limit=0", b"limit=99999999999999999999", b"after=%EF%BC%91", b"%", b"%ff=%fe", b"&&==;;",
    b"sender=a&sequence=1", b"sender=b&sequence=2&step=1", b"sender=%ED%A0%80&sequence=3",
    b"sequence=4", b"sender=&sequence=", b"step=0&sender=c&sequence=1", b"a" * 5000,
)  # fmt: skip


@dataclass(frozen=True)
class Marked:
    """A request, and the texts in it that no refusal and no log line may repeat."""

    request: Request
    marks: tuple[str, ...] = ()


def broken(request: Request, rng: Rng, *, places: Sequence[str], number: int) -> Marked:
    """The request for one of the existing names, changed in up to three ways."""
    request = _placed(request, rng, places)
    marks: tuple[str, ...] = ()
    if rng.random() < 0.5 and request.body:
        marked = _with_mark(request, rng, number)
        request, marks = marked.request, marked.marks
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        request = rng.choice(_CHANGES)(request, rng)
    return Marked(request, marks)


def _placed(request: Request, rng: Rng, places: Sequence[str]) -> Request:
    """The request, usually with an existing name in its address."""
    if "{name}" not in request.operation or rng.random() < 0.15:
        return request
    parts, pattern = request.path.split(b"/"), request.operation.split("/")
    if len(parts) != len(pattern):
        return request
    parts[pattern.index("{name}")] = quote(rng.choice(places), safe="").encode()
    if "{step}" in pattern and rng.random() < 0.7:
        parts[pattern.index("{step}")] = str(rng.randrange(1, 6)).encode()
    return replace(request, path=b"/".join(parts))


def _with_mark(request: Request, rng: Rng, number: int) -> Marked:
    """The request with a unique text or number in one of its values, or in a new field."""
    text, digits = f"mark{number:08d}ed", f"73{number:08d}37"
    try:
        document = json.loads(request.body)
    except (ValueError, RecursionError):
        return Marked(replace(request, body=request.body + text.encode()), (text,))
    value, mark = rng.choice(
        [(text, text), (int(digits), digits), (float(digits) / 2**20, repr(float(digits) / 2**20))]
    )
    leaves = leaves_of(document)
    if not leaves or rng.random() < 0.1:
        return Marked(replace(request, body=json.dumps({text: value}).encode()), (text, mark))
    holder, key = rng.choice(leaves)
    holder[key] = value
    return Marked(replace(request, body=json.dumps(document).encode()), (mark,))


def leaves_of(document: Any) -> list[tuple[Any, Any]]:
    """The position of every value in the document, as container and key."""
    found, waiting = [], [document]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict | list):
            for key in holder if isinstance(holder, dict) else range(len(holder)):
                found.append((holder, key))
                waiting.append(holder[key])
    return found


def _value(request: Request, rng: Rng) -> Request:
    """The request with one value replaced by unusual or invalid JSON."""
    try:
        document = json.loads(request.body)
    except (ValueError, RecursionError):
        return request
    leaves = leaves_of(document)
    if not leaves:
        return request
    holder, key = rng.choice(leaves)
    holder[key] = "\ue000here"
    depth = rng.randrange(900, 1010)  # near the limit of the parser
    new = rng.choice((*NUMBERS, *TEXTS, *OTHERS, "[" * depth + "]" * depth))
    text = json.dumps(document).replace('"\\ue000here"', new, 1)
    return replace(request, body=text.encode("utf-8", errors="surrogatepass"))


def _field(request: Request, rng: Rng) -> Request:
    """The request with a field removed, repeated or added."""
    try:
        document = json.loads(request.body)
    except (ValueError, RecursionError):
        return request
    if not isinstance(document, dict) or not document:
        return request
    key = rng.choice(list(document))
    if rng.random() < 0.4:
        del document[key]
        return replace(request, body=json.dumps(document).encode())
    name = key if rng.random() < 0.7 else "more"
    twice = json.dumps(document)[:-1] + f", {json.dumps(name)}: {json.dumps(document[key])}}}"
    return replace(request, body=twice.encode())


def _body(request: Request, rng: Rng) -> Request:
    """The request with its body truncated, wrapped, or with changed bytes."""
    body = request.body
    if not body or rng.random() < 0.4:
        return replace(request, body=rng.choice(WRAPS)(body))
    at = rng.randrange(len(body))
    if rng.random() < 0.4:
        return replace(request, body=body[:at])
    return replace(request, body=body[:at] + rng.randbytes(rng.randrange(1, 4)) + body[at + 1 :])


def _kind(request: Request, rng: Rng) -> Request:
    rest = tuple(header for header in request.headers if header[0] != b"content-type")
    return replace(request, headers=(*rest, (b"content-type", rng.choice(KINDS))))


def _header(request: Request, rng: Rng) -> Request:
    return replace(request, headers=(*request.headers, rng.choice(HEADERS)))


def _query(request: Request, rng: Rng) -> Request:
    return replace(request, query=rng.choice(QUERIES))


def _part(request: Request, rng: Rng) -> Request:
    """The request with an invalid character in a name or a step of its address."""
    parts, pattern = request.path.split(b"/"), request.operation.split("/")
    if len(parts) == len(pattern):
        for at, part in enumerate(pattern):
            if part in ("{name}", "{step}") and rng.random() < 0.5:
                parts[at] += rng.choice((b"%00", b"%0a", b"%ff", b"%2e", b"%F0%9F", b"%ED%A0%80"))
    return replace(request, path=b"/".join(parts))


_CHANGES = (_value, _value, _value, _field, _body, _kind, _header, _query, _part)
