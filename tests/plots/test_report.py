import subprocess
import sys

from hushfade import plots

ALONE = """
import sys
from hushfade.plots import chart, errors, sparkline
assert "matplotlib" not in sys.modules, "the room loads matplotlib"
assert "rich" not in sys.modules, "the room loads rich"
sparkline([1, 2, 3], 3)
str(chart([1, 2, 3], width=40, plain=True))
assert "matplotlib" not in sys.modules, "a chart loads matplotlib"
from hushfade import Guarantee
from hushfade.plots import privacy
privacy(Guarantee(1, 1e-6))
assert "matplotlib.pyplot" not in sys.modules, "a picture loads pyplot"
"""


def test_every_name_is_a_function_and_not_its_module():
    assert all(callable(getattr(plots, name)) for name in plots.__all__)


def test_libraries_are_loaded_when_the_first_picture_is_drawn():
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
