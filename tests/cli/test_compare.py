import json
from io import StringIO

import pytest
from rich.console import Console

import hushfade as hf
from hushfade.cli.compare import _table
from tests.cli.command import ONE, document, run

LINE = f"compare --half-life 6h --every 1h --horizon 1d --low -1 --high 2 {ONE}"


@pytest.fixture(scope="module")
def compared():
    guarantee = hf.Guarantee(epsilon=1, delta=1e-6)
    return hf.compare(hf.Exponential(half_life=6), guarantee, 24, low=-1, high=2)


def test_the_document_is_the_library_s(compared):
    assert document(LINE) == json.loads(compared.to_json())


def test_the_table_has_every_row_best_first(compared):
    shown = run(LINE).stdout
    lines = [line.strip() for line in shown.split("\n")]
    for row in compared.rows:
        assert f"{row.max_error:.4g}" in shown
    starts = [
        next(number for number, line in enumerate(lines) if line.startswith(name + " "))
        for name in ("hushfade,", "optimum, largest error", "output noise")  # long names wrap
    ]
    assert starts == sorted(starts)
    assert f"{compared.least:.4g}" in shown


def test_a_narrow_table_wraps_names_and_cuts_no_number(compared):
    for wide, width in ((False, 60), (True, 110)):
        page = Console(width=width, file=StringIO())
        page.print(_table(compared, wide=wide))
        assert "…" not in page.file.getvalue(), width


def test_records_per_step_scale_all_errors(compared):
    found = document(LINE + " --records-per-step 3")
    least = {row["method"]: row["max_error"] for row in found["rows"]}
    for row in compared.rows:
        # slopes of Huber noise have 13 bits, so they scale to 2^-12 only
        huber = "Huber" in row.method
        assert least[row.method] == pytest.approx(3 * row.max_error, rel=5e-4 if huber else 1e-6)


def test_several_participations_compare_hushfade_s_own_mechanisms():
    shown = run(f"compare --window 7 --horizon 50 --person-steps 3 --apart 2 {ONE}").stdout
    assert "are left out" in shown
    assert "hushfade, Laplace noise on the inputs" in shown
    assert "binary tree" not in shown


def test_method_and_law_choose_the_first_row():
    line = f"compare --window 7 --horizon 50 {ONE}"
    best = document(line)["rows"]
    paper = document(line + " --method square_root")["rows"]
    assert best[0]["method"] == "hushfade, Laplace noise on the inputs"
    assert paper[0]["method"] == "hushfade, Gaussian noise on the square root (the paper)"
    assert sorted(row["method"] for row in best) == sorted(row["method"] for row in paper)


def test_a_picture_is_written(tmp_path):
    path = tmp_path / "errors.png"
    document(LINE + " --plot", str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_horizon_is_needed():
    result = run(f"compare --half-life 6 {ONE}")
    assert result.exit_code == 2
    assert "--horizon must be given" in result.stderr
