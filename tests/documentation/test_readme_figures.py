"""The figures of the README are those of the pages that scripts write."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MECHANISMS = (ROOT / "docs/explanation/which-mechanism.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "docs/results/benchmarks.md").read_text(encoding="utf-8")
SECTIONS = {
    "half-life 24": "Exponential, half-life 24",
    "window of 24": "Sliding window of 24",
    "power law 1": "Power law, power 1",
    "counting": "Counting",
}
SCALES = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3}


def rows(text, head):
    """The cells of the table whose head begins so."""
    lines = text[text.index(f"| {head} |") :].split("\n\n", 1)[0].splitlines()
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines[2:]]


def errors(section, method):
    """The largest errors of the mechanisms of that name, with and without delta."""
    text = MECHANISMS.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    cells = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    return [
        row[2].strip()
        for row in cells
        if row[0].strip(" *") == method or row[0].strip(" *").startswith(f"{method}, ")
    ]


def smallest(found):
    return min(found, key=float)


def test_the_errors_are_those_of_the_comparison():
    table = rows(README, "decay")
    assert [row[0] for row in table] == list(SECTIONS)
    for decay, ours, optimum, root, tree, split in table:
        section = SECTIONS[decay]
        assert ours == smallest(errors(section, "hushfade")), decay
        assert [optimum] == errors(section, "optimum, largest error"), decay
        assert root == errors(section, "square root")[0], decay
        assert tree == errors(section, "Honaker online")[0], decay
        assert split == smallest(errors(section, "one-shot releases")), decay


def seconds(text):
    number, unit = text.split()
    return float(number) * SCALES[unit]


def test_the_speeds_are_those_of_the_benchmarks():
    for job, ours, other, factor in rows(README, "job"):
        peer, time = other.rsplit(": ", 1)
        assert ours in BENCHMARKS, job
        assert time in BENCHMARKS, job
        number, word = re.fullmatch(r"([\d.]+)× (faster|slower)", factor).groups()
        ratio = seconds(time) / seconds(ours)
        ratio = ratio if word == "faster" else 1 / ratio
        # the page divides the best times of rounds, which differ a little from the times it prints
        assert 0.85 < float(number) / ratio < 1.15, (job, peer)
