"""Statistics on the page, in a browser, against prepared answers."""

from __future__ import annotations

from typing import Any

from tests.serve.page.answers import plan, release, stream
from tests.serve.page.browser import Browser, Page
from tests.serve.page.service import Service

AGES = ["[0, 18)", "[18, 65)", "[65, 120]"]
CARD = "article[aria-labelledby=stream-{}-title]"
MEANS, BINS, QUANTILES = (CARD.format(number) for number in (1, 2, 3))


def statistic(name: str, **more: Any) -> dict[str, Any]:
    """The field of a stream."""
    return {
        "name": name, "released": f"the decayed {name}", "records": "number", "output": None,
        "outputs": None, "range": [0, 100], "parts": ["count"],
    } | more  # fmt: skip


def statistic_release(step: int, value: Any, lower: Any, upper: Any, **more: Any) -> dict[str, Any]:
    """A release of a statistic with 603 ± 6 records."""
    return {
        "step": step, "closed": release(step, 0, 1)["closed"], "value": value, "lower": lower,
        "upper": upper, "whole_range": False, "suppressed": False, "derived": {}, "stddev": 3.1,
        "parts": {"count": {"value": 603.4, "stddev": 3.1, "margin": 6.0}},
    } | more  # fmt: skip


def with_statistics(service: Service) -> Service:
    """The service with a mean, a histogram by key, and quantiles."""
    service.streams = [
        stream("delay", step=40, dataset="sensors", statistic=statistic("mean")),
        stream(
            "ages", step=3, dataset="sensors", keys=["at", "ch"],
            statistic=statistic("histogram", output="bin", outputs=AGES, range=None),
        ),
        stream(
            "latency", step=30, dataset="sensors",
            statistic=statistic("quantiles", output="quantile", outputs=["0.5", "0.9"]),
        ),
    ]  # fmt: skip
    service.releases["delay"] = [statistic_release(t, 42.0 + t, 40.0 + t, 45.0 + t)
                                 for t in range(1, 41)]  # fmt: skip
    service.releases["ages"] = [
        statistic_release(
            t,
            [[10.0 * t, 20.0, -1.0], [1.0, 2.0, 3.0]],
            [[10.0 * t - 4, 16.0, -5.0], [-3.0, -2.0, -1.0]],
            [[10.0 * t + 4, 24.0, 3.0], [5.0, 6.0, 7.0]],
            whole_range=[[False] * 3] * 2, suppressed=[False] * 2,
        )
        for t in range(1, 4)
    ]  # fmt: skip
    service.releases["latency"] = [
        statistic_release(t, [20.0, 90.0], [15.0, 80.0], [25.0, 95.0], whole_range=[False, False])
        for t in range(1, 31)
    ]
    return service


def shown(page: Page, card: str, condition: str) -> None:
    """Scroll to a card, since only cards in view are loaded, and wait."""
    page.until(f"document.querySelector('{card}') !== null")
    page.value(f"document.querySelector('{card}').scrollIntoView()")
    page.until(condition)


def test_a_mean_has_its_interval_and_count(browser: Browser, service: Service) -> None:
    with browser.page(with_statistics(service).address) as page:
        shown(page, MEANS, f"document.querySelector('{MEANS} .value') !== null")
        assert page.text(f"{MEANS} .latest") == "82.0 80.0 to 85.0"
        assert page.text(f"{MEANS} .decay").startswith("the decayed mean · halves every 24 steps")
        assert "603.4 ± 6.0 records, decayed; with 95 % confidence" in page.text(f"{MEANS} .when")
        told = f"document.querySelector('{MEANS} .plot').ariaValueText"
        assert page.value(told) == "step 40: 82.0 (80.0 to 85.0)"
        page.click(f"{MEANS} button.quiet")
        row = f"[...document.querySelectorAll('{MEANS} tbody tr')[0].children].slice(2)"
        assert page.value(f"{row}.map((cell) => cell.textContent)") == ["82.00", "80.00", "85.00"]
        assert page.errors == []


def test_what_noise_hides_or_is_suppressed_is_said(browser: Browser, service: Service) -> None:
    with_statistics(service)
    with browser.page(service.address) as page:
        shown(page, MEANS, f"document.querySelector('{MEANS} .value') !== null")
        service.publish("delay", statistic_release(41, 50.0, 0.0, 100.0, whole_range=True))
        page.until(f"document.querySelector('{MEANS} .value').textContent === 'hidden'")
        told = f"document.querySelector('{MEANS} .plot').ariaValueText"
        assert page.value(told) == "step 41: hidden by noise"
        suppressed = {"whole_range": None, "suppressed": True}
        service.publish("delay", statistic_release(42, None, None, None, **suppressed))
        page.until(f"document.querySelector('{MEANS} .value').textContent === 'suppressed'")
        assert page.value(told) == "step 42: suppressed: too few records"
        assert page.errors == []


def test_a_histogram_is_bars_of_one_key_and_step(browser: Browser, service: Service) -> None:
    bars = f"document.querySelectorAll('{BINS} .bars-bar')"
    label = f"document.querySelector('{BINS} .bars-plot').getAttribute('aria-label')"
    with browser.page(with_statistics(service).address) as page:
        shown(page, BINS, f"{bars}.length === 3")
        assert page.text(f"{BINS} .latest") == "2 keys with 3 bins each"
        assert page.value(label) == (
            "Histogram of ages at step 3: [0, 18): 30.0 (26.0 to 34.0), "
            "[18, 65): 20.0 (16.0 to 24.0), [65, 120]: \u22121.0 (\u22125.0 to 3.0)"
        )
        heights = f"[...{bars}].map((bar) => Number(bar.getAttribute('height')))"
        first, second, _ = page.value(heights)
        assert abs(first / second - 1.5) < 1e-6  # 30 and 20
        page.value(
            f"(() => {{ const x = document.querySelector('{BINS} input[type=range]');"
            "x.value = 0; x.dispatchEvent(new Event('input')); })()"
        )
        assert "at step 1: [0, 18): 10.0 (6.0 to 14.0)" in page.value(label)
        page.value(
            f"(() => {{ const x = document.querySelector('{BINS} select');"
            "x.selectedIndex = 1; x.dispatchEvent(new Event('change')); })()"
        )
        assert "[65, 120]: 3.0" in page.value(label)
        page.click(f"{BINS} button.quiet")
        heads = f"[...document.querySelectorAll('{BINS} thead th')].map((x) => x.textContent)"
        assert page.value(heads)[2] == "ch, [0, 18)"
        assert page.errors == []


def test_quantiles_are_lines_of_one_chart(browser: Browser, service: Service) -> None:
    with browser.page(with_statistics(service).address) as page:
        figures = f"[...document.querySelectorAll('{QUANTILES} .legend li')]"
        shown(page, QUANTILES, f"{figures}.length === 2")
        assert page.text(f"{QUANTILES} .latest") == "2 quantiles"
        assert page.value(f"{figures}.map((x) => x.textContent)") == [
            "quantile 0.520.0 (15.0 to 25.0)", "quantile 0.990.0 (80.0 to 95.0)",
        ]  # fmt: skip


def test_the_planner_asks_for_a_statistic_with_its_own_fields(
    browser: Browser, service: Service
) -> None:
    said = "With 1000 records 95 of 100 means are within 0.974 of the true mean."
    told = {"name": "mean", "released": "the decayed mean", "records": "clipped to [0, 1]",
            "lanes": 2, "accuracy": said}  # fmt: skip

    def planned(question: dict[str, Any]) -> dict[str, Any]:
        if question["statistic"]["kind"] == "sum":
            return plan(question)
        return plan(question) | {"statistic": told, "shown": None, "command": None}

    service.plan = planned
    asked = "document.querySelector('#answer .shown')?.textContent"
    choose = (
        "(() => {{ const x = document.querySelector('#statistic'); x.value = '{}';"
        "x.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    )
    seen = "[...document.querySelectorAll('#question [data-statistic]')].filter((x) => !x.hidden)"
    with browser.page(service.address + "#planner") as page:
        page.until(asked)
        page.value(choose.format("histogram"))
        page.until(f"{asked} === {said!r}")
        assert page.value(f"{seen}.map((x) => x.querySelector('input').id)") == ["edges"]
        body = [body for _, path, _, body in service.asked if path == "/v1/plan"][-1]
        assert body["statistic"] == {"kind": "histogram", "edges": [0, 18, 40, 65, 120]}
        assert not {"low", "high", "resolution"} & body.keys()
        page.type("#edges", "3, 2, 1")
        page.until("document.querySelector('#edges-wrong') !== null")
        page.value(choose.format("quantiles"))
        page.type("#expected", "5000")
        page.until("document.querySelector('#answer').classList.contains('old') === false")
        body = [body for _, path, _, body in service.asked if path == "/v1/plan"][-1]
        assert body["statistic"] == {"kind": "quantiles", "quantiles": [0.5, 0.9], "expect": 5000}
        assert (body["low"], body["high"]) == (0, 1)
        assert page.errors == []
