"""The page in a browser before the real service: tokens, releases, a crash, the planner."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

import hushfade as hf
from hushfade.privacy.guarantee import epsilon_of
from hushfade.privacy.rounding import rounded_up
from tests.serve.page.browser import Browser, Page
from tests.serve.page.served import Served

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
SUM = hf.plan(hf.Exponential(half_life=3), ONE, low=0, high=1000, method="square_root")
KEYS = ["at", "ch", "de"]
KEYED = hf.plan(hf.SlidingWindow(length=2), ONE, low=0, high=1000, keys=KEYS, method="square_root")
COUNT = hf.plan(hf.Exponential(half_life=3), ONE, method="square_root")

CARD = "article[data-name={}]"
STATE = "document.querySelector('#state-text').textContent"
SHOWN = "document.querySelector('#answer .shown')?.textContent"
READY = "document.querySelector('#answer')?.getAttribute('aria-busy') === 'false'"
GONE = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Served]:
    """A service that asks for tokens, with a sum and keys; without a browser it is not started."""
    made = Served(tmp_path_factory.mktemp("guarded"), "ingest", "read", "admin")
    made.start()
    made.add_dataset("clinics", epsilon=2)
    made.add_stream("doses", "clinics", SUM)
    made.add_stream("countries", "clinics", KEYED)
    yield made
    made.close()


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Served]:
    """A service without tokens, and a dataset for a stream or two."""
    made = Served(tmp_path_factory.mktemp("unguarded"))
    made.start()
    made.add_dataset("clinics", epsilon=4)
    yield made
    made.close()


def enter(page: Page, token: str) -> None:
    """Gives the page a token as a person does."""
    page.until("document.querySelector('#token').hidden === false")
    page.type("#token-field", token)
    page.press("Enter")


def wait_for_step(page: Page, stream: str, step: int) -> None:
    """Waits until the stream's card shows the step."""
    card = CARD.format(stream)
    page.until(f"document.querySelector('{card} .when')?.textContent.startsWith('step {step},')")


def with_band(value: float, band: float) -> str:
    """A value and its 95 % band as the page is to write them: two digits of the band, upwards."""
    places = max(0, 1 - math.floor(math.log10(band)))
    # releases are on a grid: halves happen, and a browser rounds them away from zero
    unit = Decimal(1).scaleb(-places)
    ways = ((value, ROUND_HALF_UP), (band, ROUND_CEILING))
    rounded = (Decimal(x).quantize(unit, way) + 0 for x, way in ways)  # -0 becomes 0
    return " ± ".join(f"{x:,.{places}f}".replace("-", "\u2212") for x in rounded)


def four_digits(x: float) -> float:
    """The number as precise as the page writes it."""
    return float(f"{x:.4g}")


def assert_quiet(page: Page, service: Served) -> None:
    """No complaint, no failure but being asked for a token, and nobody else was asked."""
    assert [fault for fault in page.failures if not fault.startswith("401 ")] == []
    assert [error for error in page.errors if "status of 401" not in error] == []
    assert page.requests
    assert all(address.startswith(service.address) for address in page.requests)


def test_a_reader_sees_every_release_as_it_is_made_and_never_a_record(
    browser: Browser, guarded: Served
) -> None:
    before = {name: guarded.last(name) for name in ("doses", "countries")}
    records = [round(613.02718 + 0.10101 * number, 5) for number in range(12)]
    with browser.page(guarded.address) as page:
        enter(page, guarded.tokens["read"])
        page.until(f"{STATE} === 'live'")
        page.value("window.same = true")
        bands = set()
        for turn in range(4):
            own = records[3 * turn : 3 * turn + 3]
            pairs = [{"key": key, "value": x} for key, x in zip(KEYS, own, strict=True)]
            assert guarded.send("doses", own) == "accepted"
            assert guarded.send("countries", pairs) == "accepted"
            whole, parts = (guarded.release(name, before[name] + turn + 1) for name in before)
            wait_for_step(page, "doses", whole["step"])
            assert page.text(f"{CARD.format('doses')} .latest") == with_band(
                whole["value"], whole["margin"]
            )
            wait_for_step(page, "countries", parts["step"])
            figures = f"[...document.querySelectorAll('{CARD.format('countries')} .figure')]"
            assert page.value(f"{figures}.map((figure) => figure.textContent)") == [
                with_band(value, parts["margin"]) for value in parts["value"]
            ]
            bands.add(page.text(f"{CARD.format('doses')} .band"))
        assert len(bands) > 1
        for name, plan in (("doses", SUM), ("countries", KEYED)):
            assert page.text(f"{CARD.format(name)} .guarantee") == plan.guarantee.sentence()
        assert page.value("window.same") is True  # it was not loaded again
        received = page.received()
        assert_quiet(page, guarded)
    events = [text for address, text in received if address.endswith("/events")]
    assert sum(text.count("event: release") for text in events) >= 8
    assert any(json.dumps(whole["value"]) in text for text in events)
    assert any("addEventListener" in text for _, text in received)  # the page's files are there
    sums = [round(math.fsum(records[3 * turn : 3 * turn + 3]), 5) for turn in range(4)]
    for x in (*records, *sums):
        assert not [address for address, text in received if str(x)[:-1] in text]


def test_the_budget_shows_what_the_streams_have_spent(browser: Browser, guarded: Served) -> None:
    one = hf.Guarantee(epsilon=1, delta=1e-6).mu
    spent, after = (epsilon_of(math.sqrt(streams) * one, 1e-6) for streams in (2, 3))
    with browser.page(guarded.address) as page:
        enter(page, guarded.tokens["read"])
        words = page.text(".budget-words")
        assert words == (
            f"epsilon {rounded_up(spent, 3)} of 2 spent · after another stream like the last: "
            f"{rounded_up(after, 3)} · delta 1e-6"
        )
        meter = "document.querySelector('[role=meter]').ariaValueNow"
        assert page.value(meter) == str(math.ceil(100 * spent / 2))
        assert_quiet(page, guarded)


def test_late_records_are_told_to_a_keeper_and_never_to_a_reader(
    browser: Browser, guarded: Served
) -> None:
    last = guarded.last("doses") + 1
    guarded.release("doses", last)
    assert guarded.send("doses", [1, 1], step=last) == "late"
    assert guarded.send("doses", [1, 1, 1]) == "accepted"
    secret = f"{CARD.format('doses')} .secret"
    with browser.page(guarded.address) as page:
        enter(page, guarded.tokens["admin"])
        wait_for_step(page, "doses", last)
        assert page.text(secret) == (
            "Not for publication: 2 late records, 0 repeated records, 3 in the open step."
        )
        assert_quiet(page, guarded)
    with browser.page(guarded.address) as page:
        enter(page, guarded.tokens["read"])
        wait_for_step(page, "doses", last)
        assert page.value(f"document.querySelector('{secret}').hidden") is True
        answers = [text for address, text in page.received() if "/v1/" in address]
        assert any('"guarantee"' in text for text in answers)
        assert not any("open_records" in text or '"late"' in text for text in answers)
    guarded.release("doses", last + 1)  # the open step is empty for other tests


def test_a_senders_token_is_refused_in_words_and_another_is_asked_for(
    browser: Browser, guarded: Served
) -> None:
    with browser.page(guarded.address) as page:
        enter(page, guarded.tokens["ingest"])
        page.until("document.querySelector('#token-wrong').textContent.includes('scope read')")
        assert page.text("#state-text") == "token needed"
        assert page.value("sessionStorage.length") == 0
        enter(page, guarded.tokens["read"])
        assert page.text(".dataset h2") == "dataset clinics"
        assert page.value("document.querySelector('#token').hidden") is True


def test_after_a_crash_the_page_comes_back_by_itself_with_the_same_numbers(
    browser: Browser, unguarded: Served
) -> None:
    unguarded.add_stream("visits", "clinics", COUNT)
    for step in (1, 2, 3):
        unguarded.release("visits", step)
    card = CARD.format("visits")
    with browser.page(unguarded.address) as page:
        page.value("window.same = true")
        wait_for_step(page, "visits", 3)
        page.until(f"{STATE} === 'live'")
        page.click(f"{card} .card-foot button")
        before = page.text(f"{card} .latest"), page.text(f"{card} tbody")
        assert_quiet(page, unguarded)
        unguarded.kill()
        page.until(f"{STATE} === 'no connection'")
        assert "may be old" in page.text("#live-alert")
        assert (page.text(f"{card} .latest"), page.text(f"{card} tbody")) == before
        unguarded.start()
        page.until(f"{STATE} === 'live'")
        assert page.text("#live-alert") == ""
        assert (page.text(f"{card} .latest"), page.text(f"{card} tbody")) == before
        made = unguarded.release("visits", 4)
        wait_for_step(page, "visits", 4)
        assert page.text(f"{card} .latest") == with_band(made["value"], made["margin"])
        assert page.text(f"{card} tbody").endswith(before[1])
        assert page.value("window.same") is True
        assert all(any(word in error for word in GONE) for error in page.errors)
        assert all(any(word in fault for word in GONE) for fault in page.failures)


def test_a_stream_that_has_ended_is_not_listened_to_again(
    browser: Browser, unguarded: Served
) -> None:
    unguarded.add_stream("pilot", "clinics", COUNT)
    unguarded.release("pilot", 1)
    badge = f"document.querySelector('{CARD.format('pilot')} .badge')"
    lists = "performance.getEntriesByType('resource').filter((r) => r.name.endsWith('/v1/streams'))"
    with browser.page(unguarded.address) as page:
        wait_for_step(page, "pilot", 1)
        page.until(f"{STATE} === 'live'")
        unguarded.ask("DELETE", "streams/pilot")
        page.until(f"{badge}.hidden === false")
        for _ in range(3):  # the list is read again, as it is every few seconds
            before = page.value(f"{lists}.length")
            page.value("dispatchEvent(new Event('online'))")
            page.until(f"{lists}.length > {before}")
        assert sum(address.endswith("/pilot/events") for address in page.requests) == 1
        assert_quiet(page, unguarded)


PLANS: list[tuple[dict[str, str], hf.Decay, dict[str, Any], dict[str, Any]]] = [
    (
        {"half_life": "12", "epsilon": "0.5", "horizon": "400", "low": "-1", "high": "2.5"},
        hf.Exponential(half_life=12), {"epsilon": 0.5, "delta": 1e-6, "neighbours": "replace"},
        {"horizon": 400, "low": -1, "high": 2.5},
    ),
    (
        {"length": "24", "epsilon": "2", "delta": "1e-8", "steps": "3", "apart": "7"},
        hf.SlidingWindow(length=24),
        {"epsilon": 2, "delta": 1e-8, "protects": hf.Person(steps=3, apart=7)}, {},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "decay", "guarantee", "more"), PLANS, ids=["fading", "window"])
def test_a_plan_is_told_and_what_is_copied_makes_the_same_plan(
    browser: Browser, unguarded: Served, tmp_path: Path,
    texts: dict[str, str], decay: hf.Decay, guarantee: dict[str, Any], more: dict[str, Any],
) -> None:  # fmt: skip
    wanted = hf.plan(decay, hf.Guarantee(**guarantee), **more)
    last = more.get("horizon", 1000)
    stddev = wanted.stddev(last)
    with browser.page(unguarded.address + "#planner") as page:
        page.until(SHOWN)
        if "length" in texts:
            page.click("input[value=window]")
        if "neighbours" in guarantee:
            page.value(
                "{const f = document.querySelector('#neighbours'); f.value = 'replace'; "
                "f.dispatchEvent(new Event('input', {bubbles: true}));}"
            )
        for name, text in texts.items():
            page.type(f"#{name}", text)
        said = f"95 times in 100, at step {last:,}; standard deviation {stddev:.4g}."
        told = "document.querySelector('#answer .shown + p').textContent"
        page.until(f"{told} === {json.dumps(said)}")
        page.until(READY)
        margin = wanted.interval(last)[1]
        places = max(0, 1 - math.floor(math.log10(margin)))
        scale = 10**places
        ends = math.floor(scale * (100 - margin)) / scale, math.ceil(scale * (100 + margin)) / scale
        low, high = (f"{x:,.{places}f}".replace("-", "\u2212") for x in ends)
        assert page.text("#answer .shown") == f"A true sum of 100 is published as {low} to {high}"
        assert page.text("#answer .guarantee") == wanted.guarantee.sentence()
        assert page.text("#answer .optimum") == wanted.certificate(last).sentence()
        bars = page.value("[...document.querySelectorAll('.bars li')].map((b) => b.textContent)")
        assert "this plan: 1" in bars
        assert len(bars) >= 4
        copied = [copy(page, heading) for heading in ("Python", "Command")]
        page.value("document.querySelector('#answer .plot').focus()")
        page.press("Home")
        first = page.text("#answer .readout")
        assert first == f"step 1: standard deviation {wanted.stddev(1):.4g}"
        assert_quiet(page, unguarded)
    code = f"{copied[0]}\nprint(plan.stddev({last}))\n"
    value, shown, late = run([sys.executable, "-c", code], tmp_path).split()
    assert math.isfinite(float(value))
    assert four_digits(float(shown)) == four_digits(wanted.stddev(1))
    assert float(late) == pytest.approx(stddev, rel=1e-12)
    assert ".0 " not in copied[1]  # numbers as people type them
    answered = json.loads(run(["sh", "-c", f"{copied[1]} --json"], tmp_path))
    assert (tmp_path / "plan.json").is_file()
    assert answered["stddev"][-1]["stddev"] == pytest.approx(stddev, rel=1e-12)


def copy(page: Page, heading: str) -> str:
    """Presses the button of that text; what is on the clipboard then."""
    page.value("document.querySelectorAll('.copyable').forEach((c) => { c.id = "
               "`copy-${c.querySelector('h3').textContent}`; })")  # fmt: skip
    page.tap(f"#copy-{heading} button")
    page.until(f"document.querySelector('#copy-{heading} [role=status]').textContent === 'Copied'")
    return str(page.value("navigator.clipboard.readText()"))


def run(command: list[str], directory: Path) -> str:
    """What the command prints, with the commands of this environment first on its path."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        command, cwd=directory, env=os.environ | {"PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_planner_is_worked_by_keys_alone(browser: Browser, unguarded: Served) -> None:
    focus = "document.activeElement.id || document.activeElement.textContent.trim()"
    with browser.page(unguarded.address) as page:
        page.until("document.querySelector('.dataset') !== null")
        page.press("Tab")
        assert page.value(focus) == "Skip to the content"
        page.press("Tab")
        assert page.value(focus) == "tab-live"
        page.press("ArrowRight")
        page.until(SHOWN)
        reached = []
        for _ in range(17):
            page.press("Tab")
            reached.append(page.value(f"document.activeElement.name || {focus}"))
        assert reached[:9] == [
            "kind", "half_life", "horizon", "epsilon", "delta", "neighbours", "steps",
            "statistic", "low",
        ]  # fmt: skip
        assert "Copy Python" in reached
        assert "Copy Command" in reached
        assert_quiet(page, unguarded)
