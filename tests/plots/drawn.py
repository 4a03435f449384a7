"""What stands in a drawn figure, for the tests to read."""

import numpy as np

from hushfade import Exponential, Guarantee, plan

ONE = Guarantee(epsilon=1, delta=1e-6)
DAILY = plan(Exponential(half_life=24), ONE)


def words(figure):
    """All texts of the figure, titles, labels and legends too, in one string."""
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text))


def line(axes, label):
    """x and y of the only line whose label starts so."""
    (found,) = [one for one in axes.get_lines() if str(one.get_label()).startswith(label)]
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


def band(axes):
    """x, low and high of the only filled area."""
    (area,) = axes.collections
    corners = area.get_paths()[0].vertices
    x = np.unique(corners[:, 0])
    low = np.array([corners[corners[:, 0] == at, 1].min() for at in x])
    high = np.array([corners[corners[:, 0] == at, 1].max() for at in x])
    return x, low, high


def shown(figure):
    """The visible axes, after a full drawing, which raises if something cannot be drawn."""
    figure.draw_without_rendering()
    return [axes for axes in figure.axes if axes.get_visible()]
