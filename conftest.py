"""What all tests share: the examples of the documentation, and a PostgreSQL server.

The tests run every example in the docstrings, the README and the docs.  Python blocks are doctests.
In console blocks the shell runs each line that begins with `$ `, in a directory that the blocks of
a page share and that is empty at first; the lines up to the next command are the expected output,
where `...` matches anything.  In tutorials the Python blocks run in that directory too.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import pytest
from sybil import Document, Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser
from sybil.sybil import SybilCollection
from xdist.scheduler import LoadScopeScheduling

# Two test processes on two cores: BLAS threads of both would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# lab/scripts/make-java puts a Java runtime here if the machine has none.
_JAVA = Path(sys.prefix) / "java"
if (_JAVA / "bin" / "java").is_file() and shutil.which("java") is None:
    os.environ.setdefault("JAVA_HOME", str(_JAVA))
    os.environ["PATH"] += f"{os.pathsep}{_JAVA / 'bin'}"

OPTIONS = ELLIPSIS | NORMALIZE_WHITESPACE

ROOT = Path(__file__).parent
# files that share one worker, because they share what takes long to start
TOGETHER = {
    "tests/spark": "spark", "docs/how-to/spark.md": "spark",  # a session of Spark
    "lab/tests/soaks/test_neighbours_spark.py": "spark",
    "tests/serve/page": "page",  # a browser
}  # fmt: skip
# seconds for a test that needs more than pyproject.toml allows, also on a busy machine
PATIENCE = {"slow": 1800, "long": 4 * 3600}


class ByFile(LoadScopeScheduling):
    """A worker runs whole files, and all files of a group.

    The tests of a file share fixtures, and the examples of a page share names.
    """

    def _split_scope(self, nodeid: str) -> str:
        name = nodeid.split("::", 1)[0]
        return next((TOGETHER[part] for part in TOGETHER if name.startswith(part)), name)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFile:
    """How tests are distributed over workers."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark first, then files with slow tests, so that no worker is left alone with one of them.

    Slow tests, and tests that start Spark or a browser, get more time before they count as hanging.
    """
    names = {item: str(item.path.relative_to(ROOT)) for item in items}
    slow = {names[item] for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (
        not names[item].startswith("tests/spark"), names[item] not in slow
    ))  # fmt: skip
    for item in items:
        seconds = [PATIENCE[mark.name] for mark in item.iter_markers() if mark.name in PATIENCE]
        if any(names[item].startswith(part) for part in TOGETHER):
            seconds.append(PATIENCE["slow"])
        if seconds:
            item.add_marker(pytest.mark.timeout(max(seconds)))


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server of this test process, for the tests of the store and of the soaks.

    It is here because tests/ and lab/ do not import each other.
    """
    from lab import postgres_server
    from lab.paths import IN_MEMORY

    if postgres_server.programs() is None:
        pytest.skip("PostgreSQL's programs are not installed: run lab/scripts/make-postgres")
    roomy = IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > 4 << 30
    with postgres_server.server(IN_MEMORY if roomy else None) as server:
        yield server


class ConsoleParser(CodeBlockParser):
    """Runs what is typed after `$ `, and compares what comes out."""

    language = "console"

    def evaluate(self, example: Example) -> str | None:
        """What differs, or None."""
        if "directory" not in example.namespace:
            example.namespace["directory"] = tempfile.TemporaryDirectory()
        directory = example.namespace["directory"].name
        here = Path(sys.executable).parent
        environment = os.environ | {
            "PATH": f"{here}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100", "NO_COLOR": "1",
        }  # fmt: skip
        for command, expected in commands(example.parsed):
            ran = subprocess.run(
                ["sh", "-c", command], cwd=directory, env=environment, text=True, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
            )  # fmt: skip
            if not OutputChecker().check_output(expected, ran.stdout, OPTIONS):
                return f"$ {command}\nexpected:\n{expected}\ngot:\n{ran.stdout}"
        return None


def commands(text: str) -> list[tuple[str, str]]:
    """Each command, which goes on after a backslash, and the output that is expected."""
    found: list[tuple[str, str]] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line.removeprefix("$ ")
            while command.endswith("\\"):
                command += "\n" + next(lines)
            found.append((command, ""))
        else:
            command, output = found.pop()
            found.append((command, output + line + "\n"))
    return found


class Tutorial(Document):
    """A page whose service listens on a free port, so that two runs of the tests do not meet."""

    def __init__(self, text: str, path: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            super().__init__(text.replace("8398", str(free.getsockname()[1])), path)


def in_a_directory_of_its_own(namespace: dict[str, object]) -> None:
    """Run the examples of a tutorial where they may write files, in Python and in the shell."""
    namespace["before"] = Path.cwd()
    namespace["directory"] = directory = tempfile.TemporaryDirectory()
    os.chdir(directory.name)


def back(namespace: dict[str, object]) -> None:
    """Return to the directory in which the tests started."""
    os.chdir(str(namespace["before"]))


MARKDOWN = [PythonCodeBlockParser(doctest_optionflags=OPTIONS), ConsoleParser(), SkipParser()]
TUTORIALS = "docs/tutorials/*.md"

EXAMPLES = (
    Sybil(
        parsers=[DocTestParser(optionflags=OPTIONS)],
        # before Python 3.13 ** stands for one directory
        patterns=[f"src/hushfade/{'*/' * depth}*.py" for depth in range(4)],
    ),
    Sybil(
        parsers=MARKDOWN,
        patterns=["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/**/*.md"],
        excludes=["docs/_build/**", TUTORIALS],
    ),
    Sybil(
        parsers=MARKDOWN,
        patterns=[TUTORIALS],
        document_types={".md": Tutorial},
        setup=in_a_directory_of_its_own,
        teardown=back,
    ),
)
pytest_collect_file = SybilCollection(EXAMPLES).pytest()
