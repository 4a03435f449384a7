"""Digests that every machine must compute.

They change only with the format of documents or with the search for taps.  Such a change gives
keyed noise another series, so it belongs into the changelog.
"""

import pytest

from hushfade import (
    CustomDecay,
    Exponential,
    Guarantee,
    KeyedNoise,
    NoDecay,
    Person,
    PowerLaw,
    SlidingWindow,
    plan,
)
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian
from tests.made_when_used import MadeWhenUsed

ONE = Guarantee(epsilon=1, delta=1e-6)
PLANS = MadeWhenUsed(
    {
        "day": lambda: plan(Exponential(half_life=24), ONE, method="square_root"),
        "count": lambda: plan(NoDecay(), ONE, horizon=1000, method="square_root"),
        "unbounded": lambda: plan(NoDecay(), ONE, method="unbounded"),
        "gain": lambda: plan(NoDecay(), ONE, horizon=200, method="normalized"),
        "power": lambda: plan(
            PowerLaw(power=1), Guarantee(0.5, 1e-9), low=-1, high=1, method="square_root"
        ),
        "window": lambda: plan(SlidingWindow(length=7), Guarantee.from_mu(0.3), keys=["at", "ch"]),
        "person": lambda: plan(
            SlidingWindow(length=24),
            Guarantee(2, 1e-6, "replace", protects=Person(steps=5, apart=3)),
            method="square_root",
        ),
        "best day": lambda: plan(Exponential(half_life=24), ONE),
        "best week": lambda: plan(SlidingWindow(length=7), ONE),
        "best weeks": lambda: plan(SlidingWindow(length=64), ONE, low=-1, high=2),
        "best count": lambda: plan(NoDecay(), ONE, horizon=1000),
        "best power": lambda: plan(PowerLaw(power=0.5), Guarantee(0.5, 1e-9), horizon=500),
        "best person": lambda: plan(
            SlidingWindow(length=24), Guarantee(1, 1e-6, protects=Person(steps=20))
        ),
        "counts": lambda: plan(
            Exponential(half_life=24), Guarantee(epsilon=1, delta=0), resolution=1
        ),
        "vectors": lambda: plan(
            CustomDecay([1, 0.5, 0.25]), Guarantee.from_rho(0.1), width=3, norm=1.0
        ),
    }
)
DIGESTS = {
    "day": "4c09fea8dc10cb2375739b69a85e7a519b71f57b1577ea8ab95af67fcc05f23c",
    "count": "61024e06a81413bc03d7fe83d4c256d77d8cb522c5456d1223a6bbdab8047c63",
    "unbounded": "49346ded4eb9f32d758062a4ffbacbe36db12706b8209ebdaf2ccab4897ce15e",
    "gain": "42466ff07113ac7fcd2d786d582c3eacd23fd8c0c125018852395ffc75e48c91",
    "power": "884efb0103f73992e65ca38757b1f968bac5bbd6162c89320383393cbbb8358c",
    "window": "b27e9de08c69b9268136f577fb6a61b607079168d2578348b2c55f57c225575e",
    "person": "20731ab20c0d6324246ec9d317d58ac48f9d7675cffe0cee2be111e19cb2a87e",
    "best day": "1d5c64a173e99dc062095fea20d16cf3b47d55c9669ed4d27a280594ca4038db",
    "best week": "5a9216035783abc3840ca81399f17ff777b26d9a7ca60fe264cdeb4bdf580bd2",
    "best weeks": "9bb3666cf9c4dba34844f7c082232e959a7ce84ebda62cc85aa7dad38b623182",
    "best count": "0f52de492506875607cd7ef0cb2c6317c47edd0e7ff21c1a8f6b667e1ffc186a",
    "best power": "dc73b5eeebf865fed76f65c25818cf581bbdc918a70936d13e79708dbad76caa",
    "best person": "b8f495352063423059f50c8fcb7658ca90ba0e2e4056011e98384a93b1a3852e",
    "counts": "ce3b00ba9969ea766537ebf38061709fcbcb21ffccb234e2efb883e444df9c78",
    "vectors": "afde43072b78cf4e78a02a216cca59c3328054470a17ca2652dbda0a4a52e0d9",
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_has_the_known_digest(name):
    assert PLANS[name].digest.hex() == DIGESTS[name]


def test_keyed_noise_is_known():
    made = PLANS["day"]
    drawer = KeyedNoise(bytes(range(1, 33)), stream="visits").bound(made.digest)
    assert drawer.draws(table(Gaussian(made.sigma)), 0, 4, 1)[:, 0].tolist() == [
        -84252,
        1735522,
        2564360,
        1883483,
    ]
