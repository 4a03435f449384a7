import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import (
    Exponential,
    Guarantee,
    InvalidType,
    InvalidValue,
    Release,
    UnsafeSeededNoise,
    plan,
)

ERRORS = plan(
    Exponential(half_life=24), Guarantee(epsilon=1, delta=1e-6), method="square_root"
).errors


def test_the_interval_of_a_gaussian_plan_is_the_normal_one():
    low, high = Release(3, 10.0, 2.0, errors=ERRORS).interval(0.95)
    assert_allclose([low, high], [10 - 1.959964 * 2, 10 + 1.959964 * 2], rtol=1e-6)
    low, high = Release(3, np.array([1.0, 5.0]), 1.0, errors=ERRORS).interval(0.5)
    assert_allclose(high - low, 2 * 0.67449, rtol=1e-4)


def test_releases_of_a_stream_know_their_errors():
    made = plan(Exponential(half_life=24), Guarantee(epsilon=1, delta=1e-6), keys=["a", "b"])
    release = made.start(UnsafeSeededNoise(1)).step({"a": 1.0})
    low, high = release.interval(0.9)
    assert_allclose((high - low) / 2, made.interval(1, 0.9)[1], rtol=1e-12)  # rounding
    changed = release.non_negative()
    assert changed.errors is release.errors is made.errors
    assert "errors" not in repr(release)


def test_a_release_survives_pickling_with_its_interval():
    made = plan(Exponential(half_life=24), Guarantee(epsilon=1, delta=1e-6))
    release = made.start(UnsafeSeededNoise(1)).step(1.0)
    copy = pickle.loads(pickle.dumps(release))
    assert copy == release
    assert copy.interval(0.99) == release.interval(0.99)
    other = plan(Exponential(half_life=25), Guarantee(epsilon=1, delta=1e-6))
    assert copy._replace(errors=other.errors) != release


def test_a_release_without_its_errors_has_no_interval():
    with pytest.raises(InvalidType, match="interval needs the distribution of the error"):
        Release(1, 0.0, 1.0).interval()


@pytest.mark.parametrize("confidence", [0, 1, 2, -1, float("nan")])
def test_bad_confidence_is_refused(confidence):
    with pytest.raises(InvalidValue, match="confidence must be"):
        Release(1, 0.0, 1.0, errors=ERRORS).interval(confidence)


def test_post_processing_is_asked_for_and_marked():
    release = Release(4, -2.6, 1.0)
    assert release.biased == ()
    assert release.non_negative().value == 0.0
    assert release.non_negative().biased == ("non_negative",)
    assert release.whole().value == -3.0
    both = release.whole().non_negative()
    assert both.biased == ("whole", "non_negative")
    assert release.value == -2.6


def test_columns_are_changed_entry_by_entry():
    release = Release(2, np.array([-1.2, 3.7]), 1.0, ("a", "b"))
    assert release.non_negative().value.tolist() == [0.0, 3.7]
    assert release.whole().by_key() == {"a": -1.0, "b": 4.0}
    later = Release(3, np.array([0.0, 3.0]), 1.0, ("a", "b")).not_below(release)
    assert later.value.tolist() == [0.0, 3.7]
    assert later.biased == ("not_below",)


def test_refusals():
    with pytest.raises(InvalidType, match="by_key needs a plan with keys"):
        Release(1, 0.0, 1.0).by_key()
    with pytest.raises(InvalidValue, match="earlier must be of a step < 2, got 2"):
        Release(2, 0.0, 1.0).not_below(Release(2, 0.0, 1.0))
