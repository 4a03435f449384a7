"""Vectors on the grid: each row is read for itself."""

import numpy as np

from hushfade.private import vectors

NORM = 512  # units


def rows_near_a_boundary(rng, count, width):
    """Vectors whose first component, once scaled to the norm, is half way between two units."""
    rows = rng.normal(size=(count, width))
    half = np.floor(rng.uniform(1, 200, count)) + 0.5
    rows[:, 0] = half * np.linalg.norm(rows[:, 1:], axis=1) / np.sqrt(NORM**2 - half**2)
    return 10.0 * rows


def units(rows):
    return vectors.units(rows, width=rows.shape[1], norm_unit=NORM, resolution=2.0**-9)


def test_a_vector_is_read_alike_alone_and_among_others_in_any_layout():
    """numpy adds up the squares of a row in another order if rows are not contiguous."""
    rng = np.random.default_rng(1)
    for width in (1, 2, 7, 8, 9, 40, 300):
        rows = rows_near_a_boundary(rng, 200, width) if width > 1 else rng.normal(size=(200, 1))
        alone = np.vstack([units(row[None, :]) for row in rows])
        among = np.vstack([rows, np.zeros((1, width))])
        wide = np.zeros((201, 2 * width))
        wide[:, ::2] = among
        for layout in (among, np.asfortranarray(among), wide[:, ::2], among[::-1][::-1]):
            assert np.array_equal(units(layout)[:-1], alone), width
        pairs = (np.asfortranarray(np.vstack([row, row * 0])) for row in rows)
        assert np.array_equal(np.vstack([units(pair)[:1] for pair in pairs]), alone), width
