"""The noise of every source, and the public half against the decay's own formula."""

from dataclasses import replace

import numpy as np
import pytest

from hushfade import Guarantee, PowerLaw, SlidingWindow, plan
from hushfade.audit import TINY, observer
from hushfade.audit.accuracy import sources, weights
from hushfade.audit.randomness import Chance
from hushfade.crossing import memory
from hushfade.public import recursion
from tests.audit.subjects import ENDING, FEW, KEYED, OTHER_LAWS, SINGLE, InProcess, Wrong
from tests.made_when_used import MadeWhenUsed

ONE = Guarantee(1, 1e-6)
PLANS = MadeWhenUsed(
    {
        **FEW,
        "exponential": SINGLE,
        "power": lambda: plan(PowerLaw(power=1), ONE),
        "steep": lambda: plan(PowerLaw(power=12), ONE),
        "window": lambda: plan(SlidingWindow(length=5), ONE),
    }
)


def failed(findings):
    return {finding.subject for finding in findings if not finding.passed}


ALL = {"single": SINGLE, "keys": KEYED, "ending": ENDING, **OTHER_LAWS}


@pytest.mark.parametrize("found", ALL.values(), ids=ALL)
def test_every_source_is_looked_at_and_the_right_one_not_accused(found):
    findings = sources(InProcess(), found, "a plan", TINY, Chance(2))
    assert failed(findings) == set()
    named = {", ".join(finding.subject.split(", ")[1:3]) for finding in findings}
    for kind in ("default noise", "fresh noise", "keyed noise"):
        assert {f"{kind}, scale", f"{kind}, mean", f"{kind}, loaded"} < named


@pytest.mark.parametrize("name", PLANS)
def test_the_public_half_has_the_weights_of_the_decay(name):
    assert failed(weights(InProcess(), PLANS[name], "a plan", Chance(3))) == set()


@pytest.mark.parametrize("name", ["exponential", "power", "window"])
def test_a_recursion_that_stream_and_audit_have_in_common_is_not_checked_against_itself(
    name, monkeypatch
):
    def wrong(decay):
        found = right(decay)
        fades = tuple(min(1.0, fade * (1.0 + 1e-6)) for fade in found.fades)
        windows = tuple(length + 1 for length in found.windows)
        return found._replace(fades=fades, windows=windows)

    right = recursion.grouped
    for module in (recursion, memory, observer):
        monkeypatch.setattr(module, "grouped", wrong)
    anew = replace(PLANS[name])  # without what was computed of it
    assert failed(weights(InProcess(), anew, "a plan", Chance(3))) == {"a plan, weights"}


def test_a_stream_that_answers_otherwise_than_its_decay_is_seen():
    doubled = Wrong(run=lambda stream, totals: stream.run(np.asarray(totals) * 2))
    assert failed(weights(doubled, SINGLE, "a plan", Chance(3))) == {"a plan, weights"}
