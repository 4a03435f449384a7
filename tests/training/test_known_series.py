"""Series of correlated noise that every machine must compute, to the last bit.

They change only with the format of the document or with the fit of compact taps.  Such a change
gives keyed noise another series, so it belongs into the changelog.
"""

from hushfade import (
    CorrelatedNoise,
    Exponential,
    Guarantee,
    KeyedNoise,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)

NOISE = KeyedNoise(bytes(range(1, 33)), stream="training")
COMMON = {"guarantee": Guarantee(1, 1e-6), "norm": 1.0, "noise": NOISE}
KNOWN = {  # the digest, the deviation of z, the first number of the series
    "day": (
        "035eaec723e5e5073f45748034d399093f39cb4123305964680d5e4da1ed2213",
        "0x1.6c0dadc2a7345p+2",
        "0x1.300db60000000p+1",
    ),
    "count": (
        "6d30151951f2ab373b00409c9ed42290037c3d5eaed856650e3a191e047fa45e",
        "0x1.e8e92b8f8c489p+2",
        "0x1.978bbc0000000p-4",
    ),
    "window": (
        "94926acd48f8c55a8add842a85cead34e417cfa9989ed3d9f2617c1657228430",
        "0x1.625292085c8c5p+2",
        "0x1.5c4bed2da43aep+0",
    ),
    "mu": (
        "01994ae35bfa93788427de18bd0600ed3fd78c29090ce5a6b2c418fcfe495da6",
        "0x1.c11380aaaaaabp+2",
        "-0x1.8dfbfe0000000p+2",
    ),
}


def test_a_series_has_the_known_digest_level_and_noise():
    for name, factors, changed in (
        ("day", Exponential(half_life=24), {}),
        ("count", NoDecay(), {"horizon": 1000}),
        ("window", SlidingWindow(length=7), {"dtype": "float64"}),
        ("mu", PowerLaw(power=1), {"guarantee": Guarantee.from_mu(0.3), "norm": 2.0}),
    ):
        noise = CorrelatedNoise(factors, 2, **(COMMON | changed))
        first = float(noise.next()[0])
        digest = noise._correlation.digest.hex()
        assert (digest, noise.stddev.hex(), first.hex()) == KNOWN[name], name
