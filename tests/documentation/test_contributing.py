"""README.md and CONTRIBUTING.md: what they say about the source is true of the source."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hushfade"
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATH = re.compile(r"\b(?:src|tests|docs|lab|examples)/[\w./-]*\w/?")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def rows(text, title):
    """The cells of the first table after a heading, without the table's head."""
    section = text.split(f"## {title}", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def code(cell):
    return re.findall(r"`([^`]+)`", cell)


def definitions(path):
    """The functions, classes and methods of a file."""
    kinds = ast.FunctionDef | ast.ClassDef
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def blocks(text, language):
    return [content for kind, content in BLOCK.findall(text) if kind == language]


def test_every_path_that_is_named_exists():
    for name, text in [("README.md", README), ("CONTRIBUTING.md", CONTRIBUTING)]:
        named = {path for path in PATH.findall(text) if not path.startswith("docs/_build")}
        assert len(named) > 10, name
        assert [path for path in named if not (ROOT / path).exists()] == [], name


def test_the_source_tree_of_the_readme_is_there():
    (tree,) = [block for block in blocks(README, "text") if block.startswith("src/hushfade/")]
    named = [
        part for line in tree.splitlines()[1:] for part in re.findall(r"[\w.]+(?:/|\.py)", line)
    ]
    assert len(named) > 20
    assert [name for name in named if not (SOURCE / name).exists()] == []


def test_what_the_readme_locates_is_where_it_says():
    located = rows(README, "How the code is organised")
    assert len(located) > 5
    for question, file, names in located:
        path = SOURCE / code(file)[0]
        assert f"]({path.relative_to(ROOT)})" in file, question
        parts = {part for name in code(names) for part in name.split(".")}
        assert parts <= definitions(path), question


def test_the_layers_are_those_that_the_linter_checks():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = [
        contract["layers"]
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract.get("containers") == ["hushfade"]
    ]
    checked = [sorted(re.findall(r"\w+", layer)) for layer in layers]
    assert [sorted(code(layer)) for layer, _ in rows(CONTRIBUTING, "Layers")] == checked


def test_what_a_contributor_must_find_is_there():
    table = rows(CONTRIBUTING, "Where to add …")
    assert len(table) > 5
    for what, file, protocol, tests, pages in table:
        assert (SOURCE / code(file)[0]).exists(), what
        if code(protocol):
            name, place = code(protocol)
            assert name in definitions(SOURCE / place), what
        *names, place = code(tests)
        assert (ROOT / "tests" / place).exists(), what
        for name in names:
            text = (ROOT / "tests" / place).read_text(encoding="utf-8")
            assert re.search(rf"^(def )?{name}\b", text, re.MULTILINE), what
        assert (ROOT / "docs" / code(pages)[0]).is_file(), what


@pytest.mark.slow
def test_the_worked_example_can_be_followed(tmp_path):
    """In a copy of the source; the tests of all decays then run over the new one too."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("src", "tests", "conftest.py", "pyproject.toml"):
        copy = shutil.copy if (ROOT / name).is_file() else shutil.copytree
        how = {} if copy is shutil.copy else {"ignore": ignored}
        copy(ROOT / name, tmp_path / name, **how)
    (example,) = [block for block in blocks(CONTRIBUTING, "python") if "class Linear" in block]
    decays = tmp_path / "src/hushfade/decays.py"
    before, after = decays.read_text(encoding="utf-8").split("AnyDecay: TypeAlias")
    decays.write_text(f"{before}{example}\n\nAnyDecay: TypeAlias{after}", encoding="utf-8")
    for change in blocks(CONTRIBUTING, "diff"):
        command = ["git", "apply", "-C1", "-"]
        subprocess.run(command, cwd=tmp_path, input=change.encode(), check=True)
    script = (
        "import hushfade as hf\n"
        "decay = hf.decays.Linear(length=4)\n"
        "plan = hf.plan(decay, hf.Guarantee(epsilon=1, delta=1e-6))\n"
        "assert hf.Plan.from_json(plan.to_json()).decay == decay\n"
        "stream = plan.start(hf.UnsafeSeededNoise(1))\n"
        "true = decay.weights(3)[::-1].cumsum()[-1:]\n"
        "assert abs(stream.run([1, 1, 1])[-1] - true) < 6 * plan.stddev(3)\n"
        "from tests.decays import ALL_DECAYS\n"
        "assert hf.decays.Linear(length=7) in ALL_DECAYS\n"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    for command in (["-c", script], ["-m", "pytest", "-q", "-x", "tests/test_decays.py"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
