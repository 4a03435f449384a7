import pytest

from hushfade import Exponential, Guarantee, plan
from hushfade.audit.observer import legible
from hushfade.audit.randomness import Chance
from hushfade.audit.sample_records import offered
from hushfade.audit.total_sizes import largest_tried, one_record

ONE = Guarantee(1, 1e-6)


@pytest.mark.parametrize(
    ("low", "high", "units"), [(0, 1, 1024), (-1, 0, 1024), (-3, 1, 3072), (-1, 3, 3072)]
)
def test_one_record_is_as_large_as_the_farther_bound(low, high, units):
    found = plan(Exponential(half_life=5), ONE, low=low, high=high, resolution=2.0**-10)
    assert one_record(found) == units


def test_one_vector_is_as_long_as_its_norm():
    found = plan(Exponential(half_life=5), ONE, norm=2.0, width=3, resolution=2.0**-10)
    assert one_record(found) == 2048


def test_bounds_on_either_side_of_zero_are_tried_alike():
    above = plan(Exponential(half_life=5), ONE, low=0, high=100)
    below = plan(Exponential(half_life=5), ONE, low=-100, high=0)
    assert largest_tried(above, 50) == largest_tried(below, 50)
    assert legible(above, 5000) == legible(below, 5000)
    counts = [[offer.name for offer in offered(each, 8, Chance(1))][-1] for each in (above, below)]
    assert counts[0] == counts[1]
