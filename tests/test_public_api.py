"""The names that `import hushfade` gives."""

import pkgutil
import subprocess
import sys
from importlib import import_module
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


def test_every_module_of_a_public_package_needs_no_import_of_its_own():
    script = "import hushfade as hf; hf.theory.bounds; hf.theory.bell_polynomials; hf.plots.series"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_unknown_name_is_an_attribute_error():
    name = "no_such_name"
    for package in (hushfade, hushfade.theory):
        with pytest.raises(AttributeError, match=name):
            getattr(package, name)
