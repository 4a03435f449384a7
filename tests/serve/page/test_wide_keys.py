"""Streams with very many keys, and the clock, in a browser, against prepared answers."""

from __future__ import annotations

from tests.serve.page.answers import release, stream
from tests.serve.page.browser import Browser
from tests.serve.page.service import Service

KEYS = [f"gate {number}" for number in range(1200)]
CARD = "article.stream"


def make_wide(service: Service) -> None:
    service.streams[:] = [
        stream("gates", keys=KEYS[:1000], key_count=len(KEYS), step=3, ended=True)
    ]
    service.keys["gates"] = KEYS
    values = [[float(10 * step + lane) for lane in range(len(KEYS))] for step in (1, 2, 3)]
    service.releases["gates"] = [release(step, values[step - 1], 1.0) for step in (1, 2, 3)]


def test_a_wide_stream_asks_for_six_keys_and_finds_others_by_search_and_pages(
    browser: Browser, service: Service
) -> None:
    make_wide(service)
    with browser.page(service.address) as page:
        page.until(f"document.querySelectorAll('{CARD} .legend li').length === 6")
        assert "1,200 keys" in page.text(f"{CARD} .latest") or "1200 keys" in page.text(
            f"{CARD} .latest"
        )
        read = [path for path in service.paths() if "/releases" in path]
        assert all(path.count("key=") == 6 for path in read)
        page.click(f"{CARD} details summary")
        page.until(f"document.querySelectorAll('{CARD} .boxes input').length === 50")
        page.click(f"{CARD} .row button:last-of-type")
        page.until(f"document.querySelector('{CARD} .boxes input').dataset.key === 'gate 50'")
        page.type(f"{CARD} input[type=search]", "1199")
        page.until(f"document.querySelectorAll('{CARD} .boxes input').length === 1")
        page.value(f"document.querySelector('{CARD} .legend') !== null")
        page.type(f"{CARD} input[type=search]", "gate 5")
        page.until(f"document.querySelector('{CARD} .boxes input[data-key=\\'gate 5\\']') !== null")
        page.click(f"{CARD} .boxes input[data-key='gate 5']")  # one key fewer
        page.until(f"document.querySelectorAll('{CARD} .legend li').length === 5")
        assert page.errors == []


def test_the_page_shows_a_held_clock_and_streams_away_from_it(
    browser: Browser, service: Service
) -> None:
    service.clock = "the wall clock is 3600 s ahead of its expected time"
    service.streams[0]["lag"] = 7
    service.streams[1]["lag"] = -3
    with browser.page(service.address) as page:
        page.until("document.querySelector('#clock-alert p') !== null")
        assert page.text("#clock-alert") == (
            "No steps close: the wall clock is 3600 s ahead of its expected time."
        )
        shown = page.value("[...document.querySelectorAll('.clock')].map((x) => x.textContent)")
        assert shown[0] == "7 steps behind the clock."
        assert shown[1] == "3 steps ahead of the clock: it waits for the clock."
        assert shown[2] == ""
