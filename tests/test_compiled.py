import shutil
from pathlib import Path

import pytest

import hushfade
from hushfade import compiled
from hushfade.crossing import sampling, step

HOME = Path(hushfade.__file__).parent


def test_cached_code_is_named_by_its_sources():
    for loop in (step.advance_block, sampling.decode):
        digest = compiled.sources_digest(loop.py_func.__module__)
        assert loop.py_func.__qualname__.endswith(digest)


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The package's sources elsewhere, where a test may change them."""
    home = shutil.copytree(HOME, tmp_path / "hushfade", ignore=shutil.ignore_patterns("*.nb*"))
    monkeypatch.setattr(compiled, "_PACKAGE", home)
    compiled.sources_digest.cache_clear()
    yield home
    compiled.sources_digest.cache_clear()


def test_the_digest_changes_with_every_module_that_a_loop_imports(copy):
    before = compiled.sources_digest("hushfade.crossing.step")
    for changed, same in (("public/recursion.py", False), ("cli/run.py", True)):
        source = copy / changed
        text = source.read_text(encoding="utf-8")
        source.write_text(text + "# changed\n", encoding="utf-8")
        compiled.sources_digest.cache_clear()
        assert (compiled.sources_digest("hushfade.crossing.step") == before) is same, changed
        source.write_text(text, encoding="utf-8")


def test_code_cached_for_other_sources_is_removed(tmp_path):
    cache = tmp_path / "__pycache__"
    cache.mkdir()
    digest = compiled.sources_digest("hushfade.crossing.step")
    names = [f"a.loop-{other}-1.py311.nbi" for other in ("0123456789abcdef", digest)]
    for name in names:
        (cache / name).touch()
    scope = {"__name__": "hushfade.crossing.step"}
    exec(compile("def loop(): pass", tmp_path / "a.py", "exec"), scope)
    compiled._named(scope["loop"])
    assert [path.name for path in cache.iterdir()] == names[1:]
