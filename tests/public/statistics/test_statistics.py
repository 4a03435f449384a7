"""Every statistic: its value without noise, its interval, its release, its plan file."""

import json
import math
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hushfade as hf
from hushfade.planning import plan_file
from hushfade.public.statistic_release import StatisticRelease
from tests.public.statistics.all_statistics import STATISTICS, random_records, true_value

LAWS = {
    "laplace": hf.SlidingWindow(length=4),
    "huber": hf.Exponential(half_life=8),
    "gaussian": hf.Exponential(half_life=8),
}
WEEK = hf.SlidingWindow(length=7)


def planned(statistic, law="laplace", keys=None):
    return _planned(statistic, law, None if keys is None else tuple(keys))


@cache
def _planned(statistic, law, keys):
    return hf.plan(LAWS[law], hf.Guarantee(1, 1e-6), statistic=statistic, law=law, keys=keys)


def exact_lanes(plan, steps):
    """The decayed lanes without noise, in records, and the weight of every record."""
    f = plan.decay.weights(len(steps))[::-1]
    totals = np.array([plan.grid.record_sums(records) for records in steps])
    lanes = (f[:, None] * totals).sum(axis=0) / plan.grid.lane_units[1]
    weights = np.concatenate(
        [np.full(len(records), one) for records, one in zip(steps, f, strict=True)]
    )
    return lanes, weights


def test_without_noise_the_value_is_the_statistic_of_the_weighted_records():
    rng = np.random.default_rng(1)
    for name, statistic in STATISTICS.items():
        plan = planned(statistic, "huber")
        steps = [random_records(statistic, rng, count) for count in (30, 50, 20)]
        lanes, weights = exact_lanes(plan, steps)
        records = np.concatenate([np.asarray(one) for one in steps])
        value = statistic.value(lanes[None, :])[0]
        truth = true_value(statistic, records, weights)
        if statistic.name == "quantiles":  # they are interpolated within their bin
            width = (statistic.high - statistic.low) / statistic.bins
            assert (np.abs(value - truth) <= width + 1e-9).all(), name
        else:
            # rounding to the grid moves a record by half a resolution at most
            grid = 8 * plan.grid.resolution if statistic.kind in ("grid", "pairs") else 1e-12
            assert_allclose(value, truth, atol=grid, err_msg=name)


def test_count_and_sums_are_linear_parts_of_the_lanes():
    rng = np.random.default_rng(2)
    for name, statistic in STATISTICS.items():
        plan = planned(statistic, "huber")
        steps = [random_records(statistic, rng, count) for count in (30, 50)]
        lanes, weights = exact_lanes(plan, steps)
        assert lanes @ statistic.sums["count"] == pytest.approx(weights.sum()), name
        if "sum" in statistic.sums:
            records = np.clip(np.concatenate(steps), statistic.low, statistic.high)
            near = weights.sum() * plan.grid.resolution / 2 + 1e-9
            assert lanes @ statistic.sums["sum"] == pytest.approx(weights @ records, abs=near)
        if "sum_of_squares" in statistic.sums:
            squares = weights @ plan.grid.quantise(records) ** 2
            assert lanes @ statistic.sums["sum_of_squares"] == pytest.approx(squares, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_an_interval_contains_the_truth_as_often_as_it_states(law):
    """1200 keys with the same records and independent noise; the binomial error is 0.63 %."""
    rng, copies = np.random.default_rng(3), 1200
    keys = [str(key) for key in range(copies)]
    for name, statistic in STATISTICS.items():
        if name == "share of a text":  # the same lanes as a share
            continue
        plan = planned(statistic, law, keys)
        for count in (1, 10, 200):
            steps = [random_records(statistic, rng, count) for _ in range(3)]
            alone = planned(statistic, law)
            totals = np.array([np.tile(alone.grid.record_sums(one), copies) for one in steps])
            released = plan.start(hf.UnsafeSeededNoise(count)).run_units(totals)
            readings = plan.readings(released)
            lower, upper = (end[-1] for end in readings.interval(0.95))
            _, weights = exact_lanes(alone, steps)
            if statistic.kind == "grid":  # of the records on the grid
                records = plan.grid.quantise(np.concatenate(steps))
            else:
                records = np.concatenate([np.asarray(one) for one in steps])
            if statistic.kind == "pairs":  # of the numbers in units
                largest = np.array([statistic.numerator, statistic.denominator])
                records = np.floor(np.clip(records, 0, largest) / largest * 1024 + 0.5) / 1024
                records = records * largest
            truth = true_value(statistic, records, weights)
            covered = ((lower - 1e-9 <= truth) & (truth <= upper + 1e-9)).mean(axis=0)
            assert np.min(covered) >= 0.95 - 4 * 0.0063, (name, count, covered)
            low, high = (end[-1] for end in readings.sum_interval("count", 0.95))
            counted = ((low <= weights.sum()) & (weights.sum() <= high)).mean()
            assert counted >= 0.95 - 4 * 0.0063, (name, count, counted)


def test_intervals_of_means_are_not_wider_than_necessary():
    """With Gaussian noise and a count far from zero the coverage is the stated one."""
    copies = 4000
    plan = planned(hf.Mean(low=0, high=1), "gaussian", [str(key) for key in range(copies)])
    lanes = np.tile([300, 700], copies) * 1024
    readings = plan.readings(plan.start(hf.UnsafeSeededNoise(5)).run_units(lanes[None, :]))
    lower, upper = readings.interval(0.95)
    covered = ((lower <= 0.3) & (upper >= 0.3)).mean()
    assert abs(covered - 0.95) <= 4 * math.sqrt(0.95 * 0.05 / copies)


def test_an_interval_that_ignores_the_noise_of_the_count_covers_too_little():
    """The control: a noisy sum over a noisy count, ± 1.96 deviations of the sum alone."""
    copies = 2000
    plan = planned(hf.Mean(low=0, high=1), "gaussian", [str(key) for key in range(copies)])
    nothing = np.zeros((1, 2 * copies), dtype=np.int64)
    readings = plan.readings(plan.start(hf.UnsafeSeededNoise(6)).run_units(nothing))
    total, count = 900 + readings.lanes[0, :, 0], 1000 + readings.lanes[0, :, 1]
    covered = np.abs(total / count - 0.9) <= 1.96 * readings.stddevs[0] / count
    assert covered.mean() < 0.90


def test_values_and_intervals_stay_within_the_range_even_without_records():
    for name, statistic in STATISTICS.items():
        low, high = statistic.range
        stream = planned(statistic).start(hf.UnsafeSeededNoise(7))
        for _ in range(20):
            release = stream.step([])
            lower, upper = release.interval(0.9)
            for number in (release.value, lower, upper):
                assert np.isfinite(number).all(), name
                assert np.all((number >= low) & (number <= high)), name
            assert np.all(lower <= upper), name


def test_quantiles_rise():
    statistic = hf.Quantiles([0.1, 0.3, 0.5, 0.7, 0.9], 0, 1, bins=64)
    rng = np.random.default_rng(8)
    lanes = rng.normal(size=(500, 64)) * 5 + 1
    assert (np.diff(statistic.value(lanes), axis=1) >= 0).all()


def test_a_release_has_keys_parts_and_intervals():
    for name, statistic in STATISTICS.items():
        rng = np.random.default_rng(9)
        release = (
            planned(statistic, keys=["a", "b"])
            .start(hf.UnsafeSeededNoise(1))
            .step({"b": random_records(statistic, rng, 500)})
        )
        assert isinstance(release, StatisticRelease)
        outputs = () if statistic.outputs is None else (len(statistic.outputs),)
        assert np.shape(release.value) == (2, *outputs), name
        for end in release.interval():
            assert np.shape(end) == (2, *outputs), name
        count = release.parts["count"]
        assert abs(count.value[0]) < 100, name
        assert count.value[1] > 400, name
        low, high = count.interval(0.99)
        assert np.all(low < count.value), name
        assert np.all(count.value < high), name


def test_an_interval_that_is_the_whole_range_says_so():
    plan = planned(hf.Mean(low=0, high=1))
    stream = plan.start(hf.UnsafeSeededNoise(1))
    assert stream.step([]).whole_range() is True
    assert stream.step([0.5] * 100_000).whole_range() is False


def test_values_of_few_records_can_be_suppressed():
    plan = planned(hf.Mean(low=0, high=1), keys=["a", "b"])
    release = plan.start(hf.UnsafeSeededNoise(1)).step({"a": [0.5] * 1000})
    hidden = release.suppressed_below(100)
    assert not np.isnan(hidden.value[0])
    assert np.isnan(hidden.value[1])
    assert np.isnan(hidden.interval()[0]).tolist() == [False, True]
    assert hidden.biased == ("suppressed_below",)


def test_step_and_run_release_the_same_bits():
    rng = np.random.default_rng(10)
    for name, statistic in STATISTICS.items():
        plan = planned(statistic, "huber", keys=["a", "b"])
        records = [{"b": random_records(statistic, rng, 50)} for _ in range(5)]
        stream = plan.start(hf.UnsafeSeededNoise(2))
        one_by_one = [stream.step(one).value for one in records]
        totals = np.array([plan.grid.record_sums(one) for one in records])
        together = plan.readings(plan.start(hf.UnsafeSeededNoise(2)).run_units(totals)).value
        assert (np.array(one_by_one) == together).all(), name


def test_a_saved_stream_continues():
    for name, statistic in STATISTICS.items():
        rng = np.random.default_rng(11)
        plan, noise = planned(statistic), hf.UnsafeSeededNoise(3)
        records = [random_records(statistic, rng, 20) for _ in range(4)]
        whole, part = plan.start(noise), plan.start(noise)
        for one in records[:2]:
            whole.step(one)
            part.step(one)
        loaded = hf.Stream.load(part.save(), noise=noise)
        for one in records[2:]:
            assert np.all(loaded.step(one).value == whole.step(one).value), name


def test_a_plan_file_keeps_the_statistic():
    for name, statistic in STATISTICS.items():
        plan = planned(statistic, keys=["a", "b"])
        text = plan.to_json()
        read = hf.Plan.from_json(text)
        assert read.statistic == statistic, name
        assert read.digest == plan.digest, name
        assert json.loads(text)["format"] == plan_file.FORMAT, name


def test_plans_of_other_statistics_have_other_digests():
    digests = [planned(statistic).digest for statistic in STATISTICS.values()]
    assert len(set(digests)) == len(digests)


def test_sums_and_counts_keep_their_plan_files():
    guarantee = hf.Guarantee(1, 1e-6)
    for statistic, arguments in [
        (hf.Count(), {"resolution": 1.0}),
        (hf.Sum(low=-1, high=3), {"low": -1, "high": 3}),
    ]:
        plain = hf.plan(WEEK, guarantee, **arguments)
        assert hf.plan(WEEK, guarantee, statistic=statistic).to_json() == plain.to_json()
        assert plain.statistic is None


def test_a_forged_statistic_is_refused():
    document = json.loads(planned(hf.Share()).to_json())
    other = json.loads(planned(hf.Histogram([0, 1, 2])).to_json())
    document["statistic"] = other["statistic"]
    with pytest.raises(hf.InvalidValue, match="digest"):
        hf.Plan.from_json(json.dumps(document))


def test_wrong_arguments_are_refused():
    guarantee = hf.Guarantee(1, 1e-6)
    for wrong in (
        lambda: hf.Mean(low=1, high=1),
        lambda: hf.Mean(low=float("nan"), high=1),
        lambda: hf.Histogram([0, 1]),
        lambda: hf.Histogram([0, 2, 1]),
        lambda: hf.Histogram("012"),
        lambda: hf.Quantiles([], 0, 1),
        lambda: hf.Quantiles([0.5, 0.2], 0, 1),
        lambda: hf.Quantiles([1.0], 0, 1),
        lambda: hf.Quantiles([0.5], 0, 1, bins=10, levels=2),
        lambda: hf.Share(of=3),
        lambda: hf.Variance(low=0, high=1e160),
        lambda: hf.Variance(low=-1e160, high=0),
        lambda: hf.Variance(low=0, high=1e-170),
        lambda: hf.plan(WEEK, guarantee, statistic=hf.Mean(low=0, high=1), low=3, high=4),
        lambda: hf.plan(WEEK, guarantee, statistic=hf.Share(), resolution=0.5),
        lambda: hf.plan(WEEK, guarantee, statistic=hf.Mean),
        lambda: hf.plan(WEEK, guarantee, statistic=hf.Share(), width=2, norm=1.0),
    ):
        with pytest.raises(hf.HushfadeError):
            wrong()


def test_a_class_that_spreads_a_record_further_is_refused():
    """Its digest would be the digest of the statistic that it changes."""

    class Louder(hf.Mean):
        def lanes(self, codes, span):
            places, added = super().lanes(codes, span)
            return places, 100 * added

    with pytest.raises(hf.InvalidType, match="must be a statistic, such as"):
        planned(Louder(low=0, high=1))


def test_a_truth_counts_the_same_alone_and_in_any_sequence():
    grid = planned(hf.Share()).grid
    for given in (True, np.bool_(True), [True], (1,), np.array([True]), [np.bool_(True)], [1.0]):
        assert grid.record_sums(given).tolist() == [1, 0], given
    mixed = [True, 0, np.bool_(False), 1.0]
    assert grid.record_sums(mixed).tolist() == grid.record_sums(np.array([1, 0, 0, 1])).tolist()
    assert planned(hf.Share(of="yes")).grid.record_sums(np.array("yes")).tolist() == [1, 0]


def test_wrong_records_are_refused_without_being_shown():
    secret = 987654321.5
    for statistic, wrong in [
        (hf.Mean(low=0, high=1), [float("nan")]),
        (hf.Mean(low=0, high=1), [[secret]]),
        (hf.Share(), [secret]),
        (hf.Share(), ["yes"]),
        (hf.Share(), [True, [True]]),
        (hf.Share(), np.ma.array([True, False], mask=[False, True])),
        (hf.Share(of="yes"), np.array(secret)),
        (hf.Share(of="yes"), [secret]),
        (hf.Histogram([0, 1, 2]), ["1"]),
        (hf.Ratio(1, 1, 1), [secret, secret, secret]),
        (hf.Quantiles([0.5], 0, 1, bins=4), [float("inf")]),
    ]:
        stream = planned(statistic).start()
        with pytest.raises(hf.HushfadeError) as caught:
            stream.step(wrong)
        assert "98765" not in str(caught.value)
        assert stream.steps == 0


# Several statistics of the same lanes ---------------------------------------------------------


def test_mean_and_deviation_of_a_variance_have_intervals_that_cover():
    """4000 independent keys; the true values are known.  A binomial count below its 1e-7 quantile
    would fail."""
    statistic, keys = STATISTICS["variance"], [str(key) for key in range(4000)]
    plan = planned(statistic, "huber", keys)
    records = [0.0, 1.0, 5.0] * 4
    release = plan.start(hf.UnsafeSeededNoise(4)).step(dict.fromkeys(keys, records))
    truth = {"mean": np.mean(records), "standard_deviation": np.std(records)}
    for name, value in truth.items():
        lower, upper = release.derived[name].interval(0.9)
        share = np.mean((lower <= value) & (value <= upper))
        assert share >= 0.9 - 5.2 * math.sqrt(0.09 / len(keys)), name
    mean = release.derived["mean"].interval(0.9)
    assert np.mean((mean[0] <= truth["mean"]) & (truth["mean"] <= mean[1])) < 0.94  # not too wide
    apart = upper - lower
    naive = 2 * 1.645 * release.stddev / 12  # an interval that forgets the range and the count
    assert np.median(apart) > naive / 100


def test_the_mean_of_a_variance_is_the_mean_of_its_own_plan_without_noise():
    variance, mean = STATISTICS["variance"], STATISTICS["mean"]
    records = random_records(mean, np.random.default_rng(3), 500)
    lanes, _ = exact_lanes(planned(variance), [records])
    other, _ = exact_lanes(planned(mean), [records])
    found = variance.derived(lanes[None, :])["mean"][0]
    assert found == pytest.approx(mean.value(other[None, :])[0], abs=8 / 128)  # its coarser grid


def test_suppressed_releases_hide_derived_values_too():
    plan = planned(STATISTICS["variance"], keys=["few", "many"])
    stream = plan.start(hf.UnsafeSeededNoise(4))
    release = stream.step({"few": [1.0], "many": [1.0, 2.0] * 500}).suppressed_below(200)
    for derived in release.derived.values():
        for shown in (derived.value, *derived.interval(0.95)):
            assert np.isnan(shown).tolist() == [True, False]
    alone = planned(STATISTICS["variance"]).start(hf.UnsafeSeededNoise(4)).step([1.0, 3.0] * 100)
    mean = alone.derived["mean"]
    assert float(mean) == mean.value
    assert mean.interval()[0] <= mean.value <= mean.interval()[1]
    assert "value=" in repr(mean)
    assert "readings" not in repr(mean)
    assert alone.readings.derived_interval("mean", 0.5)[0].shape == (1, 1)


def test_ratios_of_extreme_sizes_are_refused_before_they_overflow():
    for field in ("numerator", "denominator", "most"):
        sizes = {"numerator": 1.0, "denominator": 1.0, "most": 1.0}
        for size in (1e51, 1e-51, 1.5e304):
            with pytest.raises(hf.InvalidValue, match=f"{field} must be from 1e-50 to 1e\\+50"):
                hf.Ratio(**sizes | {field: size})
