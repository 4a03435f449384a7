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
        "efc9e9a395f13636254c7315d7725f21abcbd152b457a3427f1606ee961c42fe",
        "0x1.6c0dadc2a7345p+2",
        "0x1.2c3e0a0000000p+2",
    ),
    "count": (
        "e38f83a5022556a05b7829d17560f79d1dd8e9a703484a7346c8e4b35b478af6",
        "0x1.e8e92b8f8c489p+2",
        "0x1.3ed7060000000p+1",
    ),
    "window": (
        "f3aec8e0fc9fda5f257ba86dbb9d3787c47844032184ae5a8a42dc956467dbf7",
        "0x1.625292085c8c5p+2",
        "0x1.ef050c990e6c0p+1",
    ),
    "mu": (
        "0f3fbc7688a0682310f55db06f48ee2dc6b285280a230a0801d4472a01e8a348",
        "0x1.c11380aaaaaabp+2",
        "0x1.2ae2160000000p+3",
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
