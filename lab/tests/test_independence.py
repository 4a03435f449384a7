"""lab/ and tests/ do not import each other, not even in ways that import contracts cannot see."""

import re

from lab.paths import ROOT


def test_no_text_names_a_module_of_the_other_tree():
    """Such as an argument of `import_module` or of `python -m`."""
    for folder, other in (("tests", "lab"), ("lab", "tests")):
        files = [*(ROOT / folder).glob("*.py"), *(ROOT / folder).glob("[!.]*/**/*.py")]
        assert len(files) > 50
        for file in files:
            text = file.read_text(encoding="utf-8")
            assert not re.search(rf"""["' ]{other}\.[a-z_]+[\w.]*["']""", text), file
