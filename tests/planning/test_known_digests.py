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
    "day": "992139a28973753b98b95f4dc017b67c2ba49cb0c718b22108dac434ae18143d",
    "count": "f9c44a002d09ddb4266dcd6b89330c8e404d76fbc26dccd160bd8a819c5f5488",
    "unbounded": "b28fb1e154c404d59397442c99a9bbc441c6c294194f60c81538b7eea2d6932f",
    "gain": "42af155354cbd6daed2e77da8640cd0829d4d67421229afbec1d781e56f97554",
    "power": "2276a0f6d2c2445f187c40e45fc49089147fbdca6c2ed88afe8998cc87f13dc3",
    "window": "e16e1e39e0c1931d0de655ef4e2a541496166fbbfaccb44e2edb911d9dc568ac",
    "person": "50222c3b0f2b30f9b5eb9f1da9537c0253fa1d30a4ab1f14faada0cddd8a10cf",
    "best day": "e1c02327b8e4618f27e4ea86e5d21348bbc0c4b0e389989aa7b5722981282880",
    "best week": "1a4201928610c3730b3399c29ccf9a7069b7a7359cb1c31c36471cd9bfdf3a31",
    "best weeks": "9d70a3059038343d57f7548b665d97d8bdf0dba7e6ff7445598d5416bbd7ab42",
    "best count": "4e088be0728d71deee0442a972536c3ff9e596bfeed54947c9c9131ddfc70266",
    "best power": "e4b2c7999d8dad4850335ece40349d161267757f8e016db14001ef39941abeff",
    "best person": "6d1ac0f5ed51403d4174539a4c6f244ef4f7b04986895065f0229bde7665ac39",
    "counts": "dc997b7a1baeeb59a0d2facc75dbffd4d676f3d5698a03c62bdf9227cd75bc10",
    "vectors": "bf378c7125cb09dbff55f2305096cc2eec4a4b0985fe0685899fbc80b1e1ea9b",
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_has_the_known_digest(name):
    assert PLANS[name].digest.hex() == DIGESTS[name]


def test_keyed_noise_is_known():
    made = PLANS["day"]
    drawer = KeyedNoise(bytes(range(1, 33)), stream="visits").bound(made.digest)
    assert drawer.draws(table(Gaussian(made.sigma)), 0, 4, 1)[:, 0].tolist() == [
        -1229120,
        616998,
        -234589,
        2200333,
    ]
