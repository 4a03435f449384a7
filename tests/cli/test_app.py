import json
import os
import subprocess
import sys

import pytest

import hushfade
from hushfade.cli import COMMANDS, app
from tests.cli.command import ONE, run


def started(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "hushfade", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # buffered, as users have it: a closed pipe is then met late
        env={**os.environ, "PYTHONUNBUFFERED": "", **environment},
    )


def test_every_command_and_option_has_help():
    for name in COMMANDS:
        command = app[name]
        assert command.help.split("\n")[0].endswith("."), name
        assert f"`hushfade {name}" in command.help.split("\n\n", 1)[1], name  # an example to copy
        options = [x for x in command.assemble_argument_collection() if x.parse and not x.children]
        assert options, name
        for option in options:
            assert option.parameter.help, (name, option.name)
            panels = [panel.name for panel in option.parameter.group]
            assert panels != ["Parameters"], (name, option.name)  # the panel of options without one


def test_help_is_shown_without_other_options():
    for name in COMMANDS:
        result = run(f"{name} --help")
        assert result.exit_code == 0, name
        assert ("--json" in result.stdout) == (name != "serve"), name  # which reports nothing


def test_the_list_of_commands_shows_what_each_does():
    result = run("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert app[name].help.split()[0] in result.stdout, name


def test_completion_knows_every_command():
    result = run("--show-completion bash")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert name in result.stdout


def test_a_process_prints_the_document_alone():
    process = started("plan", "--window", "7", "--mu", "0.5", "--json")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out)["mu"] == 0.5


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_who_has_seen_enough_ends_the_command_quietly(form):
    process = started("plan", "--power", "1", "--mu", "1", *form)
    process.stdout.close()  # before anything is written
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (0, b"")


def test_letters_that_the_terminal_lacks_do_not_stop_a_command():
    process = started("plan", "--power", "1", "--mu", "1", PYTHONIOENCODING="ascii")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert out.isascii()


HEAVY = "scipy.optimize", "matplotlib", "hushfade.baselines", "hushfade.cli.audit"
LOADED = {  # what a command must not load, since it does not use it
    "plan --half-life 24 --epsilon 1 --delta 1e-6": (*HEAVY, "pyarrow", "numba"),
    "run rows.csv --value v --low 0 --high 1 --half-life 3 --mu 1 --neighbours replace": HEAVY,
    "--help": ("scipy", "pyarrow", "numba"),
}


@pytest.mark.parametrize("line", LOADED)
def test_a_command_loads_only_what_it_uses(line, tmp_path):
    (tmp_path / "rows.csv").write_text("v\n1\n0\n")
    script = f"import sys; from hushfade.cli import main; main({line.split()!r}); "
    script += f"loaded = [name for name in {LOADED[line]!r} if name in sys.modules]; "
    script += "sys.exit(f'loaded: {loaded}' if loaded else 0)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_version_is_that_of_the_library():
    assert run("--version").stdout == f"hushfade {hushfade.__version__}\n"


def test_without_a_command_the_help_is_shown():
    assert "explain" in run("").output


@pytest.mark.parametrize("line", ["nonsense", "plan --nonsense", f"plan --power x {ONE}"])
def test_wrong_usage_is_exit_code_2(line):
    result = run(line)
    assert (result.exit_code, result.stdout) == (2, "")
    told = json.loads(run(line + " --json").stderr)
    assert told["code"] == 2
    assert told["error"]
