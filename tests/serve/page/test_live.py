"""The live view, in a browser, against prepared answers."""

from __future__ import annotations

import json

import pytest

from tests.serve.page.answers import KEYS, release, stream
from tests.serve.page.browser import Browser
from tests.serve.page.service import Service

CARD = "article[aria-labelledby=stream-{}-title]"
VISITS, COUNTRIES, PILOT = (CARD.format(number) for number in (1, 2, 3))

FEED = """
import("/page/events.js").then(({ reader }) => CASES.map((pieces) => {
  const feed = reader();
  return pieces.flatMap((piece) => feed(piece));
}))
"""


def test_the_page_loads_without_a_complaint_and_asks_nobody_else(
    browser: Browser, service: Service
) -> None:
    with browser.page(service.address) as page:
        page.until("document.querySelectorAll('.u-wrap').length === 3")
        page.click("#tab-planner")
        page.until("document.querySelectorAll('#answer .u-wrap').length === 1")
        assert page.errors == []
        assert page.requests
        assert all(address.startswith(service.address) for address in page.requests)


def test_a_card_says_value_band_decay_and_guarantee(browser: Browser, service: Service) -> None:
    service.releases["pilot"] = [release(40, 2.5, 0.25)]
    with browser.page(service.address) as page:
        page.until(f"document.querySelector('{PILOT} .value') !== null")
        assert page.text(f"{PILOT} .latest") == "2.50 ± 0.49"  # 1.96 · 0.25
        assert "step 40" in page.text(f"{PILOT} .when")
        assert page.text(f"{PILOT} .decay") == "counts all records, without decay"
        assert page.text(f"{VISITS} .decay") == "halves every 24 steps, one step every 1h"
        assert page.text(f"{VISITS} .guarantee").startswith("Adding or removing any one record")
        assert page.text(f"{VISITS} .limits") == "The guarantee covers one record."
        assert page.value(f"document.querySelector('{PILOT} .badge').hidden") is False
        assert page.value(f"document.querySelector('{VISITS} .badge').hidden") is True


def test_a_card_states_the_joint_charge_and_steps_that_are_closed_by_hand(
    browser: Browser, service: Service
) -> None:
    joint = {"streams": ["visits", "pilot"], "epsilon": 1.0, "delta": 1e-6}
    service.streams[0] |= {"together": joint, "every": "by hand"}
    with browser.page(service.address) as page:
        page.until(f"document.querySelector('{VISITS} .limits') !== null")
        assert page.text(f"{VISITS} .limits") == (
            "Charged as one guarantee for visits, pilot: epsilon 1 at delta 1e-6 together. "
            "The guarantee covers one record."
        )
        assert page.text(f"{VISITS} .decay").endswith("steps closed by hand")


def test_a_release_shows_as_it_comes_with_its_band(browser: Browser, service: Service) -> None:
    with browser.page(service.address) as page:
        page.until(f"document.querySelector('{VISITS} .value') !== null")
        page.click(f"{VISITS} button[aria-expanded]")
        service.publish("visits", release(621, 100.0, 5.0))
        page.until(f"document.querySelector('{VISITS} .when').textContent.startsWith('step 621')")
        assert page.text(f"{VISITS} .latest") == "100.0 ± 9.8"  # 1.96 · 5
        rows = f"[...document.querySelectorAll('{VISITS} tbody tr')]"
        first = page.value(f"[...{rows}[0].cells].map((cell) => cell.textContent)")
        assert [first[0], *first[2:]] == ["621", "100.00", "90.20", "109.80"]
        assert page.value(f"{rows}.length") == 500
        assert page.text("#announcer")
        assert page.errors == []


def test_the_band_is_the_margin_of_the_service(browser: Browser, service: Service) -> None:
    script = """
    import("/page/series.js").then(({ Series }) => {
      const series = new Series(["a", "b"]);
      series.add({ step: 1, value: [10, -3], stddev: 2, margin: 4.5 });
      series.add({ step: 2, value: [11, -4], stddev: 3, margin: 6.25 });
      const again = series.add({ step: 2, value: [0, 0], stddev: 9, margin: 20 });
      return [again, series.columns([1, 0])];
    })"""
    with browser.page(service.address) as page:
        again, columns = page.value(script)
    assert again is False  # a step that is already here
    two, three = 4.5, 6.25
    by_hand = [[1, 2], [-3 + two, -4 + three], [-3 - two, -4 - three], [-3, -4]]
    by_hand += [[10 + two, 11 + three], [10 - two, 11 - three], [10, 11]]
    assert columns == [pytest.approx(column, rel=1e-14) for column in by_hand]


def test_the_band_of_a_first_release_is_drawn_too(browser: Browser, service: Service) -> None:
    service.releases["pilot"] = [release(1, 2.5, 0.25)]
    tall = f"""{{
      const canvas = document.querySelector('{PILOT} canvas');
      const {{ data }} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const heights = Array(canvas.width).fill(0);
      for (let at = 0; at < data.length; at += 4) {{
        if (data[at + 3] > 90 && data[at + 2] - data[at] > 90) heights[at / 4 % canvas.width] += 1;
      }}
      Math.max(...heights) > 50; // blue pixels above each other: a point has 8
    }}"""
    with browser.page(service.address) as page:
        page.until(f"document.querySelector('{PILOT} canvas') !== null")
        page.until(tall)
        page.click(f"{PILOT} button[aria-expanded]")
        assert page.text(f"{PILOT} caption").startswith("pilot: the last 1 release, with")


def test_only_the_last_500_steps_are_asked_for(browser: Browser, service: Service) -> None:
    with browser.page(service.address) as page:
        page.until(f"document.querySelector('{VISITS} .value') !== null")
        assert "/v1/streams/visits/releases?after=120&limit=500" in service.paths()
        assert page.value(f"document.querySelector('{VISITS} .plot').ariaValueMin") == "121"


def test_at_most_six_keys_are_shown(browser: Browser, service: Service) -> None:
    with browser.page(service.address) as page:
        page.until(f"document.querySelectorAll('{COUNTRIES} .legend li').length === 6")
        boxes = f"[...document.querySelectorAll('{COUNTRIES} .boxes input')]"
        assert page.value(f"{boxes}.map((box) => box.checked)") == [True] * 6 + [False]
        assert page.value(f"{boxes}.map((box) => box.disabled)") == [False] * 6 + [True]
        page.value(f"{boxes}[1].click(), {boxes}[6].click()")
        names = f"[...document.querySelectorAll('{COUNTRIES} .key')].map((key) => key.textContent)"
        assert page.value(names) == ["at", *KEYS[2:]]
        ranks = f"[...document.querySelectorAll('{COUNTRIES} .swatch')].map((s) => s.dataset.rank)"
        assert page.value(ranks) == ["0", "2", "3", "4", "5", "1"]  # the others keep their colours


def test_of_very_many_keys_some_are_offered_and_any_is_found(
    browser: Browser, service: Service
) -> None:
    keys = [f"ward {number}" for number in range(300)]
    service.streams[:] = [stream("wards", step=1, keys=keys)]
    service.releases["wards"] = [release(1, [float(number) for number in range(300)], 1.0)]
    with browser.page(service.address) as page:
        page.until("document.querySelectorAll('.boxes input').length === 60")
        assert page.text(".chooser [role=status]").endswith("Search by name to find 240 more keys.")
        page.value("document.querySelector('.chooser').open = true")
        page.click(".boxes input")
        page.type(".chooser [type=search]", "WARD 299")
        assert page.text(".boxes") == "ward 299"
        page.click(".boxes input")
        page.until("document.querySelectorAll('.legend li').length === 6")
        assert page.text(".legend li:last-child .figure") == "299.0 ± 2.0"


def test_a_stream_that_ends_says_so(browser: Browser, service: Service) -> None:
    with browser.page(service.address) as page:
        page.until("document.querySelector('#state-text').textContent === 'live'")
        page.until(f"document.querySelector('{VISITS} .value') !== null")
        service.end("visits")
        page.until(f"document.querySelector('{VISITS} .badge').hidden === false")
        assert page.value(f"document.querySelector('{COUNTRIES} .badge').hidden") is True
        assert page.errors == []


def test_a_budget_tells_epsilon_first_and_its_share_is_of_the_numbers_beside_it(
    browser: Browser, service: Service
) -> None:
    with browser.page(service.address) as page:
        words = page.text("[aria-label='Dataset clinics'] .budget-words")
        assert words == (
            "epsilon 1.29 of 2.26 spent · after another stream like the last: 1.9 · delta 1e-6"
        )
        meter = "document.querySelector('[aria-label=\"Budget of dataset clinics\"]')"
        assert page.value(f"{meter}.ariaValueNow") == "58"  # 1.29 / 2.26, rounded up
        assert page.value(f"{meter}.firstChild.style.width") == "58%"
        assert page.text("[aria-label='Dataset clinics'] .share") == "58 % spent"
        assert page.value(f"{meter}.title").startswith("mu 0.3 of 0.5 spent.")


def test_counts_of_late_records_are_marked_and_only_shown_where_answered(
    browser: Browser, service: Service
) -> None:
    with browser.page(service.address) as page:
        secret = page.text(f"{VISITS} .secret")
        assert secret == (
            "Not for publication: 12 late records, 3 repeated records, 345 in the open step."
        )
        assert page.value(f"document.querySelector('{COUNTRIES} .secret').hidden") is True


def test_a_chart_is_read_by_the_arrow_keys(browser: Browser, service: Service) -> None:
    service.releases["pilot"] = [release(39, 1.5, 0.25), release(40, 2.5, 0.25)]
    with browser.page(service.address) as page:
        page.until(f"document.querySelector('{PILOT} .u-wrap') !== null")
        page.value(f"document.querySelector('{PILOT} .plot').focus()")
        page.press("ArrowLeft")
        told = f"document.querySelector('{PILOT} .plot').ariaValueText"
        assert page.value(told) == "step 39: 1.50 ± 0.49"
        assert page.text(f"{PILOT} .readout") == "step 39: 1.50 ± 0.49"
        page.press("End")
        assert page.value(told) == "step 40: 2.50 ± 0.49"


def test_names_of_streams_are_text(browser: Browser, service: Service) -> None:
    name = "<img src=x onerror=document.title='run'> /?#%"
    service.streams[:] = [stream(name, step=1)]
    service.releases[name] = [release(1, 1.0, 1.0)]
    with browser.page(service.address) as page:
        page.until("document.querySelector('.stream .value') !== null")
        assert page.text(".stream h3") == name
        assert page.value("document.querySelectorAll('main img').length") == 0
        assert page.errors == []


def test_many_streams_do_not_use_up_the_connections(browser: Browser, service: Service) -> None:
    names = [f"s{number}" for number in range(9)]
    service.streams[:] = [stream(name, step=1) for name in names]
    service.releases.update({name: [release(1, 1.0, 1.0)] for name in names})
    with browser.page(service.address) as page:
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=1200, height=4000, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        page.until("document.querySelectorAll('.stream .value').length === 9")
        page.click("#tab-planner")  # a question, answered while four streams are followed
        page.until("document.querySelector('#answer .shown') !== null")
        assert len([path for path in service.paths() if path.endswith("/events")]) <= 4


def test_events_are_read_however_they_are_cut(browser: Browser, service: Service) -> None:
    lines = [": comment", "", "id: 7", "event: release", "data: {", "data: }", "", "data:x", "", ""]
    cases = []
    for ending in ("\n", "\r\n", "\r"):
        text = ending.join(lines)
        for size in (1, 2, 5, 1000):
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            cases.append([*pieces, ": end\n"])
    with browser.page(service.address) as page:
        found = page.value(FEED.replace("CASES", json.dumps(cases)))
    wanted = [
        {"id": "7", "event": "release", "data": "{\n}"},
        {"id": "7", "event": "message", "data": "x"},
    ]
    assert found == [wanted] * len(cases)
