"""Decays, laws and horizons: plans and streams are the recorded ones, number by number."""

import copy

import pytest

from tests.golden import cases, files
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


def test_one_changed_number_is_reported_with_its_case():
    recorded = files.read("laws")
    name = "exponential 24, square_root, gaussian"

    def reported(change):
        changed = copy.deepcopy(recorded)
        change(changed[name])
        return list(differences(recorded, changed, "laws"))

    def more(numbers, place, by):
        numbers[place] += by

    def move(fields, part, step, place, by):
        fields[part][step][place] += by

    low, high = (end[0] for end in recorded[name]["intervals"][4])
    wide = high - low
    changes = {
        "taps: first[3]": lambda of: more(of["taps"]["first"], 3, 1),
        "taps: hashes[2]": lambda of: more(of["taps"]["hashes"], 2, "0"),
        "y[7]": lambda of: more(of["y"], 7, 1),
        "y_hashes[5]": lambda of: more(of["y_hashes"], 5, "0"),
        "privacy: delta[1]": lambda of: more(
            of["privacy"]["delta"], 1, -of["privacy"]["delta"][1] / 2
        ),
        "privacy: epsilon[0]": lambda of: more(of["privacy"]["epsilon"], 0, -1e-6),
        "noise": lambda of: of["noise"].update(sigma=of["noise"]["sigma"] * (1 + 2.0**-52)),
        "stddevs[9]": lambda of: more(of["stddevs"], 9, of["stddevs"][9] * 1e-8),
        "s[4]": lambda of: move(of, "s", 4, 0, wide * 1e-8),
        "intervals[4]": lambda of: move(of["intervals"], 4, 1, 0, wide * 1e-8),
        "mechanism[0]": lambda of: more(of["mechanism"], 0, "s"),
    }
    for field, change in changes.items():
        found = reported(change)
        assert len(found) == 1, field
        assert found[0].startswith(f"laws: {name}: {field}: recorded "), found
    assert reported(lambda of: of.pop("taps")) == [f"laws: {name}: taps: no longer there"]
    assert reported(lambda of: of.update(more=1)) == [f"laws: {name}: more: not recorded"]
    assert reported(lambda of: move(of, "s", 4, 0, wide * 1e-11)) == []


def test_a_mechanism_with_one_more_unit_of_a_tap_of_noise_or_of_delta_is_reported(monkeypatch):
    def only():
        yield cases.Case("low 5, high 6", cases.WEEK, cases.ONE, {"low": 5, "high": 6})

    adapter = files.vectors.adapter
    recorded = {"low 5, high 6": files.read("records")["low 5, high 6"]}
    monkeypatch.setitem(cases.GROUPS, "records", only)
    taps, noisy, privacy = adapter.taps, adapter.noisy_integers, files.vectors._privacy

    def reported():
        found = files.as_json(files.present("records")[0])
        return [line.split(":")[1:3] for line in differences(recorded, found, "records")]

    assert reported() == []
    with monkeypatch.context() as patched:
        patched.setattr(adapter, "taps", lambda plan: _raised(*taps(plan)))
        assert reported() == [[" low 5, high 6", " taps"]] * 3  # in clear, and in two hashes
    with monkeypatch.context() as patched:
        patched.setattr(
            adapter, "noisy_integers", lambda *of: ([y + 1 for y in row] for row in noisy(*of))
        )
        assert [" low 5, high 6", " y_hashes[5]"] in reported()
    with monkeypatch.context() as patched:
        patched.setattr(files.vectors, "_privacy", lambda *of: _halved(privacy(*of)))
        assert reported() == [[" low 5, high 6", " privacy"]] * 3


def _raised(bits, values, lengths):
    return bits, [values[0] + 1, *values[1:]], lengths


def _halved(claimed):
    return claimed | {"delta": [delta / 2 for delta in claimed["delta"]]}
