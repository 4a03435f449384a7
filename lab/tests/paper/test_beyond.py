"""Beyond the paper."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import ndtr

from lab.paper import beyond
from lab.paper.document import QUICK, Claim, Figure, Table
from lab.tests.paper.reading import named, rows


@pytest.fixture(scope="module")
def found():
    return list(beyond.blocks(QUICK))


def test_all_claims_hold(found):
    claims = [x for x in found if isinstance(x, Claim)]
    assert len(claims) == 7
    assert {(x.where, x.verdict) for x in claims} == {("ours", "holds")}


def test_tables_and_figures_have_names_of_their_own(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]
    assert len(set(names)) == len(names) == 6
    assert all(name.startswith("beyond-") for name in names)


def test_the_normalized_root_lies_between_the_optimum_and_the_root(found):
    for least, root, normalized, *_ in rows(found, "beyond-normalized").values():
        assert least <= normalized <= root * (1 + 1e-12)


def test_the_column_normalized_root_is_that_of_its_matrices(found):
    T = 16
    a = np.cumprod(np.append(1.0, (2 * np.arange(1, T) - 1) / (2 * np.arange(1, T))))
    H = np.array([[a[i - j] if i >= j else 0.0 for j in range(T)] for i in range(T)])
    R = H / np.linalg.norm(H, axis=0)
    L = np.tril(np.ones((T, T))) @ np.linalg.inv(R)
    ratio = np.max(np.linalg.norm(L, axis=1)) / np.sum(a**2)
    rows = {row[:3]: row[3] for row in named(found, "beyond-since").rows}
    assert_allclose(rows["counting", T, "column-normalized"], ratio, rtol=1e-12)


def test_windows_leave_class_f_and_powers_do_not(found):
    class_f = rows(found, "beyond-class")
    # (1 - x^16)^½ (1 - x)^-½: at n = 16 C(32, 16)/4^16 - 1/2
    a = math.comb(32, 16) / 4**16 - 0.5
    assert_allclose(class_f["window 16"][2], a, rtol=1e-12)
    assert class_f["window 16"][3] == "refuted"
    assert {class_f[name][3] for name in ("power 0.1", "power 1.5", "power 3.142")} == {"proven"}


def test_the_gaussian_ratio_is_that_of_the_definition(found):
    def delta(mu):
        return ndtr(mu / 2 - 0.5 / mu) - math.exp(0.5) * ndtr(-mu / 2 - 0.5 / mu)

    mu = brentq(lambda x: delta(x) - 1e-6, 0.02, 1.0, xtol=1e-14)
    table = rows(found, "beyond-gaussian")
    assert_allclose(table[1e-6][2], mu * math.sqrt(2 * math.log(1.25e6)) / 0.5, rtol=1e-6)
