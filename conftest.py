"""Every example in the docstrings, the README and the docs is executed by the tests."""

import os
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

# Two test processes on two cores: BLAS threads of both would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_collect_file = (
    Sybil(
        parsers=[DocTestParser(optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)],
        patterns=["src/hushfade/*.py", "src/hushfade/**/*.py"],
    )
    + Sybil(
        parsers=[
            PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE),
            SkipParser(),
        ],
        patterns=["README.md", "docs/*.md", "docs/**/*.md"],
        excludes=["docs/_build/**"],
    )
).pytest()
