"""A page of another site that shows a public release, as the documentation tells it."""

from __future__ import annotations

import math
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx

import hushfade as hf
from hushfade.serve.guard import Guard
from hushfade.serve.process import Server
from hushfade.serve.service import Service
from hushfade.store import Store, tokens
from tests.serve.page.browser import Browser

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "operate.md"
NAMED = "https://numbers.example.org"
PLAN = hf.plan(
    hf.Exponential(half_life=3), hf.Guarantee(epsilon=1, delta=1e-6), method="square_root"
)


@contextmanager
def served(place: Path, *, public: bool) -> Iterator[tuple[str, str]]:
    """The address of a service with one stream, and its administrator's token."""
    store = Store.open(place)
    text = tokens.add(store, "us", ["admin"])
    store.add_dataset("clinics", hf.Guarantee(epsilon=2, delta=1e-6))
    store.add_stream("late", PLAN, dataset="clinics")
    store.close_step("late", 1, closed=time.time_ns())
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    server = Server(Service(store, Guard(tokens.kept(store), public=public)), "127.0.0.1", port)
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}", text
    server.should_exit = True
    thread.join()


@contextmanager
def elsewhere(markup: str) -> Iterator[str]:
    """The address of another site, whose one page this is."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Says nothing."""

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(f"<!doctype html><link rel=icon href=data:,>{markup}".encode())

    site = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=site.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{site.server_port}/"
    site.shutdown()
    site.server_close()
    thread.join()


def markup(address: str) -> str:
    """What the documentation puts on a page, for a service at that address."""
    (found,) = re.findall(r"^```html\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    assert NAMED in found
    return str(found).replace(NAMED, address)


def shown(release: dict[str, float]) -> str:
    """Whether the page shows the release: its value to the nearest whole number, and its band."""
    text, value = "document.querySelector('#late').textContent", release["value"]
    near = f"Math.abs(parseFloat({text}) - {value!r}) <= 0.5"
    return f"{near} && {text}.endsWith(' ± {math.ceil(release['margin'])}')"


def test_a_page_of_another_site_shows_a_public_release_and_the_next(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        served(tmp_path / "releases.db", public=True) as (address, token),
        elsewhere(markup(address)) as site,
    ):
        first = httpx.get(f"{address}/v1/streams/late/releases?last=1", timeout=60).json()[
            "releases"
        ][0]
        with browser.page(site) as page:
            page.until(shown(first))
            close = f"{address}/v1/streams/late/steps/2/close"
            held = {"Authorization": f"Bearer {token}"}
            second = httpx.post(close, headers=held, timeout=60).json()
            page.until(shown(second))
            assert page.errors == []
            # with credentials, or a token, a browser lets another site's page read nothing
            for options in ("{credentials: 'include'}", f"{{headers: {held!r}}}"):
                asked = f"fetch('{address}/v1/streams', {options})"
                assert page.value(f"{asked}.then(() => 'read', () => 'nothing')") == "nothing"


def test_a_page_of_another_site_reads_nothing_of_a_service_that_is_not_public(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        served(tmp_path / "releases.db", public=False) as (address, _),
        elsewhere("<p>Nothing</p>") as site,
        browser.page(site) as page,
    ):
        asked = f"fetch('{address}/v1/streams').then(() => 'read', () => 'nothing')"
        assert page.value(asked) == "nothing"
