import os
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from hushfade import InvalidType, InvalidValue
from hushfade.plots import privacy, series, write
from tests.plots.drawn import ONE


def picture():
    return series([1, 2, 3], [1.0, 3.0, 2.0], [1.0, 1.0, 1.0], guarantee=ONE)


# Laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_the_ending_chooses_the_format_and_the_bytes_are_the_same_twice(tmp_path, name, start):
    first, second = tmp_path / name, tmp_path / f"again {name}"
    write(picture(), first)
    write(picture(), str(second))
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(tmp_path.iterdir()) == sorted([first, second])


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_neither_date_nor_version_is_written(tmp_path, name):
    import matplotlib as mpl

    write(privacy(ONE), tmp_path / name)
    data = (tmp_path / name).read_bytes()
    assert mpl.__version__.encode() not in data
    assert b"dc:date" not in data
    assert b"Software" not in data


def test_settings_of_the_caller_are_left_alone(tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    write(picture(), tmp_path / "a.svg")
    assert dict(mpl.rcParams) == before


def test_a_file_is_replaced_and_read_by_whom_the_umask_allows(tmp_path):
    path = tmp_path / "a.png"
    path.write_text("old")
    write(picture(), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


# Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "a.png"
    path.write_text("old")

    def fails(*_):
        raise OSError("full")

    monkeypatch.setattr(step, fails)
    with pytest.raises(OSError, match="full"):
        write(picture(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_drawing_leaves_nothing(tmp_path, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("no ink")

    monkeypatch.setattr(Figure, "savefig", fails)
    with pytest.raises(RuntimeError, match="no ink"):
        write(picture(), tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.pdf", "a", "png", "a.png.txt", ".png"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(InvalidValue, match=r"path must end in \.png or \.svg, got '"):
        write(picture(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_missing_directory_and_what_is_no_figure_are_refused(tmp_path):
    with pytest.raises(InvalidValue, match="path must be in an existing directory"):
        write(picture(), tmp_path / "none" / "a.png")
    with pytest.raises(InvalidType, match="figure must be a matplotlib Figure, got str"):
        write("picture", Path("a.png"))
