"""The page's files: nothing from elsewhere, nothing that could run what an answer says."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from importlib.resources.abc import Traversable

import pytest

PAGE = files("hushfade") / "serve" / "page"

# of the npm package uplot 1.6.32
VENDORED = {
    "uPlot.esm.js": "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}

OWN = sorted(file.name for file in PAGE.iterdir() if file.is_file())
SCRIPTS = [name for name in OWN if name.endswith(".js")]


def content(name: str) -> str:
    file: Traversable = PAGE.joinpath(*name.split("/"))
    return file.read_text(encoding="utf-8")


def test_there_are_files_to_look_at() -> None:
    assert {"index.html", "style.css", "main.js", "api.js", "chart.js"} <= set(OWN)


@pytest.mark.parametrize("name", OWN)
def test_no_file_names_an_address_elsewhere(name: str) -> None:
    # The name of SVG's vocabulary looks like an address and is never fetched.
    text = content(name).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"(https?:|wss?:)?//[a-z0-9-]+\.[a-z]", text, re.IGNORECASE)


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_turns_text_into_markup_or_code(name: str) -> None:
    unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|setHTML"
    assert not re.search(unsafe + r"|\beval\b|new Function|createContextualFragment", content(name))


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_token_is_kept_for_the_tab_only(name: str) -> None:
    assert not re.search(r"localStorage|document\.cookie|indexedDB", content(name))
    if name != "api.js":
        assert "sessionStorage" not in content(name)


def test_the_markup_has_no_inline_script_or_style() -> None:
    text = content("index.html")
    assert re.findall(r"<script[^>]*>([^<]*)</script>", text) == [""]
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_import_is_a_file_of_the_page(name: str) -> None:
    for target in re.findall(r'from "([^"]+)"', content(name)):
        assert target.startswith("./")
        assert PAGE.joinpath(*target[2:].split("/")).is_file()


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_short(name: str) -> None:
    lines = content(name).splitlines()
    assert len(lines) < 300
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("name", VENDORED)
def test_what_is_vendored_is_unchanged(name: str) -> None:
    found = hashlib.sha256((PAGE / "vendor" / name).read_bytes()).hexdigest()
    assert found == VENDORED[name]
    assert {file.name for file in (PAGE / "vendor").iterdir()} == set(VENDORED)


def contrast(one: str, other: str) -> float:
    """WCAG 2's contrast of two colours, from their definition."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        bent = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * bent[0] + 0.7152 * bent[1] + 0.0722 * bent[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_contrast(scheme: str) -> None:
    # Chromium computes variables at run time; here the two palettes are read from the file.
    blocks = re.findall(r":root \{(.*?)\}", content("style.css"), re.DOTALL)
    look = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", blocks[0]))
    if scheme == "dark":
        look |= dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", blocks[1]))
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    texts = [("ink", ground) for ground in ("paper", "ground", "sunk", "alarm-wash", "raised")]
    texts += [("soft", "paper"), ("soft", "ground"), ("soft", "sunk"), ("accent", "paper")]
    texts += [("accent-ink", "accent"), ("alarm", "paper"), ("ink", "accent-wash")]
    for text, ground in texts:
        assert contrast(look[text], look[ground]) >= 4.5, (text, ground)
    for line in (*(f"line-{rank}" for rank in range(6)), "field", "accent"):
        assert contrast(look[line], look["paper"]) >= 3, line
