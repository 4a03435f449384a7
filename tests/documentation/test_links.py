"""README, CONTRIBUTING, CHANGELOG and docs: no dead link, and no image without a description."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = (DOCS / "_build", DOCS / "reference" / "names")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(
        page
        for page in DOCS.rglob("*.md")
        if not any(page.is_relative_to(place) for place in GENERATED)
    ),
]
FENCE = re.compile(r"^(`{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
OUTSIDE = re.compile(r"[a-z]+:")


def prose(text):
    """The text without its code, in which brackets mean other things."""
    return CODE.sub("code", FENCE.sub("", text))


def slug(heading):
    """The anchor of a heading, as GitHub and MyST make it."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip())
    return re.sub(r"[^\w\- ]", "", words.replace("`", "").lower()).replace(" ", "-")


@cache
def anchors(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)
    return {slug(heading) for heading in headings} | set(
        re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    )


def dead(text, page):
    """The links and images of a page's text that lead nowhere."""
    found = []
    text = prose(text)
    for link in LINK.findall(text) + [path for _, path in IMAGE.findall(text)]:
        if OUTSIDE.match(link):
            continue
        name, _, anchor = unquote(link).partition("#")
        target = (page.parent / name).resolve() if name else page
        known = target.suffix != ".md" or not anchor or anchor in anchors(target)
        if not target.exists() or not known:
            found.append(link)
    return found


def wordless(text):
    """The images without a description of at least four words."""
    return [path for words, path in IMAGE.findall(prose(text)) if len(words.split()) < 4]


def test_every_link_and_every_anchor_is_there():
    assert len(PAGES) > 100
    found = {
        str(page.relative_to(ROOT)): links
        for page in PAGES
        if (links := dead(page.read_text(encoding="utf-8"), page))
    }
    assert found == {}


def test_every_image_has_alternative_text():
    for page in PAGES:
        assert wordless(page.read_text(encoding="utf-8")) == [], page.relative_to(ROOT)


@pytest.mark.parametrize(
    "link", ["nowhere.md", "docs/how-to/store.md#nowhere", "#nowhere", "docs/images/nowhere.png"]
)
def test_a_dead_link_is_noticed(link):
    assert dead(f"see [this]({link})", ROOT / "README.md") == [link]
    assert dead("see [this](docs/how-to/store.md#one-writer)", ROOT / "README.md") == []


def test_an_image_without_words_is_noticed():
    assert wordless("![](a.png) ![a figure](b.png) ![errors of three plans over time](c.png)") == [
        "a.png",
        "b.png",
    ]


def test_the_site_has_at_most_nine_entries_and_newcomers_meet_the_tutorials_first():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    (entries,) = re.findall(r"```\{toctree\}\n:hidden:\n\n(.*?)```", index, re.DOTALL)
    assert 2 < len(entries.split()) <= 9
    assert entries.split()[:2] == ["tutorials/index", "how-to/index"]


def test_every_tutorial_ends_with_a_figure():
    for page in (DOCS / "tutorials").glob("*.md"):
        images = IMAGE.findall(page.read_text(encoding="utf-8"))
        assert page.stem == "index" or images, page.name
