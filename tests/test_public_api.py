"""The names that `import hushfade` gives."""

import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import hushfade


def packages():
    """hushfade and all packages in it."""
    found = pkgutil.walk_packages(hushfade.__path__, "hushfade.")
    return [hushfade, *(import_module(module.name) for module in found if module.ispkg)]


def test_every_public_name_is_there():
    for name in hushfade.__all__:
        assert getattr(hushfade, name) is not None, name
    assert dir(hushfade) == sorted(hushfade.__all__)


def test_no_function_shares_its_name_with_a_module():
    """Importing the module would put it in the function's place: `hf.plan` must stay callable."""
    for package in packages():
        for module in pkgutil.iter_modules(package.__path__):
            other = getattr(package, module.name, None)
            assert other is None or isinstance(other, ModuleType), (
                f"{package.__name__}.{module.name}"
            )


def documented():
    """The names of docs/reference/api.md, from the package on."""
    text = (Path(__file__).parents[1] / "docs" / "reference" / "api.md").read_text()
    return re.findall(r"^   ([A-Za-z_][A-Za-z0-9_.]*)$", text, re.MULTILINE)


def test_every_documented_name_needs_no_import_of_its_own():
    """In another process, where nothing else has imported a module."""
    names = documented()
    assert {"plan", "frames.release", "theory.gamma2"} <= set(names)
    script = (
        "import sys, operator, hushfade as hf; [operator.attrgetter(n)(hf) for n in sys.argv[1:]]"
    )
    subprocess.run([sys.executable, "-c", script, *names], check=True)


def test_importing_the_package_loads_no_optional_library_and_no_reader():
    script = (
        "import sys, hushfade; "
        "print(*{'pandas', 'polars', 'pyspark', 'pyarrow', 'matplotlib', 'apsw', 'starlette'}"
        " & set(sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == ""


def test_an_unknown_name_is_an_attribute_error():
    name = "no_such_name"
    for package in (hushfade, hushfade.theory, hushfade.privacy):
        with pytest.raises(AttributeError, match=name):
            getattr(package, name)
