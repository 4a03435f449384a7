"""docs/results/joint-plans.md has the text that its script writes."""

from lab.paths import RESULTS
from lab.tables import joint_plans


def test_the_page_has_the_text_of_its_script():
    """If this fails, run `make tables`."""
    page = (RESULTS / "joint-plans.md").read_text(encoding="utf-8")
    for line in joint_plans.PAGE.splitlines():
        if "{" not in line:
            assert line in page
