import pytest

from hushfade.errors import InvalidValue
from lab.paper.document import FULL, QUICK, Line, Table


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
