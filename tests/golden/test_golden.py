"""Decays, laws and horizons: plans and streams are the recorded ones, number by number."""

import copy

import pytest

import hushfade as hf
from tests.golden import adapter, cases, files
from tests.golden.comparison import differences

HOW = "\nIf a change intends this, a commit of its own writes it: python -m tests.golden"


def same(found):
    """Fail with all differences."""
    found = list(found)
    assert not found, "\n".join(found[:40]) + HOW


@pytest.mark.parametrize("group", ["decays", "laws", "horizons"])
def test_plans_and_streams_are_the_recorded_ones(group):
    same(files.group_differences(group))


def test_every_case_is_recorded():
    digests = files.read("digests")
    assert digests.keys() == cases.GROUPS.keys()
    for group, made in cases.GROUPS.items():
        names = [case.name for case in made()]
        assert len(set(names)) == len(names)
        assert set(names) == files.read(group).keys() == digests[group].keys()
    assert sum(map(len, digests.values())) >= 200


def test_one_changed_number_is_reported_with_its_case_and_field():
    recorded = files.read("laws")
    name = "exponential 24, square_root, gaussian"
    low, high = (end[0] for end in recorded[name]["intervals"][4])

    def reported(path, change):
        """The differences after a change of the number at the path."""
        changed = copy.deepcopy(recorded)
        *way, last = path
        part = changed[name]
        for step in way:
            part = part[step]
        part[last] = change(part[last])
        return list(differences(recorded, changed, "laws"))

    changes = {
        ("taps", "first", 3): lambda tap: tap + 1,
        ("taps", "hashes", 1): lambda text: text[::-1],
        ("y", 7): lambda y: y + 1,
        ("y_hashes", 5): lambda text: text[::-1],
        ("privacy", "delta", 1): lambda delta: delta / 2,
        ("privacy", "delta", 0): lambda delta: delta * (1 + 1e-5),
        ("privacy", "epsilon", 0): lambda epsilon: epsilon - 1e-6,
        ("stddevs", 9): lambda stddev: stddev * (1 + 1e-8),
        ("s", 4, 0): lambda s: s + 1e-8 * (high - low),
        ("intervals", 4, 1, 0): lambda end: end + 1e-8 * (high - low),
        ("noise", "sigma"): lambda sigma: sigma * (1 + 2.0**-52),
        ("mechanism", 0): lambda method: "blend",
    }
    for path, change in changes.items():
        (line,) = reported(path, change)
        assert line.startswith(f"laws: {name}: {path[0]}"), line
        assert ": recorded " in line, line
    assert reported(("s", 4, 0), lambda s: s + 1e-11 * (high - low)) == []
    missing = copy.deepcopy(recorded)
    del missing[name]
    assert list(differences(recorded, missing, "laws")) == [f"laws: {name}: no longer there"]
    assert list(differences(missing, recorded, "laws")) == [f"laws: {name}: not recorded"]


def test_a_changed_tap_noisy_integer_or_claim_is_reported(monkeypatch):
    """The whole way, from a plan to the differences, for one case."""
    name = "low 5, high 6"
    one = [case for case in cases.GROUPS["records"]() if case.name == name]
    monkeypatch.setitem(cases.GROUPS, "records", lambda: one)
    recorded = {name: files.read("records")[name]}
    taps, noisy, delta = adapter.taps, adapter.noisy_integers, hf.PrivacyLoss.delta

    def reported():
        found = files.as_json(files.present("records")[0])
        return {
            line.removeprefix(f"records: {name}: ").split(":")[0]
            for line in differences(recorded, found, "records")
        }

    def one_more_tap(plan):
        bits, (first, *rest), lengths = taps(plan)
        return bits, [first + 1, *rest], lengths

    def one_more_unit_at_the_end(stream, steps):
        for step, row in enumerate(noisy(stream, steps)):
            yield [y + (step == steps - 1) for y in row]

    assert reported() == set()
    with monkeypatch.context() as patched:
        patched.setattr(adapter, "taps", one_more_tap)
        assert reported() == {"taps"}
    with monkeypatch.context() as patched:
        patched.setattr(adapter, "noisy_integers", one_more_unit_at_the_end)
        assert reported() == {"y_hashes[5]"}
    with monkeypatch.context() as patched:
        patched.setattr(hf.PrivacyLoss, "delta", lambda loss, epsilon: delta(loss, epsilon) / 2)
        assert reported() == {"privacy"}
