import pytest

from hushfade import CustomDecay, Guarantee, NoDecay, Person, plan
from hushfade.plots import overview
from tests.plots.drawn import DAILY, ONE, line, shown, words

LONG = plan(
    CustomDecay([1 - place / 60 for place in range(60)]),
    Guarantee(1, 1e-6, protects=Person(steps=3, apart=24)),
    horizon=2000,
    high=1e6,
)


@pytest.mark.parametrize(
    "made", [DAILY, LONG, plan(NoDecay(), ONE, horizon=1)], ids=["daily", "long", "one"]
)
def test_a_page_has_four_labelled_panels_and_both_sentences(made):
    figure = overview(made)
    panels = shown(figure)
    assert len(panels) == 4
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in panels)
    assert all(axes.get_legend() is not None for axes in panels)
    n = made.horizon or 1000
    flat = " ".join(words(figure).split())
    assert made.guarantee.sentence() in flat
    assert made.certificate(n).sentence() in flat
    assert "epsilon = 1, delta = 0.000001" in figure.get_suptitle()
    assert line(panels[2], "standard deviation")[0][-1] == n


def test_the_proven_least_is_below_the_largest_error():
    axes = shown(overview(LONG))[2]
    low = line(axes, "proven minimum")[1][0]
    assert low < line(axes, "standard deviation")[1].max()
    assert low == pytest.approx(LONG.max_stddev(2000) / LONG.certificate(2000).ratio)


def test_no_words_leave_the_page():
    figure = overview(LONG)
    panels = shown(figure)
    texts = [*figure.texts]
    for axes in panels:
        texts += [axes.xaxis.label, axes.yaxis.label, axes.title, *axes.get_legend().get_texts()]
    assert len(texts) > 20
    for text in texts:
        box = text.get_window_extent()
        assert box.x0 >= 0, text.get_text()
        assert box.y0 >= 0, text.get_text()
        assert box.x1 <= figure.bbox.x1, text.get_text()
        assert box.y1 <= figure.bbox.y1, text.get_text()
