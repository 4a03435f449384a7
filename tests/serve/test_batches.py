import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hushfade.errors import HushfadeError, InvalidValue
from hushfade.serve import batches
from hushfade.serve.registry import Facts
from tests.serve.client import KEYED, PLAN, UNIT

LATE, FLIGHTS = Facts("late", "clinics", PLAN), Facts("flights", "clinics", KEYED)
HEAD = '{"sender": "a", "sequence": 1, "records": '
SECRET = "0.31415926"

BODIES = [  # of the stream 'late', and the status of the answer
    ("", 400), ("null", 400), ("[]", 400), ("1", 400), ("{}", 400), ("{", 400), ("\ufeff{}", 400),
    ("NaN", 400), ('{"sender": "a", "sequence": 1}', 400),
    (HEAD + "[1], 'x': 1}", 400),
    (HEAD + '[1], "records": [1]}', 400),  # a field twice
    (HEAD + '[1], "more": 1}', 400),
    (HEAD + "[1]} {}", 400),
    (HEAD + "{}}", 400), (HEAD + "1}", 400), (HEAD + "null}", 400),
    (HEAD + "[NaN]}", 400), (HEAD + "[Infinity]}", 400), (HEAD + "[-Infinity]}", 400),
    (HEAD + "[1_000]}", 400), (HEAD + "[01]}", 400), (HEAD + "[0x10]}", 400), (HEAD + "[+1]}", 400),
    (HEAD + "[１]}", 400),  # a full-width digit
    (HEAD + "[1,]}", 400), (HEAD + "[.5]}", 400),
    (HEAD + "[1e999]}", 422), (HEAD + "[-1e999]}", 422),
    (HEAD + "[" + "9" * 400 + "]}", 422), (HEAD + "[" + "9" * 5000 + "]}", 400),
    (HEAD + "[0.5, " + "9" * 400 + "]}", 422),
    (HEAD + "[true]}", 422), (HEAD + "[0.5, false]}", 422), (HEAD + "[null]}", 422),
    (HEAD + f'["{SECRET}"]' + "}", 422), (HEAD + f"[[{SECRET}]]" + "}", 422),
    (HEAD + '[{"key": "at"}]}', 422),
    (HEAD + "[" * 100_000 + "]" * 100_000 + "}", 400),
    ("[" * 100_000, 400), ('{"a":' * 100_000, 400),
    ('{"sender": "", "sequence": 1, "records": []}', 400),
    ('{"sender": 7, "sequence": 1, "records": []}', 400),
    ('{"sender": "\\ud800", "sequence": 1, "records": []}', 400),
    ('{"sender": "a\\u0000", "sequence": 1, "records": []}', 400),
    ('{"sender": "' + "a" * 201 + '", "sequence": 1, "records": []}', 400),
    ('{"sender": "a", "sequence": -1, "records": []}', 400),
    ('{"sender": "a", "sequence": 1.0, "records": []}', 400),
    ('{"sender": "a", "sequence": true, "records": []}', 400),
    ('{"sender": "a", "sequence": "1", "records": []}', 400),
    ('{"sender": "a", "sequence": 9223372036854775808, "records": []}', 400),
    (HEAD + '[], "step": 0}', 400), (HEAD + '[], "step": "1"}', 400),
    (HEAD + '[], "step": 9223372036854775808}', 400), (HEAD + '[], "step": 2}', 409),
]  # fmt: skip

KEYED_RECORDS = [
    "1", '["at", 1]', '{"key": "fr"}', '{"key": 1}', '{"value": 1}', '{"key": "at", "value": null}',
    '{"key": "at", "value": true}', '{"key": "at", "value": "1"}', '{"key": "at", "weight": 1}',
    '{"key": "at", "value": 1e999}', '{"key": "\\ud800"}', '{"key": ["at"]}', '{"key": {"a": 1}}',
]  # fmt: skip


def posted(client, body, stream="late", kind="application/json", query=""):
    path = f"/v1/streams/{stream}/records{query}"
    content = body if isinstance(body, bytes) else body.encode()
    return client.request("POST", path, content=content, headers={"Content-Type": kind})


def test_malformed_bodies_are_refused_change_nothing_and_are_not_repeated(client):
    before = client.state()
    for body, status in BODIES:
        found = posted(client, body)
        assert found.status_code == status, (body[:60], found.text)
        assert found.json().keys() == {"error", "code"}
        assert SECRET not in found.text
    assert client.state() == before


def test_malformed_records_with_keys_are_refused_without_their_keys(client):
    before = client.state()
    for record in KEYED_RECORDS:
        found = posted(client, HEAD + '[{"key": "at"}, ' + record + "]}", "flights")
        assert found.status_code == 422, record
        assert "fr" not in found.json()["error"].split()
    twice = posted(client, HEAD + '[{"key": "at", "key": "ch"}]}', "flights")
    assert twice.status_code == 400
    assert client.state() == before


def test_a_value_may_be_left_out_only_where_records_are_counted(make):
    import hushfade as hf
    from tests.serve.client import ONE

    plan = hf.plan(hf.SlidingWindow(length=2), ONE, keys=["a"], high=2)
    client = make(plans={"s": plan})
    assert client.send([{"key": "a"}], stream="s").status_code == 422
    assert client.send([{"key": "a", "value": 2}], stream="s").status_code == 200


@pytest.mark.parametrize(
    ("body", "query", "status"),
    [
        (b"1\n0.5", "?sender=a&sequence=1", 200),
        (b"1\n0.5", "", 400),
        (b"1\n0.5", "?sender=a", 400),
        (b"1\n0.5", "?sender=a&sequence=1&sequence=2", 400),
        (b"1\n0.5", "?sender=a&sequence=1&more=2", 400),
        (b"1\n0.5", "?sender=a&sequence=-1", 400),
        (b"1\n0.5", "?sender=a&sequence=%EF%BC%91", 400),
        (b"1\n0.5", "?sender=a&sequence=1_0", 400),
        (b"1\n0.5", "?sender=a&sequence=" + "9" * 5000, 400),
        (b"1\n0.5", "?sender=a&sequence=1&step=0", 400),
        (b"1\n0.5", "?sender=a&sequence=1&step=9", 409),
        (b"", "?sender=a&sequence=1", 400),
        (b"\n \r\n", "?sender=a&sequence=1", 400),
        (b"1,2\n0.5", "?sender=a&sequence=1", 400),
        (b"[1\n2]", "?sender=a&sequence=1", 400),
        (b"1 2", "?sender=a&sequence=1", 400),
        (b"NaN", "?sender=a&sequence=1", 400),
        (b"\xff", "?sender=a&sequence=1", 400),
        (b"true", "?sender=a&sequence=1", 422),
    ],
)
def test_lines_are_read_as_strictly(client, body, query, status):
    before = client.state()
    found = posted(client, body, kind="application/x-ndjson", query=query)
    assert found.status_code == status
    assert (client.state() == before) == (status != 200)


@pytest.mark.parametrize(
    ("stream", "body", "status", "said"),
    [
        ("late", b"1\n{oops\n1", 400, "line 2 of the body must be valid JSON"),
        ("late", b"1\n\n\n\xff\n", 400, "line 4 of the body must be UTF-8"),
        ("late", b"NaN", 400, "line 1 of the body must have finite numbers"),
        ("late", b"1\n" + b"[" * 100_000, 400, "line 2 of the body must not be nested so deeply"),
        ("flights", b'{"key": "at"}\n{"key": "at", "key": "at"}', 400,
         "line 2 of the body must have each field once"),
        ("late", b"1\n" * 500 + b"true\n" + b"1\n" * 30 + b"null", 422,
         "line 501 of the body: a record must be a number"),
        ("late", b"1\n\n1e999\n", 422, "line 3 of the body: records must be finite numbers"),
        ("flights", b'{"key": "at"}\n{"key": "SECRET"}', 422,
         "line 2 of the body: key must be one of the stream's keys"),
        ("flights", b'{"key": "at"}\n{"key": "ch"}\n7', 422,
         "line 3 of the body: a record must be an object"),
        ("vectors", b"[0, 1]\n[1]", 422, "line 2 of the body: a record must be a list of 2"),
    ],
)  # fmt: skip
def test_a_line_that_is_refused_is_told_by_its_number_alone(client, stream, body, status, said):
    before = client.state()
    query = "?sender=a&sequence=1"
    found = posted(client, body, stream, kind="application/x-ndjson", query=query)
    assert found.status_code == status
    assert found.json()["error"].startswith(said)
    assert "SECRET" not in found.text
    assert client.state() == before


def test_lines_without_a_sender_are_told_where_it_belongs(client):
    for query in ("", "?sender=a", "?sequence=1"):
        found = posted(client, b"1\n", kind="application/x-ndjson", query=query)
        assert found.json()["error"] == "the query must have sender and sequence"


def test_lines_that_are_too_many_together_are_no_single_line_s_fault(client, monkeypatch):
    def none_of_it(facts, records):
        if len(records) > 1:
            raise InvalidValue("records must be fewer")

    monkeypatch.setattr(batches, "content", none_of_it)
    found = posted(client, b"1\n1\n", kind="application/x-ndjson", query="?sender=a&sequence=1")
    assert found.json()["error"] == "records must be fewer"


def test_lines_without_a_record_use_up_no_number(client):
    """An empty body may be one that a proxy has lost.  JSON can state that there is no record."""
    query, kind = "?sender=a&sequence=1", "application/x-ndjson"
    found = posted(client, b"", kind=kind, query=query)
    assert found.status_code == 400
    assert '"records": []' in found.json()["error"]
    assert posted(client, b"1\n", kind=kind, query=query).status_code == 200
    assert client.totals() == [UNIT]
    assert client.send([], 2).json() == {"status": "accepted", "records": 0}


def test_a_body_that_is_not_as_long_as_declared_is_refused(client):
    body = (HEAD + "[1]}").encode()
    for length in (len(body) - 1, len(body) + 1, 0):
        headers = {"Content-Type": "application/json", "Content-Length": str(length)}
        found = client.request("POST", "/v1/streams/late/records", content=body, headers=headers)
        assert (found.status_code, found.json()["code"]) == (400, "malformed")
    assert client.totals() == [0]


def test_a_compressed_body_is_refused(client):
    body = (HEAD + "[1]}").encode()
    for codings, status in (
        (["gzip"], 415), (["x-anything"], 415), (["identity, br"], 415),
        (["identity", "gzip"], 415), (["Identity"], 200),
    ):  # fmt: skip
        headers = [("Content-Type", "application/json")]
        headers += [("Content-Encoding", coding) for coding in codings]
        found = client.request("POST", "/v1/streams/late/records", content=body, headers=headers)
        assert found.status_code == status, codings
        if status == 415:
            assert found.json()["code"] == "content_encoding"
            assert found.headers["accept-encoding"] == "identity"
    assert client.totals() == [UNIT]


@pytest.mark.parametrize("kind", ["text/plain", "", "application/xml", "multipart/form-data"])
def test_a_body_of_another_kind_is_refused(client, kind):
    found = posted(client, HEAD + "[1]}", kind=kind)
    assert (found.status_code, found.json()["code"]) == (415, "media_type")
    assert client.totals() == [0]


def test_more_records_than_a_request_may_have_are_refused(client, monkeypatch):
    monkeypatch.setattr(batches, "MOST", 10)
    assert client.send([1] * 11).status_code == 413
    assert client.send([1] * 10).status_code == 200


def test_records_whose_sum_could_overflow_are_rejected():
    for grid in (PLAN.grid, KEYED.grid):
        huge = Facts("s", "d", SimpleNamespace(grid=replace(grid, high=2.0**61, resolution=1.0)))
        records = [1, 1] if grid.keys is None else [{"key": grid.keys[0], "value": 1}] * 2
        batches.content(huge, records[:1])
        with pytest.raises(HushfadeError, match="62 bits"):
            batches.content(huge, records)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "sender": st.just("a") | JSON,
        "sequence": st.integers(-1, 3) | JSON,
        "records": st.lists(st.floats() | JSON, max_size=4) | JSON,
        "step": st.integers(0, 3) | JSON,
        "more": JSON,
    },
)
SLOWLY = [HealthCheck.function_scoped_fixture]


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=SLOWLY)
@given(document=NEARLY | JSON, stream=st.sampled_from(["late", "flights", "wide", "vectors"]))
def test_whatever_is_sent_is_accepted_or_refused_and_nothing_breaks(client, document, stream):
    before = client.state()
    found = posted(client, json.dumps(document), stream)
    assert found.status_code in (200, 400, 409, 422)
    if found.status_code != 200:
        assert client.state() == before


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=SLOWLY)
@given(
    body=st.binary(max_size=60) | JSON.map(lambda x: json.dumps(x).encode()),
    path=st.sampled_from(["streams/late/records", "plan", "datasets", "streams"]),
    kind=st.sampled_from(["application/json", "application/x-ndjson"]),
)
def test_no_bytes_break_any_route(client, body, path, kind):
    before = client.state()
    found = client.request("POST", f"/v1/{path}", content=body, headers={"Content-Type": kind})
    assert found.status_code in (400, 415, 422)
    assert client.state() == before


@settings(max_examples=200, deadline=None, derandomize=True)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9)))
def test_a_batch_has_the_sum_of_the_clipped_records(values):
    lanes, units = batches.content(LATE, values)
    exact = sum(np.floor(np.clip(float(x), 0, 1) * UNIT + 0.5) for x in values)
    assert units.sum() == exact
    assert lanes.tolist() == ([0] if values else [])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(records=st.lists(st.tuples(st.sampled_from(KEYED.keys), st.integers(0, 1))))
def test_a_batch_has_a_sum_for_each_key(records):
    sent = [{"key": key, "value": value} for key, value in records]
    lanes, units = batches.content(FLIGHTS, sent)
    assert len(set(lanes.tolist())) == len(lanes)
    found = dict(zip(lanes.tolist(), units.tolist(), strict=True))
    for lane, key in enumerate(KEYED.keys):
        assert found.get(lane, 0) == UNIT * sum(value for k, value in records if k == key)
