"""γ2 by brute force for a few steps: an independent yardstick for every bound."""

from functools import lru_cache

import numpy as np
from scipy.linalg import toeplitz


def matrix(f):
    return toeplitz(f, np.zeros(len(f)))


def gamma2(f):
    """lower ≤ γ2(M) ≤ upper for the matrix M of the column f.

    γ2(M) = max over the simplex of ‖D_p^½ J M D_p^½‖_*, J the reversal; B = D_p^½ J M D_p^½ is
    symmetric and d = diag|B| gives the primal bound max d/p.  Fixed point p ← p (d/(p ‖B‖_*))^1.9.
    """
    return _gamma2(tuple(float(weight) for weight in f))


@lru_cache(maxsize=512)
def _gamma2(f):
    JM = matrix(np.array(f))[::-1]
    p = np.full(len(f), 1.0 / len(f))
    lower, upper = 0.0, np.inf
    for _ in range(150):
        root = np.sqrt(p)
        values, vectors = np.linalg.eigh(root[:, None] * JM * root)
        d = vectors**2 @ np.abs(values)
        lower, upper = max(lower, float(np.sum(d))), min(upper, float(np.max(d / p)))
        if upper - lower < 1e-9:
            break
        p = p * (d / p / np.sum(d)) ** 1.9
        p = np.maximum(p / np.sum(p), 1e-200)
        p /= np.sum(p)
    return lower, upper


def root(f):
    """a_0, ..., a_{n-1} with a * a = f, by the recurrence of Remark 12."""
    a = [np.sqrt(f[0])]
    for n in range(1, len(f)):
        a.append((f[n] - sum(a[k] * a[n - k] for k in range(1, n))) / (2 * a[0]))
    return np.array(a)


def powers(c, n):
    """1, 2^-c, ..., n^-c."""
    return np.arange(1, n + 1, dtype=float) ** -c


def harmonic(n):
    """1 + 1/2 + ... + 1/n."""
    return sum(1 / k for k in range(1, n + 1))
