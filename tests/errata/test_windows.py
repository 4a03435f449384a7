"""Errata: sliding windows."""

import math

import numpy as np
import pytest

from hushfade import NoDecay, SlidingWindow
from hushfade.theory.bounds import for_ever, root
from hushfade.theory.families import (
    counting_sum,
    window_blocks,
)


def test_the_window_output_adds_the_end_of_the_previous_block():
    # Section 3.6: for t > w output u[t] - u[t - w], u the count within blocks of w
    x, w = np.arange(1, 10), 3
    u = np.concatenate([np.cumsum(x[i : i + w]) for i in range(0, 9, w)])
    truth = np.convolve(x, np.ones(w, dtype=int))[:9]
    printed = [u[t] if t < w else u[t] - u[t - w] for t in range(9)]
    right = [u[t] if t < w else u[t] + u[t // w * w - 1] - u[t - w] for t in range(9)]
    assert printed != list(truth)
    assert [int(v) for v in printed] == [1, 3, 6, 3, 6, 9, 3, 6, 9]
    assert [int(v) for v in truth] == [1, 3, 6, 9, 12, 15, 18, 21, 24]
    assert right == list(truth)


def test_a_window_of_w_records_has_n_up_to_w():
    # Theorem 7: f(n) = 1 for n ≤ w; Section 3.6: for n < w, which sums w - 1 records
    w = 3
    inclusive, exclusive = np.arange(1, 6) <= w, np.arange(1, 6) < w
    assert np.sum(exclusive) == w - 1
    assert np.array_equal(inclusive, SlidingWindow(length=w).weights(5))


@pytest.mark.parametrize("w", [14, 16, 256, 4096])
def test_the_mended_blocks_exceed_the_factor_of_theorem_7(w):
    # Theorem 7: √2 (1 + ln(w)/π + 2/w)
    printed = math.sqrt(2) * (1 + math.log(w) / math.pi + 2 / w)
    decay = SlidingWindow(length=w)
    assert window_blocks(decay, 2 * w).value > printed
    assert for_ever(decay).value < printed  # the plain square root keeps the promise


@pytest.mark.parametrize("w", [32, 1024])
def test_the_energy_of_the_count_exceeds_its_printed_bound(w):
    # Section 3.6: Σ r(i)² ≤ 1 + ln(w)/π + 2/w
    energy = root(NoDecay(), w).value
    assert energy > 1 + math.log(w) / math.pi + 2 / w
    assert energy <= counting_sum(w).value  # H_{w-1} for ln w
