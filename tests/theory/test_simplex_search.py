import numpy as np
from scipy.optimize import fmin

from hushfade.theory.simplex_search import highest

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
VALUES = {
    "paraboloid": lambda p: -((p[0] - 0.3) ** 2) - 4.0 * (p[1] + 0.7) ** 2,
    "banana": lambda p: -((1.0 - p[0]) ** 2) - 100.0 * (p[1] - p[0] ** 2) ** 2,
    "peak": lambda p: -np.abs(p[0] - 2.0) - np.abs(p[1]),
    "plane": lambda p: p[0] + p[1],
    "flat": lambda p: 0.0,
}


def test_the_point_is_scipy_s_to_the_last_bit():
    for name, value in VALUES.items():
        for evaluations in (1, 2, 3, 4, 7, 16, 60, 400):
            found = highest(value, CORNERS, evaluations=evaluations)
            expected = fmin(
                lambda p, value=value: -value(p),
                CORNERS[0],
                initial_simplex=CORNERS,
                maxfun=evaluations,
                xtol=1e-3,
                ftol=1e-7,
                disp=False,
            )
            np.testing.assert_array_equal(found, expected, err_msg=f"{name}, {evaluations}")


def test_no_more_than_the_evaluations_are_spent():
    spent = []

    def value(point):
        spent.append(point)
        return point[0]

    for evaluations in (1, 3, 10, 50):
        spent.clear()
        highest(value, CORNERS, evaluations=evaluations)
        assert len(spent) == evaluations
