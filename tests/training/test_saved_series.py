"""Saved series that somebody forged, and those that 0.1.0 wrote."""

import base64
import copy
import json
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, HushfadeError, InvalidValue, NoDecay, Refused
from hushfade.factors import factorization
from hushfade.stream import binary_container as container
from hushfade.training import saved_series
from hushfade.training.compact_taps import compact
from hushfade.training.correlated_noise import CorrelatedNoise
from tests.training.test_correlated_noise import ONE, SEEDED, start

FIXTURE = Path(__file__).parents[1] / "fixtures" / "0.1.0" / "correlated_noise.json"


def forged(data, change, magic=saved_series.MAGIC):
    """A saved series whose header somebody changed, with a checksum of its own."""
    frame = container.opened(data, (magic,), "a series")
    header = copy.deepcopy(frame.header)
    kind = np.dtype(header["series"]["dtype"]).newbyteorder("<").str
    listed = header.pop("arrays", [[kind, len(frame.body) // np.dtype(kind).itemsize]])
    arrays = container.split(frame.body, listed, (kind,), "a series")
    change(header)
    return container.packed(magic, header, arrays)


def test_a_state_with_less_noise_than_its_guarantee_requires_is_refused():
    def put(path, value):
        def change(header):
            for name in path[:-1]:
                header = header[name]
            header[path[-1]] = value(header[path[-1]]) if callable(value) else value

        return change

    for dtype in (np.float32, np.float64):
        data = start(Exponential(half_life=8), 2, horizon=64, dtype=dtype).save()
        assert CorrelatedNoise.load(forged(data, lambda _: None), noise=SEEDED).steps == 0
        for path, value in (
            (("sensitivity",), lambda s: s * 0.5),
            (("sensitivity",), lambda s: s * (1 - 2e-7)),
            (("sensitivity",), lambda s: s * 2),
            (("sensitivity",), "1"),
            (("sensitivity",), float(np.nextafter(0, 1))),
            (("norm",), lambda n: n * 2),
            (("guarantee", "participations"), 2),
            (("guarantee", "neighbours"), "replace"),
            (("guarantee", "records_per_step"), 2),
            (("guarantee", "mu"), 100.0),
            (("series", "taps", "scale"), lambda s: s * 2),
            (("series", "taps", "weights"), lambda w: [[2 * x for x in w[0]], []]),
            (("series", "gain"), [0.5] * 64),
        ):
            with pytest.raises(HushfadeError, match=r"the saved noise|must"):
                CorrelatedNoise.load(forged(data, put(path, value)), noise=SEEDED)


def louder(mu):
    """The noise of another mu."""

    def change(header):
        header["series"]["stddev"] *= header["mu"] / mu(header["mu"])
        header["mu"] = mu(header["mu"])

    return change


def softer(factor):
    """The noise of a smaller sensitivity."""

    def change(header):
        header["sensitivity"] *= factor
        header["series"]["stddev"] = header["sensitivity"] * (1 / header["mu"])

    return change


def of_its_own(state):
    """The state under a new identity: other tests in this process continue the stored one."""
    return forged(
        state, lambda header: header.update(identity=os.urandom(16).hex()), saved_series.OLD_MAGIC
    )


def test_a_state_of_0_1_0_with_less_noise_than_its_guarantee_requires_is_refused():
    """Among them a state with mu = 100 and the guarantee's original text."""

    def attempt(data, change):
        return CorrelatedNoise.load(forged(data, change, saved_series.OLD_MAGIC), noise=SEEDED)

    for name, case in json.loads(FIXTURE.read_text()).items():
        if case["noise"] != "seeded":
            continue
        data = of_its_own(base64.b64decode(case["state"]))
        assert attempt(data, lambda _: None).stddev == case["stddev"], name
        for change in (louder(lambda _: 100.0), louder(lambda mu: mu * (1 + 1e-10))):
            with pytest.raises(InvalidValue, match="epsilon must be at least"):
                attempt(data, change)
        for factor in (0.5, 1 - 9e-10, 1 - 5e-12):
            with pytest.raises(Refused, match="does not have the level"):
                attempt(data, softer(factor))


def test_0_1_0_added_too_little_for_the_slowest_float32_series():
    pair = compact(NoDecay(), horizon=1 << 40)
    noise = start(pair, dtype=np.float32)

    def of_0_1_0(header):
        header["sensitivity"] = pair.sensitivity().value * (1 + 2.0**-12)
        header["mu"] = ONE.mu
        header["series"]["stddev"] = header["sensitivity"] * ONE.noise_multiplier
        header["noise"] = "UnsafeSeededNoise(7)"

    frame = container.opened(forged(noise.save(), of_0_1_0), (saved_series.MAGIC,), "it")
    header = {name: of for name, of in frame.header.items() if name != "arrays"}
    header["guarantee"]["epsilon"] = 1
    state = np.zeros(len(frame.body) // 4, dtype=np.float32)
    with pytest.raises(Refused, match="too little noise for float32"):
        CorrelatedNoise.load(
            container.packed(saved_series.OLD_MAGIC, header, [state]), noise=SEEDED
        )


def test_horizons_shapes_and_states_that_do_not_fit_are_refused():
    data = start(factorization.from_right(NoDecay(), [1.0], 64)).save()  # it keeps no numbers
    for horizon in (0, -1, -5, 0.5, 1.5, True, False, "64", 64.0, [64]):
        with pytest.raises(HushfadeError, match=r"horizon must|the saved noise"):
            CorrelatedNoise.load(
                forged(data, lambda h, horizon=horizon: h["series"].update(horizon=horizon)),
                noise=SEEDED,
            )
    for shape in ([2**34 + 1], [2**40], [2**20, 2**20], [0], [], [1.0], "3"):
        with pytest.raises(HushfadeError, match=r"width must|the saved noise"):
            CorrelatedNoise.load(
                forged(data, lambda h, shape=shape: h["series"].update(shape=shape)), noise=SEEDED
            )
    many = start(Exponential(half_life=5)).save()

    def crowded(header):
        header["series"]["taps"]["weights"] = [[1e-6] * 5000, []]
        header["series"]["taps"]["fades"] = [np.linspace(0.1, 0.9, 5000).tolist(), []]

    with pytest.raises(InvalidValue, match="at most 64 exponentials"):
        CorrelatedNoise.load(forged(many, crowded), noise=SEEDED)


def test_a_series_that_0_1_0_began_is_saved_as_0_1_0_did():
    for name, case in json.loads(FIXTURE.read_text()).items():
        if case["noise"] != "seeded":
            continue
        data = of_its_own(base64.b64decode(case["state"]))
        noise = CorrelatedNoise.load(data, noise=SEEDED)
        expected = noise.next_many(5)
        again = CorrelatedNoise.load(noise.save(), noise=SEEDED)
        assert noise.save().startswith(saved_series.OLD_MAGIC), name
        assert again.stddev == case["stddev"]
        assert_allclose(
            np.concatenate([expected, again.next_many(20)]),
            np.array(case["values"])[:25],
            rtol=0, atol=1e-5 * noise.stddev,
        )  # fmt: skip
