"""sigma: the root of a fraction of integers, rounded up."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from hushfade import (
    Guarantee,
    InvalidValue,
    NoDecay,
    Person,
    Plan,
    SlidingWindow,
)
from hushfade.planning import plan_file
from hushfade.planning.noise_scale import required_variance, root_above
from tests.gaussian_plans import plan
from tests.planning.test_plan import PLANS

ONE = Guarantee(1, 1e-6)


def test_a_root_is_the_least_of_48_bits_above():
    for numerator in (1, 2, 3, 10**6, 10**30 + 1, 2**200 - 1):
        for denominator in (1, 7, 10**9, 3**50):
            square = Fraction(numerator, denominator)
            root = Fraction(root_above(square))
            assert root**2 >= square
            unit = Fraction(math.ldexp(1.0, math.frexp(float(root))[1] - 48))
            assert (root / unit).denominator == 1
            assert (root - unit) ** 2 < square
    assert root_above(Fraction(49, 4)) == 3.5


def test_sigma_is_that_of_the_dense_factor_in_exact_arithmetic():
    """For short taps: every column of R̃, and every pair of columns, with fractions."""
    for guarantee, arguments in (
        (ONE, {}),
        (Guarantee(3, 1e-9, neighbours="replace"), {"low": -2, "high": 5}),
        (Guarantee(3, 1e-9, neighbours="replace"), {"keys": ["a", "b"]}),
        (Guarantee(1, 1e-6, protects=Person(records_per_step=3)), {"width": 2, "norm": 1.0}),
        (Guarantee(1, 1e-6, protects=Person(steps=2, apart=2)), {}),
        (Guarantee(1, 1e-6), {"method": "normalized"}),
    ):
        made = plan(NoDecay(), guarantee, horizon=6, **arguments)
        integers = [*made.taps.integers.tolist(), *[0] * 6]
        gain = [1] * 6 if made.pair.integer_gain is None else made.pair.integer_gain.tolist()
        R = [[gain[t] * integers[t - s] if t >= s else 0 for t in range(6)] for s in range(6)]
        pairs = [[a + b for a, b in zip(R[s], R[t], strict=True)] for s in range(6)
                 for t in range(s + 2, 6)] if guarantee.protects.steps == 2 else []  # fmt: skip
        norm = max(sum(value**2 for value in column) for column in R + pairs)
        grid = made.grid
        largest = max(abs(grid.low_unit), abs(grid.high_unit))
        change = {
            "add_remove": largest**2,
            "replace": (grid.high_unit - grid.low_unit) ** 2,
        }[guarantee.neighbours] * guarantee.protects.records_per_step**2
        if grid.norm is not None:
            change = (guarantee.protects.records_per_step * grid.norm_unit) ** 2
        if grid.keys is not None:
            change = 2 * largest**2
        required = Fraction(change * norm) / Fraction(guarantee.mu) ** 2
        assert required_variance(guarantee, grid, made.pair) == required
        assert required <= Fraction(made.sigma) ** 2 <= required * (1 + Fraction(1, 2**46))


def test_sigma_is_an_integer_over_a_power_of_two_of_40_bits_at_least():
    for made in PLANS:
        scale, denominator = made.sigma.as_integer_ratio()
        assert denominator & (denominator - 1) == 0
        assert scale < 2**48
        required = required_variance(made.guarantee, made.grid, made.pair)
        assert 1 <= Fraction(made.sigma) ** 2 / required <= 1 + Fraction(1, 2**45)


def test_the_largest_total_leaves_room_for_the_noise_in_int64():
    for made in PLANS:
        taps = np.abs(made.taps.integers).astype(object)
        gain = 1 if made.pair.integer_gain is None else int(made.pair.integer_gain.max())
        reached = int(taps.sum()) * gain * made.grid.largest_total + 64 * made.sigma
        assert reached <= 2**54
        assert made.grid.largest_total == 2**52 or reached > 2**54 - int(taps.sum()) * gain - 1


# Documents that ask for much -----------------------------------------------------------------


def test_a_short_document_with_many_taps_expands_none_of_them(monkeypatch):
    """A plan of 2^26 equal taps, forged with the right noise: read in milliseconds."""
    document = json.loads(plan(SlidingWindow(length=8), ONE).to_json())
    support, grid = 1 << 26, plan(SlidingWindow(length=8), ONE).grid
    variance = Fraction(grid.high_unit**2 * support) / Fraction(ONE.mu) ** 2
    scale, denominator = root_above(variance).as_integer_ratio()
    document |= {
        "taps": {"bits": 0, "from": [0], "value": [1], "support": support},
        "noise": {
            "law": "gaussian",
            "sigma": {"bits": denominator.bit_length() - 1, "scale": scale},
        },
    }
    read = Plan.from_json(redigested(document))
    assert read.taps.support == support
    assert "integers" not in vars(read.taps)
    document["noise"]["sigma"]["scale"] -= 1
    with pytest.raises(InvalidValue, match="noise must be the noise"):
        Plan.from_json(redigested(document))
    document["taps"]["support"] += 1
    with pytest.raises(InvalidValue, match=f"support must be an integer <= {support}"):
        Plan.from_json(redigested(document))
    with pytest.raises(InvalidValue, match=f"must need at most {support} taps"):
        plan(NoDecay(), ONE, horizon=support + 1)


def redigested(document):
    covered = {name: of for name, of in document.items() if name not in ("digest", "reported")}
    return json.dumps(document | {"digest": plan_file._hashed(covered).hex()})
