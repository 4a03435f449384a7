"""Saved series that somebody forged."""

import copy

import numpy as np
import pytest

from hushfade import Exponential, HushfadeError, InvalidValue, NoDecay
from hushfade.factors import factorization
from hushfade.stream import binary_container as container
from hushfade.training import saved_series
from hushfade.training.correlated_noise import CorrelatedNoise
from tests.training.test_correlated_noise import SEEDED, start


def forged(data, change):
    """A saved series whose header somebody changed, with a checksum of its own."""
    frame = container.opened(data, saved_series.MAGIC, "a series")
    header = copy.deepcopy(frame.header)
    kind = np.dtype(header["series"]["dtype"]).newbyteorder("<").str
    arrays = container.split(frame.body, header.pop("arrays"), (kind,), "a series")
    change(header)
    return container.packed(saved_series.MAGIC, header, arrays)


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
            (("guarantee", "protects"), {"steps": 2}),
            (("guarantee", "neighbours"), "replace"),
            (("guarantee", "protects"), {"steps": 1, "records_per_step": 2}),
            (("guarantee", "mu"), 100.0),
            (("series", "taps", "scale"), lambda s: s * 2),
            (("series", "taps", "weights"), lambda w: [[2 * x for x in w[0]], []]),
            (("series", "gain"), [0.5] * 64),
        ):
            with pytest.raises(HushfadeError, match=r"the saved noise|must"):
                CorrelatedNoise.load(forged(data, put(path, value)), noise=SEEDED)


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
