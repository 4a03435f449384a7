"""docs/explanation/security.md: every line has its evidence, and what it names is there."""

import hmac
import re
import tomllib
from pathlib import Path

import pytest

from hushfade.store import tokens

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HERE = DOCS / "explanation"
PAGE = (HERE / "security.md").read_text(encoding="utf-8")
TEST = re.compile(r"`(test_\w+)`")
LINK = re.compile(r"\]\(([^)]+)\)")


def slug(heading):
    """The anchor of a heading, as the documentation makes it.

    `kill -9 of a store` has a space before its hyphen, and so two hyphens.
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(text):
    headings = re.findall(r"^#{1,3} (.+)$", text, re.MULTILINE)
    return {slug(heading) for heading in headings} | set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))


def dead(text):
    """The links that lead nowhere, seen from the page."""
    found = []
    for link in LINK.findall(text):
        name, _, anchor = link.partition("#")
        page = HERE / name
        if not page.is_file() or (
            anchor and anchor not in anchors(page.read_text(encoding="utf-8"))
        ):
            found.append(link)
    return found


def names_of_tests():
    folders = (ROOT / "tests", ROOT / "lab" / "tests")
    files = [file for folder in folders for file in folder.rglob("test_*.py")]
    texts = [file.read_text(encoding="utf-8") for file in files]
    return {
        name for text in texts for name in re.findall(r"^(?:async )?def (test_\w+)", text, re.M)
    }


def rows(title):
    """The cells of all tables below headings that begin so, without the tables' heads."""
    found = []
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        if section.startswith(title):
            lines = [line for line in section.splitlines() if line.startswith("|")]
            found += [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]
    return found


def test_every_test_that_the_page_names_is_there():
    named = set(TEST.findall(PAGE))
    assert len(named) > 100
    assert named - names_of_tests() == set()


def test_every_link_of_the_page_leads_somewhere():
    assert dead(PAGE) == []


@pytest.mark.parametrize(
    "link", ["nowhere.md", "../how-to/store.md#nowhere", "../results/soak.md#kill-9"]
)
def test_a_link_that_leads_nowhere_is_noticed(link):
    assert dead(f"see [this]({link})") == [link]


def test_every_claim_has_its_evidence():
    claims = rows("What holds")
    assert len(claims) > 40
    for claim, evidence in claims:
        assert TEST.search(evidence) or "results/" in evidence, claim


def test_every_limit_is_said_where_users_read_of_it():
    limits = rows("What is not protected")
    assert len(limits) > 20
    for limit, _, said in limits:
        assert LINK.search(said), limit


def test_every_figure_is_on_a_page_of_results_and_none_is_pasted():
    figures = rows("What was measured")
    assert len(figures) > 10
    for figure, goal, where in figures:
        assert LINK.findall(where)[0].startswith("../results/"), figure
        assert not re.search(r"\d", (figure + goal).replace("kill -9", "")), figure


def test_the_import_contracts_that_the_page_quotes_are_in_force():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = {contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]}
    quoted = {" ".join(words.split()) for words in re.findall(r'"([^"]+)"', PAGE)}
    assert len(quoted) == 2
    assert quoted <= names


# Lines that have no other test -----------------------------------------------------------------


def test_every_token_is_compared_in_constant_time(monkeypatch):
    """Also those after the one that fits: how long it takes tells neither whether nor which."""
    kept = [tokens.Token(str(n), ("read",), tokens.digest(f"hushfade_{n}")) for n in range(5)]
    compared = []

    def noted(one, other):
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(tokens, "hmac", type("Hmac", (), {"compare_digest": staticmethod(noted)}))
    for text, name in [("hushfade_0", "0"), ("hushfade_4", "4"), ("no token", None)]:
        compared.clear()
        found = tokens.bearer(kept, text)
        assert (found and found.name) == name
        assert [one for one, _ in compared] == [token.digest for token in kept]
