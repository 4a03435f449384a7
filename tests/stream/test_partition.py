import json
import pickle

import numpy as np
import pytest

from hushfade import (
    Exponential,
    FreshNoise,
    Guarantee,
    KeyedNoise,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    UnsafeSeededNoise,
    plan,
)
from hushfade.errors import InvalidType, InvalidValue, Refused
from hushfade.stream import binary_container as container
from hushfade.stream import partition
from hushfade.stream.partition import Mechanism, Part
from tests.planning.test_noise_scale import redigested
from tests.spark.cases import KEY, PLAN, keyed

GUARANTEE = Guarantee(epsilon=1, delta=1e-6)
LETTERS = list("abcdefghij")
PLANS = [
    plan(Exponential(half_life=24), GUARANTEE, keys=LETTERS),
    plan(PowerLaw(power=1), GUARANTEE, keys=LETTERS),
    plan(SlidingWindow(length=7), GUARANTEE, keys=LETTERS, low=-3, high=5),
    plan(NoDecay(), GUARANTEE, keys=LETTERS, horizon=300, method="normalized"),
]
CUTS = [[(0, 10)], [(0, 3), (3, 6), (9, 1)], [(lane, 1) for lane in range(10)]]


def totals(found, steps=150):
    x = np.random.default_rng(1).integers(0, 5000, (steps, found.grid.lanes))
    return x, found.start(keyed()).run(x * found.grid.resolution)


@pytest.mark.parametrize("cut", CUTS, ids=len)
@pytest.mark.parametrize("found", PLANS, ids=lambda found: repr(found.decay))
def test_parts_saved_and_resumed_give_the_bits_of_the_whole_stream(found, cut):
    x, expected = totals(found)
    for first, lanes in cut:
        part, saved, values = Part(Mechanism.of(found), first, lanes), None, []
        for start, stop in ((0, 1), (1, 70), (70, 150)):
            running = part.resumed(keyed(), saved)
            values.append(running.run(x[start:stop, first : first + lanes]))
            saved = running.save()
        np.testing.assert_array_equal(np.concatenate(values), expected[:, first : first + lanes])


def test_a_part_that_runs_again_from_an_older_state_gives_the_same_bytes():
    x, _ = totals(PLAN, 20)
    part = Part(Mechanism.of(PLAN), 2, 3)
    running = part.resumed(keyed())
    running.run(x[:10, 2:5])
    saved = running.save()
    once = running.run(x[10:, 2:5]), running.save()
    again = part.resumed(keyed(), saved)
    assert again.steps == 10
    assert again.run(x[10:, 2:5]).tobytes() == once[0].tobytes()
    assert again.save() == once[1]


def test_a_plan_without_keys_has_one_lane():
    found = plan(Exponential(half_life=3), GUARANTEE)
    x = np.arange(200)[:, None]
    expected = found.start(UnsafeSeededNoise(2)).run(x[:, 0] * found.grid.resolution)
    values = Part(Mechanism.of(found), 0, 1).resumed(UnsafeSeededNoise(2)).run(x)
    np.testing.assert_array_equal(values[:, 0], expected)


def test_a_mechanism_travels_without_its_keys_and_keeps_the_noise_of_all_of_them():
    many = plan(Exponential(half_life=24), GUARANTEE, keys=[f"name {i}" for i in range(5000)])
    sent = pickle.dumps(Mechanism.of(many))
    assert len(sent) < 20_000
    found = pickle.loads(sent)
    assert found.plan.law == many.law
    assert found.plan.grid.largest_total == many.grid.largest_total
    assert (found.digest, found.lanes) == (many.digest, 5000)


def test_deviations_are_those_of_the_plan():
    found = Mechanism.of(PLAN)
    np.testing.assert_allclose(found.stddevs(3, 40), PLAN.stddevs(43)[3:], rtol=1e-12)


# Refusals ------------------------------------------------------------------------------------


def saved_part(noise, lanes=(0, 3), found=PLAN):
    running = Part(Mechanism.of(found), *lanes).resumed(noise)
    running.run(np.ones((4, lanes[1]), dtype=np.int64))
    return running.save()


OTHERS = {
    "plan": (keyed(), (0, 3), plan(Exponential(half_life=6), GUARANTEE, keys=PLAN.keys)),
    "first lane": (keyed(), (1, 3), PLAN),
    "lanes": (keyed(), (0, 4), PLAN),
    "stream": (keyed("other"), (0, 3), PLAN),
    "epoch": (KeyedNoise(KEY, stream="visits", epoch=1), (0, 3), PLAN),
    "key": (KeyedNoise(bytes(range(32)), stream="visits"), (0, 3), PLAN),
    "kind of noise": (UnsafeSeededNoise(1), (0, 3), PLAN),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_state_of_another_plan_part_or_noise_is_refused(other):
    noise, lanes, found = OTHERS[other]
    part = Part(Mechanism.of(PLAN), 0, 3)
    assert part.resumed(keyed(), saved_part(keyed())).steps == 4
    with pytest.raises(Refused, match="one of them has changed"):
        part.resumed(keyed(), saved_part(noise, lanes, found))


@pytest.mark.parametrize("place", [0, 20, 60, 100, -1])
def test_a_changed_state_is_refused(place):
    saved = bytearray(saved_part(keyed()))
    saved[place] ^= 1
    with pytest.raises(Refused, match=r"damaged|format"):
        Part(Mechanism.of(PLAN), 0, 3).resumed(keyed(), bytes(saved))


def test_noise_that_is_drawn_anew_is_refused():
    with pytest.raises(InvalidType, match="drawn twice"):
        Part(Mechanism.of(PLAN), 0, 3).resumed(FreshNoise())


def test_totals_too_large_or_of_another_shape_are_refused():
    running = Part(Mechanism.of(PLAN), 0, 3).resumed(keyed())
    with pytest.raises(InvalidValue, match="largest_total"):
        running.run(np.full((1, 3), PLAN.grid.largest_total + 1))
    with pytest.raises(InvalidValue, match=r"\(n, 3\)"):
        running.run(np.zeros((1, 4), dtype=np.int64))
    with pytest.raises(InvalidType, match="int64"):
        running.run(np.zeros((1, 3)))
    assert running.steps == 0


def test_steps_beyond_the_horizon_are_refused():
    running = Part(Mechanism.of(PLANS[3]), 0, 1).resumed(keyed())
    with pytest.raises(Refused, match="horizon 300"):
        running.run(np.zeros((301, 1), dtype=np.int64))


@pytest.mark.parametrize(("first", "lanes"), [(0, 8), (7, 1), (-1, 2), (0, 0)])
def test_lanes_that_the_plan_has_not_are_refused(first, lanes):
    with pytest.raises(InvalidValue, match="must be an integer"):
        Part(Mechanism.of(PLAN), first, lanes)


def test_a_saved_part_has_no_more_steps_than_there_can_be():
    made = plan(NoDecay(), Guarantee(1, 1e-6), horizon=9)
    for mechanism, most in ((Mechanism.of(made), 9), (Mechanism.of(PLAN), 2**61)):
        part = Part(mechanism, 0, 1)
        data = part.resumed(keyed()).save()
        frame = container.opened(data, partition.MAGIC, "a part")
        arrays = container.split(frame.body, frame.header["arrays"], ("<i8", "<f8"), "a part")
        header = {name: of for name, of in frame.header.items() if name != "arrays"}
        for steps in (most + 1, 2**200, -1, 1.0, True, None):
            forged = container.packed(partition.MAGIC, header | {"steps": steps}, arrays)
            with pytest.raises((InvalidValue, InvalidType), match="steps must be an integer"):
                part.resumed(keyed(), forged)


def test_a_part_of_a_mechanism_that_claims_less_noise_is_refused():
    """A worker reads the plan again, whatever digest came with it."""
    honest = Mechanism.of(PLAN)
    document = json.loads(honest.document)
    document["noise"]["slope"]["bits"] -= 1  # twice the slope, half the noise
    forged = Mechanism(redigested(document), honest.digest, honest.lanes)
    with pytest.raises(InvalidValue, match="noise must be the noise"):
        Part(forged, 0, 1).resumed(keyed())
