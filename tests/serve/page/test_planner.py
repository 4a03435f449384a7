"""The planner, in a browser, against prepared answers."""

from __future__ import annotations

import re
from pathlib import Path

import hushfade.serve
from hushfade.serve.planner import LAWS, METHODS
from tests.serve.page.browser import Browser
from tests.serve.page.service import Service

ASKED = {
    "decay": {"kind": "exponential", "half_life": 24}, "epsilon": 1, "delta": 1e-6, "horizon": None,
    "low": 0, "high": 1, "neighbours": "add_remove", "protects": "record",
    "method": "best", "statistic": {"kind": "sum"},
}  # fmt: skip

SHOWN = "document.querySelector('#answer .shown')?.textContent"


def questions(service: Service) -> list[object]:
    return [body for _, path, _, body in service.asked if path == "/v1/plan"]


def test_a_plan_is_shown_in_words(browser: Browser, service: Service) -> None:
    with browser.page(service.address + "#planner") as page:
        page.until(SHOWN)
        assert questions(service) == [ASKED]
        # 1.96 · 7.68 = 15.05
        assert page.text(".shown") == "A true sum of 100 is published as 84 to 116"
        assert page.text("#answer .guarantee").startswith("Adding or removing any one record")
        assert "99.85 %" in page.text(".optimum")
        assert page.text(".over-time").startswith("A record reveals at most epsilon = 0.7267")
        bars = page.value("[...document.querySelectorAll('.bars li')].map((b) => b.textContent)")
        assert bars == [
            "this plan: 1", "square root, Laplace noise: 1.47 times", "input noise: 1.7 times",
            "Honaker online: 3.1 times", "one-shot releases: 1,100 times",
        ]  # fmt: skip
        curve = "document.querySelector('#answer .plot').ariaValueText"
        assert page.value(curve) == "step 1,000: standard deviation 7.68"


def test_a_change_asks_again_once_it_has_settled(browser: Browser, service: Service) -> None:
    with browser.page(service.address + "#planner") as page:
        page.until(SHOWN)
        page.click("input[value=window]")
        page.type("#length", "1")
        page.type("#length", "168")
        page.type("#epsilon", "4")
        page.type("#steps", "3")
        page.type("#apart", "24")
        page.type("#horizon", "500")
        # 1.96 · 7.68 / 4
        page.until(f"{SHOWN} === 'A true sum of 100 is published as 96.2 to 103.8'")
        assert questions(service)[-1] == ASKED | {
            "decay": {"kind": "window", "length": 168}, "epsilon": 4, "horizon": 500,
            "protects": {"steps": 3, "apart": 24},
        }  # fmt: skip
        assert page.value("document.querySelector('[data-for=exponential]').hidden") is True


def test_a_mechanism_can_be_chosen(browser: Browser, service: Service) -> None:
    choose = "f = document.querySelector('#{}'); f.value = '{}'; 0"
    with browser.page(service.address + "#planner") as page:
        page.until(SHOWN)
        page.value(choose.format("law", "laplace"))
        page.value(choose.format("method", "square_root"))
        page.type("#epsilon", "4")
        page.until(f"{SHOWN} === 'A true sum of 100 is published as 96.2 to 103.8'")
        assert questions(service)[-1] == ASKED | {
            "epsilon": 4, "method": "square_root", "law": "laplace",
        }  # fmt: skip


def test_the_form_offers_every_method_and_law() -> None:
    page = (Path(hushfade.serve.__file__).parent / "page" / "index.html").read_text()

    def offered(name: str) -> list[str]:
        return re.findall(r'value="(\w+)"', page.split(f'<select id="{name}"')[1].split("</sel")[0])

    assert offered("method") == list(METHODS)
    assert offered("law") == list(LAWS)


def test_what_cannot_be_planned_is_said_at_its_field_and_not_asked(
    browser: Browser, service: Service
) -> None:
    with browser.page(service.address + "#planner") as page:
        page.until(SHOWN)
        before = len(questions(service))
        page.type("#epsilon", "none")
        assert page.text("#epsilon-wrong") == "Epsilon must be a number above 0."
        assert page.value("document.querySelector('#epsilon').ariaInvalid") == "true"
        page.type("#epsilon", "1")
        page.click("input[value=counting]")
        page.type("#horizon", "2.5")
        said = "Horizon must be a whole number, 1 or more, or empty."
        assert page.text("#horizon-wrong") == said
        page.type("#low", "2")
        assert page.text("#high-wrong") == "Highest value must be above lowest value."
        assert all(body == ASKED for body in questions(service)[before:])


def test_a_refusal_is_said_in_the_services_words(browser: Browser, service: Service) -> None:
    service.refusal = (422, "delta must be below 0.1, got 0.5")
    with browser.page(service.address + "#planner") as page:
        page.until("document.querySelector('#planner-alert p') !== null")
        assert page.text("#planner-alert") == "delta must be below 0.1, got 0.5."
        assert page.value("document.querySelector('#planner-alert').role") == "alert"


def test_code_is_copied_or_else_selected(browser: Browser, service: Service) -> None:
    clipboard = "Object.defineProperty(navigator, 'clipboard', {{configurable: true, value: {}}})"
    with browser.page(service.address + "#planner") as page:
        page.until(SHOWN)
        taken = "{ writeText: async (text) => { window.taken = text; } }"
        page.value(clipboard.format(taken) + "; 0")
        page.click(".copyable button")
        page.until("document.querySelector('.copyable [role=status]').textContent === 'Copied'")
        code = page.value("document.querySelector('.copyable code').textContent")
        assert page.value("window.taken") == code
        assert code.startswith("import hushfade as hf\n")
        page.value(clipboard.format("undefined") + "; 0")
        page.click(".copyable:last-of-type button")
        page.until("getSelection().toString().startsWith('hushfade plan --half-life 24')")
        assert "Ctrl+C" in page.text(".copyable:last-of-type [role=status]")
