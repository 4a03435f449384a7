"""A lint check for words and phrases that make the project's prose hard to read.

    python -m lab.discouraged_words             everything
    python -m lab.discouraged_words docs/reference/cli.md src/hushfade/cli

The check reads Markdown outside of code, and docstrings, comments and string literals in Python,
JavaScript, HTML and shell files.  It prints one line per discouraged phrase, with a remedy, and
exits with 1 if it prints any.  EXCEPTIONS lists the phrases that are fine.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lab.paths import ROOT

# a pattern, and what to write instead
DISCOURAGED = {
    r"told|tells?": "'states', 'reports' or 'shows'",
    r"so many": "repeat the noun, or give the number",
    r"such": "repeat the noun",
    r"(?:that|those) of": "repeat the noun",
    r"(?:goes|go|went) by": "'depends on' or 'follows'",
    r"beside": "'next to', 'and' or 'compared with'",
    r"anew": "'again'",
    r"lets? go": "'releases' or 'drops'",
    r"somebody holds": "'suppose an attacker'",
    r"(?:once|twice|times|bytes|[nµm]?s|seconds|rows|records|draws|events|values|numbers|digests?)"
    r" an? (?:step|key|row|entry|draw|lane|person|record)":
        "'per step', 'per key'",
    r"an? (?:step|key|lane) and (?:step|key|lane)": "'per step and key'",
}  # fmt: skip

# phrases that are allowed
EXCEPTIONS = (
    r"such (?:as|that)",  # 'a number such as 3', 'a number c such that c > 0'
    r"no such file",  # what operating systems report
)


def _pattern(*phrases: str) -> re.Pattern[str]:
    """Any of the phrases as whole words, each with a group; a space may be several."""
    groups = (f"(?P<p{n}>{phrase.replace(' ', ' +')})" for n, phrase in enumerate(phrases))
    return re.compile(rf"\b(?:{'|'.join(groups)})\b", re.IGNORECASE)


_PHRASES, _ALLOWED = _pattern(*DISCOURAGED), _pattern(*EXCEPTIONS)
_REMEDIES = list(DISCOURAGED.values())
_ENDINGS = (".md", ".py", ".js", ".html", ".sh", ".toml")
_LEFT_OUT = ("tests/", "lab/tests/", "vendor/", "lab/discouraged_words.py")
_QUOTED = re.compile(r"""`[^`\n]*`|"[^"\n]*\.(?:py|md|csv|json)\"""")
_LINE_BREAK = re.compile(r"\n[ #*>]*")  # phrases may continue on the next line
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_SCRIPT_PROSE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|<!--.*?-->|>[^<>{}]*<|`[^`]*`|"[^"\n]*"|'[^'\n]*'""", re.DOTALL
)


class Finding(NamedTuple):
    """A discouraged phrase."""

    line: int
    phrase: str
    remedy: str


def findings(text: str, ending: str) -> list[Finding]:
    """The discouraged phrases in the prose of a file with this ending.

    >>> findings("It told `told` us.", ".md")
    [Finding(line=1, phrase='told', remedy="'states', 'reports' or 'shows'")]
    >>> findings('told = 1  # told by a user', ".py")
    [Finding(line=1, phrase='told', remedy="'states', 'reports' or 'shows'")]
    """
    found = []
    for first, prose in _prose(text, ending):
        quiet = _QUOTED.sub(_blank, prose)
        quiet = _ALLOWED.sub(_blank, _LINE_BREAK.sub(lambda gap: " " * len(gap[0]), quiet))
        for match in _PHRASES.finditer(quiet):
            line = first + prose.count("\n", 0, match.start())
            remedy = _REMEDIES[int((match.lastgroup or "p0")[1:])]
            found.append(Finding(line, " ".join(match[0].split()), remedy))
    return found


def _blank(text: re.Match[str]) -> str:
    """White space of the same shape: what is left keeps its place."""
    return re.sub(r"[^\n]", " ", text[0])


def _prose(text: str, ending: str) -> Iterator[tuple[int, str]]:
    """The parts of a file that people read, each with the number of its first line."""
    if ending == ".md":
        yield 1, _FENCE.sub(_blank, text)
    elif ending == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = tokenize.tok_name[token.type]
            if name in ("STRING", "COMMENT", "FSTRING_MIDDLE"):
                yield token.start[0], _without_doctests(token.string)
    elif ending in (".js", ".html"):
        for match in _SCRIPT_PROSE.finditer(text):
            yield 1 + text.count("\n", 0, match.start()), match[0]
    else:
        for number, line in enumerate(text.splitlines(), start=1):
            if "#" in line:
                yield number, line[line.index("#") :]


def _without_doctests(text: str) -> str:
    """The text with blanks in place of lines of code: `>>>` and `...`."""
    return re.sub(r"(?m)^ *(?:>>>|\.\.\.) .*$", _blank, text)


def files(names: list[str]) -> list[Path]:
    """The files that git tracks below the named paths, or all of them."""
    run = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *names]
    tracked = subprocess.run(run, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [
        ROOT / name
        for name in tracked.splitlines()
        if name.endswith(_ENDINGS)
        and not any(part in name for part in _LEFT_OUT)
        and (ROOT / name).is_file()
    ]


def main() -> int:
    """Print each discouraged phrase; 1 if there is any."""
    total = 0
    for file in files(sys.argv[1:]):
        for finding in findings(file.read_text(encoding="utf-8"), file.suffix):
            name = file.relative_to(ROOT)
            print(f"{name}:{finding.line}: '{finding.phrase}': write {finding.remedy}")
            total += 1
    print(f"{total} discouraged phrases" if total else "No discouraged phrases.")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
