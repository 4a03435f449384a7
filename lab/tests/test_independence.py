"""tests/ does not import lab/, not even in ways that import contracts cannot see."""

import re

from lab.paths import ROOT


def test_no_text_in_tests_names_a_module_of_the_lab():
    """Such as an argument of `import_module` or of `python -m`."""
    files = [*(ROOT / "tests").glob("*.py"), *(ROOT / "tests").glob("[!.]*/**/*.py")]
    assert len(files) > 50
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"""["' ]lab\.[a-z_]+[\w.]*["']""", text), file
