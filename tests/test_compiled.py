from pathlib import Path

import hushfade
from hushfade import compiled
from hushfade.convolve import stepped
from hushfade.crossing import sampling, step

HOME = Path(hushfade.__file__).parent


def test_kept_code_is_known_by_all_the_files_it_is_made_of():
    makers = {
        source
        for source in HOME.rglob("*.py")
        if "hushfade.compiled import" in source.read_text(encoding="utf-8")
    }
    assert makers <= set(compiled._SOURCES)
    for loop in (step.advance_block, sampling.decode, stepped.product_block):
        assert compiled.DIGEST in loop.py_func.__qualname__


def test_code_kept_for_other_files_is_removed(tmp_path, monkeypatch):
    kept = tmp_path / "__pycache__"
    kept.mkdir()
    names = ["a.loop-0123456789abcdef-1.py311.nbi", f"a.loop-{compiled.DIGEST}-1.py311.nbi"]
    for name in names:
        (kept / name).touch()
    monkeypatch.setattr(compiled, "_HOME", tmp_path)
    compiled._forget()
    assert [path.name for path in kept.iterdir()] == names[1:]
