import json

import pytest

from hushfade.errors import InvalidValue
from hushfade.paper.document import FULL, QUICK, Line, Table, Written, from_json, to_json
from tests.paper import toy


@pytest.mark.parametrize("chapter", toy.CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_chapter_survives_its_file(chapter):
    written = Written(chapter.name, chapter.title, tuple(chapter.blocks(FULL)))
    assert from_json(to_json(written)) == written


def test_the_quick_report_is_not_the_full_one():
    assert FULL.full
    assert not QUICK.full
    assert QUICK.horizon < FULL.horizon


def test_a_table_has_a_cell_for_every_column():
    with pytest.raises(InvalidValue, match="rows must have 2 cells in broken"):
        Table("broken", "", ("a", "b"), (("1", "2"), ("3",)))


@pytest.mark.parametrize(("x", "y"), [((1.0,), ()), ((1.0,), (float("nan"),))])
def test_a_line_has_a_finite_point_for_every_place(x, y):
    with pytest.raises(InvalidValue, match="finite"):
        Line("broken", x, y)


def test_a_band_has_two_edges():
    with pytest.raises(InvalidValue, match="band"):
        Line("broken", (1.0,), (1.0,), "band")


def test_what_json_cannot_say_is_refused():
    table = Table("broken", "", ("a",), ((float("inf"),),))
    with pytest.raises(ValueError, match="JSON"):
        to_json(Written("one", "", (table,)))


def test_an_unknown_kind_is_refused():
    text = json.dumps({"name": "one", "title": "", "blocks": [{"kind": "Film"}]})
    with pytest.raises(InvalidValue, match="kind"):
        from_json(text)
