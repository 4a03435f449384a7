import json
import os

import pytest

from hushfade import Diverges, InvalidValue, Refused
from hushfade.cli import console
from hushfade.cli.console import Exit, Failure
from hushfade.errors import Malformed
from tests.cli.command import run

ERRORS = [
    (InvalidValue("power must be > 0, got nan"), Exit.USAGE, "power must be > 0, got nan"),
    (Diverges("horizon must be given"), Exit.USAGE, "horizon must be given"),
    (Malformed("x.csv, line 3: no time"), Exit.DATA, "x.csv, line 3: no time"),
    (Refused("an old state"), Exit.REFUSED, "an old state"),
    (Failure("bad line 3", Exit.DATA), Exit.DATA, "bad line 3"),
    (FileNotFoundError(2, "No such file", "x.csv"), Exit.FILE, "x.csv: No such file"),
    (KeyboardInterrupt(), Exit.INTERRUPTED, "interrupted"),
]


@pytest.mark.parametrize(("error", "code", "message"), ERRORS, ids=repr)
def test_an_error_is_one_line_and_its_exit_code(capsys, error, code, message):
    with pytest.raises(SystemExit) as ended, console.reported(as_json=False):
        raise error
    assert ended.value.code == code
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"error: {message}\n")


@pytest.mark.parametrize(("error", "code", "message"), ERRORS, ids=repr)
def test_as_json_it_is_a_document_on_stderr(capsys, error, code, message):
    with pytest.raises(SystemExit), console.reported(as_json=True):
        raise error
    told = capsys.readouterr()
    assert told.out == ""
    assert json.loads(told.err) == {"error": message, "code": code}


def test_the_message_of_another_library_is_not_shown(capsys):
    with pytest.raises(SystemExit) as ended, console.reported(as_json=False):
        raise ValueError("could not convert 'secret' to float")
    assert ended.value.code == Exit.INTERNAL
    err = capsys.readouterr().err
    assert "ValueError" in err
    assert "secret" not in err


def test_a_long_message_is_not_broken_into_lines(capsys):
    with pytest.raises(SystemExit), console.reported(as_json=False):
        raise InvalidValue("[bold] " + "word " * 100)
    assert capsys.readouterr().err == "error: [bold] " + "word " * 100 + "\n"


def test_the_traceback_is_kept_for_those_who_ask(monkeypatch):
    monkeypatch.setenv(console.DEBUG, "1")
    with pytest.raises(ValueError, match="inside"), console.reported(as_json=False):
        raise ValueError("inside")


def test_a_document_has_finite_numbers_only(capsys):
    with pytest.raises(ValueError, match="not JSON compliant"):
        console.document({"limit": float("inf")})
    assert capsys.readouterr().out == ""


def test_progress_is_silent_where_nobody_looks(capsys):
    with console.progress("counting", 3) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), console.written(path) as part:
        part.write_text("half \ud800")
    assert path.read_text() == "old"
    with console.written(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to("real.txt")
    with console.written(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("name", "option", "code", "message"),
    [
        ("there.json", "--output", Exit.FILE, "already exists: use --force to replace it"),
        ("none/plan.json", "--output", Exit.FILE, "the directory does not exist"),
        (".", "--output", Exit.FILE, "not a regular file"),
        ("picture.pdf", "--plot", Exit.USAGE, "--plot must end in .png or .svg"),
        ("there.png", "--plot", Exit.FILE, "already exists: use --force to replace it"),
    ],
)
def test_files_that_cannot_be_written_are_refused_before_the_work(
    tmp_path, name, option, code, message
):
    for there in ("there.json", "there.png"):
        (tmp_path / there).write_text("old")
    result = run(f"plan --power 1 --mu 1 {option}", str(tmp_path / name))
    assert result.exit_code == code
    assert message in result.stderr.replace("\n", " ")
    assert result.stdout == ""
    assert sorted(os.listdir(tmp_path)) == ["there.json", "there.png"]
    assert (tmp_path / "there.json").read_text() == "old"
