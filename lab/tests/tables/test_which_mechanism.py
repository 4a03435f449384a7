"""docs/explanation/which-mechanism.md has the text that its script writes."""

from lab.paths import DOCS
from lab.tables import which_mechanism


def test_the_page_has_the_text_of_its_script():
    """If this fails, run `make tables`."""
    page = (DOCS / "explanation" / "which-mechanism.md").read_text(encoding="utf-8")
    for line in which_mechanism.FOREWORD.splitlines():
        if "{" not in line:
            assert line in page
