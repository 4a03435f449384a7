import os
import stat

import pytest

from hushfade.atomic_files import whole, whole_directory


def test_the_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "a.txt"
    with whole(path) as hidden:
        hidden.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with whole(path) as hidden:
            hidden.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_the_mode_is_that_of_any_new_file(tmp_path):
    with whole(tmp_path / "a") as hidden:
        hidden.write_text("x")
    (tmp_path / "b").write_text("x")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "ab"}
    assert len(modes) == 1


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with whole(tmp_path / "link") as hidden:
        hidden.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_missing_directory_is_an_error(tmp_path):
    def try_it():
        with whole(tmp_path / "no" / "a"):
            pass

    with pytest.raises(FileNotFoundError):
        try_it()


def test_a_directory_appears_with_all_its_files(tmp_path):
    path = tmp_path / "plans"
    with whole_directory(path) as hidden:
        (hidden / "a").write_text("1")
        (hidden / "b").write_text("2")
        assert not path.exists()
    assert sorted(os.listdir(path)) == ["a", "b"]
    assert os.listdir(tmp_path) == ["plans"]


def test_a_failure_leaves_no_directory(tmp_path):
    def fail():
        with whole_directory(tmp_path / "plans") as hidden:
            (hidden / "a").write_text("1")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert os.listdir(tmp_path) == []


def test_a_directory_replaces_nothing(tmp_path):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("kept")

    def try_it(name):
        with whole_directory(tmp_path / name) as hidden:
            (hidden / "a").write_text("new")

    for name in ("file", "full"):
        with pytest.raises(OSError, match=name):
            try_it(name)
    assert (tmp_path / "file").read_text() == (tmp_path / "full" / "a").read_text() == "kept"
    assert sorted(os.listdir(tmp_path)) == ["file", "full"]
