"""A privacy loss as JSON: the same numbers for whoever reads it, and nothing else is read."""

import json

import pytest

import hushfade as hf
from hushfade import PrivacyLoss
from hushfade.privacy import repeated_losses

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
WEEK = hf.SlidingWindow(length=7)
PLANS = [
    hf.plan(WEEK, ONE, law="gaussian"),
    hf.plan(WEEK, hf.Guarantee(epsilon=1, delta=0)),
    hf.plan(hf.Exponential(half_life=24), ONE, method="blend"),
    hf.plan(
        WEEK,
        hf.Guarantee(1, 1e-6, "replace", protects=hf.Person(steps=3)),
        keys=["a", "b"],
        every="1d",
    ),
]


def test_a_loss_that_is_written_and_read_is_the_same():
    losses = [plan.privacy for plan in PLANS]
    for loss in (*losses, losses[0] + losses[1] + losses[2]):
        again = PrivacyLoss.from_json(loss.to_json())
        assert again == loss
        assert again.delta(0.7) == loss.delta(0.7)


def changed(**fields):
    return json.dumps(json.loads(PLANS[2].privacy.to_json()) | fields)


def single(mu, *shifted):
    return changed(cases=[{"mu": mu, "shifted": list(shifted), "choices": []}])


def noisy(slope, shifts):
    return single(0.0, {"noise": {"law": "laplace", "slope": slope}, "shifts": shifts})


def test_the_helpers_change_a_document_that_can_be_read():
    for text in (changed(), single(0.3), noisy({"bits": 7, "scale": 1}, [[1, 1]])):
        assert PrivacyLoss.from_json(text).to_json() == text


@pytest.mark.parametrize(
    "text",
    [
        "", "1", "[]", "{", "{}", "[" * 100_000, '{"format": "hushfade loss draft"}',
        changed(format="hushfade loss 9"), changed(cases=[]), changed(cases=[{}]), changed(more=1),
        single(-1.0), single("1"), single(1e999), changed(relation=["add_remove", 1]),
        changed(cases=[{"mu": 0.3, "shifted": []}]),
        single(0.0, {"noise": {"law": "cauchy"}, "shifts": [[1, 1]]}),
        single(0.0, {"noise": {"bits": 1, "scale": 3}, "shifts": 1}),
        noisy({"bits": 1, "scale": 3}, [[-1, 1]]),
        changed(relation=["nonsense", 1, 1, 1]), changed(relation=["add_remove", True, 1, 1]),
        changed(relation=["add_remove", 0, 1, 1]), single(1e300),
        '{"format": "hushfade loss draft", "relation": null, "cases": [], "cases": [{"mu": 1.0}]}',
        noisy({"bits": 7, "scale": 1}, [[1, 1 << 40]]), noisy({"bits": 1074, "scale": 1}, [[1, 1]]),
        noisy({"bits": 0, "scale": 1 << 52}, [[1, 1]]),
        noisy({"bits": 7, "scale": 1}, [[1 << 62, 1]]),
        noisy({"bits": 7, "scale": 1}, [[size, 1] for size in range(20_000)]), None, 3,
    ],
)  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(hf.HushfadeError):
        PrivacyLoss.from_json(text)


def test_a_loss_of_too_many_parts_is_refused_before_it_takes_all_memory(monkeypatch):
    monkeypatch.setattr(repeated_losses, "_MOST", 1 << 16)  # the real limit takes a minute to reach
    steep = noisy({"bits": 0, "scale": 40}, [[1, 1 << 24]])
    with pytest.raises(hf.InvalidValue, match="too many parts"):
        PrivacyLoss.from_json(steep).delta(1e6)
