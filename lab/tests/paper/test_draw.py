from lab.paper.draw import draw
from lab.tests.paper import toy


def test_every_panel_and_every_label_is_drawn_once():
    made = draw(toy.FIGURE)
    assert [axes.get_title(loc="left") for axes in made.axes] == ["from one", "logarithmic"]
    (legend,) = made.legends
    assert [text.get_text() for text in legend.get_texts()] == ["squares", "about", "ten"]


def test_a_label_has_the_same_colour_in_every_panel():
    first, second = draw(toy.FIGURE).axes
    assert first.lines[0].get_color() == second.lines[0].get_color()
    assert second.lines[0].get_color() != second.lines[1].get_color()


def test_axes_are_as_the_panel_says():
    first, second = draw(toy.FIGURE).axes
    assert (first.get_xscale(), first.get_yscale()) == ("linear", "linear")
    assert (second.get_xscale(), second.get_yscale()) == ("log", "log")
    assert (first.get_xlabel(), first.get_ylabel()) == ("n", "n²")
