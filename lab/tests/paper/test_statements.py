"""The pages about the paper: nothing is left out, and what they name is there."""

import ast
import csv
import importlib
import re
from functools import cache

from lab.paths import ROOT
from tests.loops import for_each

PAPER = ROOT / "docs" / "paper"
PAGES = sorted(path for path in PAPER.glob("*.md") if path.stem not in {"index", "errata"})
CODE = re.compile(r"`((?:hushfade|lab)(?:\.\w+)+)`")
LINK = re.compile(r"\[([^]]+)\]\(([\w-]+\.md)\)")
TEST = re.compile(r"`((?:lab/)?tests/[\w/]+\.py::\w+)`")

NUMBERED = [
    "Definition 1", "Theorem 2", "Theorem 3", "Theorem 4", "Theorem 5", "Theorem 6", "Theorem 7",
    "Theorem 8", "Theorem 9", "Definition 10", "Theorem 11", "Remark 12", "Theorem 13", "Claim 14",
    "Theorem 15", "Lemma 16", "Definition 17", "Theorem 18", "Theorem 19", "Theorem 20",
    "Theorem 21", "Claim 22", "Claim 23", "Lemma 24", "Claim 25", "Lemma 26", "Theorem 27",
    "Algorithm 1", "Figure 1", "Figure 2", *(f"Equation ({n})" for n in range(1, 19)),
]  # fmt: skip
# Equations that are the statement, or the part of it that has errata
INHERITS = {
    "Equation (9)": "Section 1.2 (B.1)",
    "Equation (10)": "Theorem 9",
    "Equation (12)": "Theorem 15",
    "Equation (14)": "Lemma 16",
    "Equation (17)": "Theorem 21",
}
HEADS = ("## What it says", "## In the code", "## Checked", "## Errat")


def rows(page):
    """The cells of every table row of a page, without heads."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in found if row[0].strip() != "statement"]


def resolves(name):
    """Is there such a module, function, class, or attribute of one?"""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part) and part not in getattr(found, "__annotations__", {}):
                return False
            found = getattr(found, part, None)
        return True
    return False


@cache
def functions(path):
    """The test functions of a file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def exists(test):
    path, name = test.split("::")
    return name in functions(path)


def test_every_numbered_statement_is_in_the_table():
    listed = [LINK.fullmatch(row[0])[1] for row in rows(PAPER / "index.md")]
    assert [name for name in NUMBERED if name not in listed] == []
    assert len(listed) == len(set(listed))


def test_the_table_has_no_empty_cell():
    for row in rows(PAPER / "index.md"):
        assert len(row) == 5, row[0]
        assert all(row), row[0]
        statement, _, verdict, code, tests = row
        assert CODE.search(code), row[0]
        assert TEST.search(tests), row[0]
        assert verdict in {"holds", "weak", "corrected", "not seen"}, row[0]
        assert (PAPER / LINK.fullmatch(statement)[2]).is_file(), row[0]


@for_each("page", sorted(PAPER.glob("*.md")))
def test_what_a_page_names_is_there(page):
    text = page.read_text(encoding="utf-8")
    assert [name for name in CODE.findall(text) if not resolves(name)] == []
    assert [test for test in TEST.findall(text) if not exists(test)] == []


@for_each("page", PAGES)
def test_a_page_has_its_parts(page):
    text = page.read_text(encoding="utf-8")
    places = [text.find(head) for head in HEADS]
    assert -1 < places[0] < places[1] < places[2] < places[3]
    assert CODE.search(text[places[1] : places[2]])
    checked, errata = text[places[2] : places[3]], text[places[3] :]
    assert TEST.search(checked)
    assert "```python" in checked
    if "None found." not in errata:
        assert "```python" in errata
        assert "lab/tests/errata/" in errata


@for_each("page", PAGES)
def test_a_page_is_in_the_table(page):
    assert f"({page.name})" in (PAPER / "index.md").read_text(encoding="utf-8")


def test_every_executed_erratum_is_listed():
    listed = set(TEST.findall((PAPER / "errata.md").read_text(encoding="utf-8")))
    for file in sorted((ROOT / "tests" / "errata").glob("test_*.py")):
        path = file.relative_to(ROOT).as_posix()
        missing = {f"{path}::{name}" for name in functions(path) if name.startswith("test_")}
        assert missing - listed == set()


def test_the_list_of_errata_has_no_empty_cell():
    for row in rows(PAPER / "errata.md"):
        assert len(row) == 4, row
        assert all(row), row
        assert (PAPER / LINK.fullmatch(row[0])[2]).is_file(), row
        assert row[2] in {"false", "weak"}, row
        assert TEST.search(row[3]), row


def verdict(kinds):
    """What the errata of a statement, (in its proof alone?, kind) each, make of it."""
    if (False, "false") in kinds:
        return "corrected"
    return "weak" if kinds else "holds"


def test_the_verdicts_are_those_of_the_errata():
    index = {LINK.fullmatch(row[0])[1]: row for row in rows(PAPER / "index.md")}
    found = {name: set() for name in index}
    for row in rows(PAPER / "errata.md"):
        name, page = LINK.fullmatch(row[0]).groups()
        statement = name.removesuffix(", proof")
        assert page == LINK.fullmatch(index[statement][0])[2], name
        found[statement].add((statement != name, row[2]))
    for name, row in index.items():
        expected = verdict(found[INHERITS.get(name, name)])
        assert row[2] == ("not seen" if name.startswith("Figure") else expected), name


def test_an_error_in_a_proof_alone_does_not_correct_the_statement():
    assert verdict({(True, "false")}) == verdict({(False, "weak")}) == "weak"
    assert verdict({(True, "false"), (False, "false")}) == "corrected"
    assert verdict(set()) == "holds"


def test_what_has_disappeared_is_noticed():
    assert resolves("lab.paper.theory.bounds.root")
    assert not resolves("lab.paper.theory.bounds.no_such_bound")
    assert not resolves("hushfade.no_such_room")
    assert exists("lab/tests/paper/test_statements.py::test_what_has_disappeared_is_noticed")
    assert not exists("lab/tests/paper/test_statements.py::test_that_nobody_wrote")
    assert not exists("lab/tests/paper/no_such_file.py::test_what_has_disappeared_is_noticed")


def test_what_the_report_finds_false_is_corrected_in_the_table():
    """Where both name the same statement; the report has sections for what the table has apart."""
    verdicts = {LINK.fullmatch(row[0])[1]: row[2] for row in rows(PAPER / "index.md")}
    with (PAPER / "report" / "data" / "claims.csv").open(encoding="utf-8", newline="") as file:
        claims = list(csv.DictReader(file))
    false = {claim["where"] for claim in claims if claim["verdict"] == "false"}
    shared = false & set(verdicts)
    assert len(shared) >= 6
    assert {name for name in shared if verdicts[name] != "corrected"} == set()
