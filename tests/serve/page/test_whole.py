"""The page as a whole: token, lost service, keyboard, names, sizes, colours."""

from __future__ import annotations

from typing import Any

import pytest

from tests.serve.page.browser import Browser
from tests.serve.page.service import Service

TOKEN = "hf_correct-token"

OPERATED = {
    "button", "checkbox", "combobox", "DisclosureTriangle", "link", "listbox", "radio", "searchbox",
    "slider", "spinbutton", "tab", "textbox",
}  # fmt: skip


def test_a_token_is_asked_for_and_sent_in_the_header_only(
    browser: Browser, service: Service
) -> None:
    service.token = TOKEN
    with browser.page(service.address) as page:
        page.until("document.querySelector('#token').hidden === false")
        assert page.value("document.activeElement.id") == "token-field"
        assert page.text("#state-text") == "token needed"
        page.type("#token-field", "wrong")
        page.click("#token button")
        page.until("document.querySelector('#token-wrong').textContent.length > 0")
        assert page.value("sessionStorage.length") == 0
        page.type("#token-field", f"  {TOKEN}\t")
        page.click("#token button")
        page.until("document.querySelector('.stream .value') !== null")
        assert page.value("document.querySelector('#token').hidden") is True
        assert page.value("document.querySelector('#token-field').value") == ""
        assert page.value("localStorage.length + document.cookie.length") == 0
        events = [heads for _, path, heads, _ in service.asked if path.endswith("/events")]
        assert events
        assert all(heads["Authorization"] == f"Bearer {TOKEN}" for heads in events)
        assert not any(TOKEN in path for _, path, _, _ in service.asked)
        assert TOKEN not in page.value("location.href")
        page.click("#forget")
        page.until("document.querySelector('#token').hidden === false")
        assert page.value("document.querySelectorAll('.stream').length") == 0
        assert page.value("sessionStorage.length") == 0


def test_a_token_that_no_header_can_carry_is_refused_in_words(
    browser: Browser, service: Service
) -> None:
    service.token = TOKEN
    with browser.page(service.address) as page:
        page.until("document.querySelector('#token').hidden === false")
        page.type("#token-field", "tökeń")
        page.click("#token button")
        assert "plain letters" in page.text("#token-wrong")
        assert not any("Authorization" in heads for _, _, heads, _ in service.asked)


def test_a_service_that_stops_is_said_to_and_tried_again(
    browser: Browser, service: Service
) -> None:
    service.refusal = (503, "the service must be running, it is stopping")
    with browser.page(service.address) as page:
        page.until("document.querySelector('#live-alert p') !== null")
        assert page.text("#live-alert").startswith("The service is busy or is stopping. It says:")
        assert page.text("#state-text") == "no connection"
        service.refusal = None
        page.click("#live-alert button")
        page.until("document.querySelector('.stream .value') !== null")
        page.until("document.querySelector('#state-text').textContent === 'live'")
        assert page.text("#live-alert") == ""


def test_a_service_that_is_asked_too_often_slows_the_page_and_is_not_lost(
    browser: Browser, service: Service
) -> None:
    with browser.page(service.address) as page:
        page.until("document.querySelector('#state-text').textContent === 'live'")
        service.refusal = (429, "requests must be fewer a second")
        page.value("dispatchEvent(new Event('online'))")
        page.until("document.querySelector('#live-alert p') !== null")
        said = page.text("#live-alert p")
        assert said == (
            "Too many requests at once. It says: requests must be fewer a second. "
            "The values below may be old. The page keeps trying to connect."
        )
        assert page.text("#state-text") == "slowed down"


def test_where_reading_is_public_the_planner_alone_asks_for_a_token(
    browser: Browser, service: Service
) -> None:
    service.token, service.public = TOKEN, True
    with browser.page(service.address) as page:
        page.until("document.querySelector('#state-text').textContent === 'live'")
        assert page.value("document.querySelector('#token').hidden") is True
        page.click("#tab-planner")
        page.until("document.querySelector('#token').hidden === false")
        page.click("#tab-live")
        page.until("document.querySelector('#view-live').hidden === false")
        assert page.value("document.querySelector('#token').hidden") is True
        assert page.text("#state-text") == "live"
        page.click("#tab-planner")
        page.type("#token-field", TOKEN)
        page.click("#token button")
        page.until("document.querySelector('#answer .shown') !== null")
        assert page.value("document.querySelector('#token').hidden") is True


def test_a_service_that_is_gone_is_said_to_be(browser: Browser, service: Service) -> None:
    with browser.page(service.address) as page:
        page.until("document.querySelector('#state-text').textContent === 'live'")
        page.call(
            "Network.emulateNetworkConditions",
            offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1,
        )  # fmt: skip
        page.until("document.querySelector('#state-text').textContent === 'no connection'")
        page.until("document.querySelector('#live-alert').textContent.includes('may be old')")
        assert page.value("document.querySelectorAll('.stream .value').length") > 0


def test_arrows_choose_the_view(browser: Browser, service: Service) -> None:
    with browser.page(service.address) as page:
        page.value("document.querySelector('#tab-live').focus()")
        page.press("ArrowRight")
        page.until("document.querySelector('#view-planner').hidden === false")
        assert page.value("document.activeElement.id") == "tab-planner"
        assert page.value("location.hash") == "#planner"
        assert page.value("document.querySelector('#tab-live').tabIndex") == -1
        page.press("ArrowRight")
        page.until("document.querySelector('#view-live').hidden === false")
        assert page.value("document.querySelector('#tab-live').ariaSelected") == "true"


def names(page: Any) -> dict[str, list[str]]:
    """The names of all that can be operated, by role, as a screen reader is told."""
    found: dict[str, list[str]] = {}
    for node in page.call("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if not node["ignored"] and role in OPERATED:
            found.setdefault(role, []).append(node.get("name", {}).get("value", ""))
    return found


def test_all_that_can_be_operated_has_a_name(browser: Browser, service: Service) -> None:
    service.token = TOKEN
    with browser.page(service.address) as page:
        page.until("document.querySelector('#token').hidden === false")
        assert "Token" in names(page)["textbox"]
        page.type("#token-field", TOKEN)
        page.click("#token button")
        page.until("document.querySelectorAll('.u-wrap').length === 3")
        page.value("document.querySelector('.chooser').open = true")
        live = names(page)
        assert "Releases of visits by step" in live["slider"]
        assert "Show as table visits" in live["button"]
        assert {"at", "nl"} <= set(live["checkbox"])
        page.click("#tab-planner")
        page.until("document.querySelector('#answer .plot') !== null")
        planner = names(page)
        assert {"Epsilon", "Delta", "Lowest value", "Highest value"} <= set(planner["textbox"])
        assert planner["radio"] == ["Exponential", "Power law", "Sliding window", "Counting"]
        assert "Copy Python" in planner["button"]
        for listed in (*live.values(), *planner.values()):
            assert all(name.strip() for name in listed), (live, planner)


@pytest.mark.parametrize("view", ["live", "planner"])
def test_a_narrow_screen_needs_no_sideways_scrolling(
    browser: Browser, service: Service, view: str
) -> None:
    with browser.page(f"{service.address}#{view}", width=360) as page:
        page.until(f"document.querySelector('#view-{view} .u-wrap') !== null")
        assert page.value("document.documentElement.scrollWidth") == 360
        assert page.value("document.querySelector('.u-wrap').getBoundingClientRect().right") <= 360


def test_a_reader_of_the_dark_gets_a_dark_page(browser: Browser, service: Service) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with browser.page(service.address, dark=True) as page:
        assert page.value(ground) == "rgb(14, 19, 24)"
    with browser.page(service.address) as page:
        assert page.value(ground) == "rgb(244, 246, 248)"
