import asyncio
import logging
from contextlib import ExitStack, closing

import pytest

from hushfade.errors import InvalidValue, Refused
from hushfade.serve import app
from hushfade.serve.error_responses import Refusal
from hushfade.serve.guard import Caller, Guard, Rates, local
from hushfade.store import Store, tokens
from hushfade.store.tokens import SCOPES, Token
from tests.serve.client import PLAN, Listener

GUARDED = [way for way in app.WAYS if way.scope is not None]
PATHS = {"{name}": "late", "{step}": "1", "{path:path}": "main.js"}


def path_of(way):
    path = way.path
    for pattern, text in PATHS.items():
        path = path.replace(pattern, text)
    return path


@pytest.fixture
def guarded(make):
    return make("guarded.db", scopes=SCOPES)


def test_without_a_token_every_route_but_the_open_ones_is_refused(guarded):
    before = guarded.state()
    for way in GUARDED:
        for headers in [
            {}, {"Authorization": "Bearer "}, {"Authorization": "Bearer wrong"},
            {"Authorization": f"Basic {guarded.tokens['admin']}"},
            {"Authorization": guarded.tokens["admin"]},
            {"Authorization": f"Bearer {guarded.tokens['admin'][:-1]}"},
            {"Authorization": f"Bearer {tokens.digest(guarded.tokens['admin'])}"},
        ]:  # fmt: skip
            found = guarded.request(way.method, path_of(way), headers=headers)
            assert found.status_code == 401, way
            assert found.headers["www-authenticate"].startswith("Bearer")
            known = not headers.get("Authorization", "").removeprefix("Bearer ").strip()
            known = known or not headers["Authorization"].startswith("Bearer ")
            said = "the request needs a token: " if known else "the token is unknown: "
            assert found.json()["error"].startswith(said)
    assert guarded.state() == before
    assert [way.path for way in app.WAYS if way.scope is None] == [
        "/health", "/ready", "/openapi.json", "/", "/page/{path:path}",
    ]  # fmt: skip


def test_a_token_of_another_scope_is_refused_on_every_route(guarded):
    before = guarded.state()
    for way in GUARDED:
        for scope in {"ingest", "read"} - {way.scope}:
            found = guarded.request(way.method, path_of(way), as_=scope)
            assert (found.status_code, found.json()["code"]) == (403, "forbidden"), way
    assert guarded.state() == before


def test_the_right_token_and_the_admins_pass_every_route(guarded):
    guarded.store.end("wide")
    for way in GUARDED:
        if way.path.endswith("/events"):
            continue  # it would never end
        for scope in (way.scope, "admin"):
            found = guarded.request(way.method, path_of(way), as_=scope)
            assert found.status_code not in (401, 403), way


def test_exact_counts_are_for_admins_alone(guarded):
    for path in ("/v1/streams", "/v1/streams/late"):
        assert "not_for_publication" not in guarded.get(path, as_="read").text
        assert "not_for_publication" in guarded.get(path, as_="admin").text


def test_without_tokens_only_this_machine_may_ask():
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.org", ""):
        assert not local(host)
        with pytest.raises(Refused, match="host must be"):
            Guard().may_listen(host)
        Guard([Token("a", ("read",), "0")]).may_listen(host)
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        Guard().may_listen(host)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[bad", ""])
def test_without_tokens_a_foreign_name_that_leads_here_is_refused(client, host):
    found = client.get("/v1/streams", headers={"Host": host})
    assert (found.status_code, found.json()["code"]) == (403, "host")


def test_a_request_of_a_foreign_page_is_refused(guarded, client):
    for origin in ("http://evil.example", "null", "http://127.0.0.1:99", "http://[", ""):
        for served, as_ in ((client, None), (guarded, "admin")):
            path, headers = "/v1/streams/late/steps/1/close", {"Origin": origin}
            found = served.request("POST", path, headers=headers, as_=as_)
            assert (found.status_code, found.json()["code"]) == (403, "origin")
    own = client.get("/v1/streams", headers={"Origin": "http://127.0.0.1"})
    assert own.status_code == 200
    assert client.store.releases("late") == []


def test_a_body_that_is_too_large_is_refused_however_it_is_sent(make):
    client = make(max_body=2000)
    before = client.state()
    fits = b'{"sender": "a", "sequence": 1, "records": []}'.ljust(2000)
    kind = {"Content-Type": "application/json"}

    async def parts(body):
        for at in range(0, len(body), 300):
            yield body[at : at + 300]

    for body in (fits + b" ", fits * 10):
        for content in (body, parts(body)):
            path = "/v1/streams/late/records"
            found = client.request("POST", path, content=content, headers=kind)
            assert (found.status_code, found.json()["code"]) == (413, "too_large")
    assert client.state() == before
    for content in (fits, parts(fits)):
        path = "/v1/streams/late/records"
        assert client.request("POST", path, content=content, headers=kind).status_code == 200


def test_only_a_few_large_bodies_are_read_at_a_time(client, monkeypatch):
    monkeypatch.setattr("hushfade.serve.guard.LARGE", 1)
    arrived = asyncio.Event()

    async def slow():
        yield b" " * 70_000
        await arrived.wait()
        yield b"{}"

    async def let_on():
        arrived.set()

    headers = {"Content-Type": "application/json"}
    first = client.start(client.requested("POST", "/v1/plan", content=slow(), headers=headers))
    while client.service.guard._large.total() < 1:
        pass
    second = client.post("/v1/plan", {"x": "x" * 70_000})
    assert (second.status_code, second.json()["code"]) == (503, "busy")
    assert client.post("/v1/plan", {}).status_code == 400  # a small one is read
    client.run(let_on())
    assert first.result(20).status_code == 400
    assert client.post("/v1/plan", {"x": "x" * 70_000}).status_code == 400


def test_one_caller_does_not_take_all_the_room():
    guard = Guard()
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(guard.room(Caller("token a")))
        with pytest.raises(Refusal, match="busy"), guard.room(Caller("token a")):
            pass
        with guard.room(Caller("token b")):
            pass
    with guard.room(Caller("token a")):
        pass


def test_a_token_that_is_revoked_while_its_body_arrives_is_refused(make):
    guarded = make("guarded.db", scopes=SCOPES)
    arrived = asyncio.Event()

    async def slow():
        yield b'{"sender": "a", "sequence": 1, '
        await arrived.wait()
        yield b'"records": [1]}'

    async def let_on():
        arrived.set()

    headers = {"Content-Type": "application/json"}
    path = "/v1/streams/late/records"
    sent = guarded.requested("POST", path, as_="ingest", content=slow(), headers=headers)
    first = guarded.start(sent)
    while guarded.service.guard._large.total() < 1:
        pass
    assert guarded.request("DELETE", "/v1/tokens/ingest", as_="admin").status_code == 200
    guarded.run(let_on())
    assert first.result(20).status_code == 401
    assert guarded.totals() == [0]


def test_whoever_watches_the_service_is_always_told(make):
    client = make(rate=1)
    assert {client.get("/ready").status_code for _ in range(5)} == {200}
    assert 429 in {client.get("/v1/streams").status_code for _ in range(5)}


def test_a_body_that_does_not_arrive_is_given_up(client, monkeypatch):
    monkeypatch.setattr("hushfade.serve.guard.PATIENCE", 0.05)

    async def never():
        yield b"{"
        await asyncio.sleep(5)

    headers = {"Content-Type": "application/json"}
    found = client.request("POST", "/v1/plan", content=never(), headers=headers)
    assert (found.status_code, found.json()["code"]) == (408, "timeout")


def test_a_caller_gets_one_second_s_requests_at_once_and_then_as_many_a_second():
    now = [100.0]
    rates = Rates(4.0, lambda: now[0])

    def taken(caller="a"):
        count = 0
        while True:
            try:
                rates.take(caller)
            except Refusal:
                return count
            count += 1

    assert taken() == 4
    now[0] += 0.5
    assert taken() == 2
    assert taken("b") == 4
    now[0] -= 50  # a clock that goes back gives nothing
    assert taken() == 0
    with pytest.raises(Refusal) as refusal:
        rates.take("a")
    assert (refusal.value.status, refusal.value.headers["Retry-After"]) == (429, "1")
    now[0] += 1000
    assert taken() == 4


def test_too_many_requests_of_a_token_do_not_hinder_another(make):
    client = make(scopes=SCOPES, rate=3)
    found = [client.get("/v1/datasets", as_="read").status_code for _ in range(8)]
    assert found[:3] == [200] * 3
    assert 429 in found
    assert client.get("/v1/datasets", as_="admin").status_code == 200
    refused = [client.get("/v1/datasets").status_code for _ in range(8)]
    assert 429 in refused  # guesses are counted too


def test_every_answer_has_the_headers_of_a_careful_service(client):
    for method, path in [
        ("GET", "/"),
        ("GET", "/nowhere"),
        ("POST", "/v1/plan"),
        ("GET", "/v1/streams"),
    ]:
        found = client.request(method, path).headers
        assert found["x-content-type-options"] == "nosniff"
        assert found["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in found["content-security-policy"]
        assert "unsafe" not in found["content-security-policy"]
        assert "access-control-allow-origin" not in found
    assert client.get("/v1/streams").headers["cache-control"] == "no-store"
    assert "default-src 'self'" in client.get("/").headers["content-security-policy"]


def test_the_log_has_routes_and_nothing_that_was_sent(make, caplog):
    client = make(scopes=SCOPES)
    with caplog.at_level(logging.DEBUG, logger="hushfade.serve"):
        client.request(
            "POST", "/v1/streams/late/records?sender=somebody&sequence=1", content=b"0.4242\n",
            headers={"Content-Type": "application/x-ndjson"}, as_="ingest",
        )  # fmt: skip
        client.get("/nowhere?secret=1")
    text = "\n".join(record.getMessage() for record in caplog.records if "serve" in record.name)
    assert "POST /v1/streams/{name}/records 200" in text
    assert "GET no route 404" in text
    for sent in ("somebody", "4242", "secret", client.tokens["ingest"], "Bearer"):
        assert sent not in text


def test_the_log_tells_start_stop_and_every_step_that_closes_and_no_file_of_the_page(make, caplog):
    with caplog.at_level(logging.INFO, logger="hushfade.serve"):
        client = make(plans={"it's": PLAN})
        for step in (1, 1, 2):
            client.close_step(step, "it's")
        client.get("/page/main.js")
        client.get("/")
        client.stop()
    lines = [record.getMessage() for record in caplog.records if "serve" in record.name]
    assert lines[0] == "started with 1 streams"
    closed = [line for line in lines if "closed" in line]
    assert closed == [f'step {step} of stream "it\'s" closed' for step in (1, 2)]
    assert lines[-1] == "stopped: all accepted data are on disk"
    assert not any("/page/" in line for line in lines)
    assert any(line.startswith("GET / 200") for line in lines)


# Public reading ------------------------------------------------------------------------------

FOREIGN = {"Origin": "https://elsewhere.example"}
SHARED = "access-control-allow-origin"


@pytest.fixture
def public(make):
    return make("public.db", scopes=SCOPES, public=True)


def test_a_public_service_lets_everybody_read_and_nobody_do_more(public):
    before = public.state()
    for way in GUARDED:
        if way.path.endswith("/events"):
            continue  # it would never end
        for headers in ({}, FOREIGN):
            found = public.request(way.method, path_of(way), headers=headers)
            if way.scope == "read" and way.method == "GET":
                assert found.status_code == 200, way
                assert found.headers[SHARED] == "*"
                assert found.headers["cross-origin-resource-policy"] == "cross-origin"
                assert found.headers.get_list("cross-origin-resource-policy", True) == [
                    "cross-origin"
                ]
                assert public.request("HEAD", path_of(way), headers=headers).headers[SHARED] == "*"
            else:
                assert found.status_code == (403 if headers else 401), way
                assert SHARED not in found.headers
            assert "access-control-allow-credentials" not in found.headers
    assert public.state() == before


def test_what_is_asked_with_a_token_is_never_for_another_page(public):
    for as_ in ("read", "admin"):
        for path in ("/v1/streams", "/v1/streams/late", "/metrics"):
            found = public.get(path, as_=as_)
            assert found.status_code == 200
            assert SHARED not in found.headers
            assert found.headers["cross-origin-resource-policy"] == "same-origin"
            assert public.get(path, as_=as_, headers=FOREIGN).status_code == 403
    assert "not_for_publication" in public.get("/v1/streams", as_="admin").text
    assert "not_for_publication" not in public.get("/v1/streams").text
    wrong = {"Authorization": "Bearer wrong"}
    assert public.get("/v1/streams", headers=wrong).status_code == 401
    for path in ("/", "/page/main.js", "/health", "/openapi.json", "/nowhere"):
        assert SHARED not in public.get(path).headers
        assert public.get(path, headers=FOREIGN).status_code in (403, 404)
    asked = {**FOREIGN, "Access-Control-Request-Headers": "authorization"}
    before = public.request("OPTIONS", "/v1/streams", headers=asked)
    assert before.status_code == 405  # so a browser sends no token from another page
    assert SHARED not in before.headers


def test_refusals_of_what_is_public_can_be_read_by_every_page_too(public):
    found = public.get("/v1/streams/none", headers=FOREIGN)
    assert (found.status_code, found.headers[SHARED]) == (404, "*")


def test_everybody_may_follow_a_public_stream_and_stays(public):
    listener = Listener(public, "/v1/streams/late/events", [(b"origin", b"https://a.example")])
    listener.until("retry")
    for step in (1, 2):
        assert public.post(f"/v1/streams/late/steps/{step}/close", as_="admin").status_code == 200
        listener.until(f"id: {step}")
    public.request("DELETE", "/v1/tokens/ingest", as_="admin")
    public.post("/v1/streams/late/steps/3/close", as_="admin")
    listener.until("id: 3")
    listener.leave()


def test_a_public_service_needs_tokens(make):
    for host in ("127.0.0.1", "0.0.0.0"):
        with pytest.raises(Refused, match="must"):
            Guard(public=True).may_listen(host)
    Guard([Token("a", ("admin",), "0")], public=True).may_listen("0.0.0.0")
    client = make(public=True)  # never served so; it is not public even then
    assert client.get("/v1/streams", headers=FOREIGN).status_code == 403
    assert SHARED not in client.get("/v1/streams").headers


def test_without_being_public_nothing_is_shared(guarded):
    for headers in ({}, FOREIGN):
        found = guarded.get("/v1/streams", headers=headers)
        assert found.status_code in (401, 403)
        assert SHARED not in found.headers


# Tokens --------------------------------------------------------------------------------------


def test_a_token_is_kept_as_its_digest_alone(make, tmp_path):
    client = make(scopes=["read"])
    text = client.tokens["read"]
    assert len(text.removeprefix("hushfade_")) == 43  # 256 bits
    (kept,) = tokens.kept(client.store)
    assert kept.digest == tokens.digest(text)
    assert kept.digest not in repr(kept)
    for file in tmp_path.iterdir():
        assert text.encode() not in file.read_bytes()


def test_tokens_have_scopes_of_the_list_and_a_name_of_their_own(client):
    store = client.store
    assert tokens.add(store, "a", ["read", "ingest"]) != tokens.add(store, "b", ["admin"])
    found = {token.name: token.scopes for token in tokens.kept(store)}
    assert found == {"a": ("ingest", "read"), "b": ("admin",)}
    with pytest.raises(Refused, match="exists"):
        tokens.add(store, "a", ["read"])
    for name, scopes in [("c", []), ("c", ["write"]), ("", ["read"]), ("\n", ["read"])]:
        with pytest.raises(InvalidValue):
            tokens.add(store, name, scopes)
    tokens.revoke(store, "a")
    assert [token.name for token in tokens.kept(store)] == ["b"]
    with pytest.raises(InvalidValue):
        tokens.revoke(store, "a")


def test_a_store_that_lost_its_tokens_is_not_served_until_it_has_some(tmp_path):
    """A copy from before the first token is restored: its ledger is as new as the mark."""
    path = tmp_path / "releases.db"
    with closing(Store.open(path)) as store:
        assert not tokens.missing(store)
        Guard(tokens.kept(store), required=tokens.missing(store)).may_listen("127.0.0.1")
        store.backup(tmp_path / "copy.db")
        tokens.add(store, "admin", ["admin"])
        assert not tokens.missing(store)
    (tmp_path / "copy.db").replace(path)
    with closing(Store.open(path)) as store:
        assert tokens.missing(store)
        guard = Guard(tokens.kept(store), required=True)
        assert not guard.open
        with pytest.raises(Refused, match="had tokens and has none"):
            guard.may_listen("127.0.0.1")
        tokens.add(store, "admin", ["admin"])
        assert not tokens.missing(store)
        tokens.revoke(store, "admin")  # by intention
        assert not tokens.missing(store)


def test_a_guard_that_loses_all_tokens_while_it_serves_admits_nobody(make):
    client = make(scopes=("admin",))
    client.service.guard.use([])
    assert not client.service.guard.open
    assert client.get("/v1/streams").status_code == 401
    assert client.get("/v1/streams", as_="admin").status_code == 401
    assert client.get("/health").status_code == 200
