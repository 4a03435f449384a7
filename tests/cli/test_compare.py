import json

import pytest

import hushfade as hf
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
        for name in ("optimum, largest error", "hushfade, normalized", "output noise")
    ]
    assert starts == sorted(starts)
    assert f"{compared.least:.4g}" in shown


def test_records_per_step_scale_all_errors(compared):
    found = document(LINE + " --records-per-step 3")
    least = {row["method"]: row["max_error"] for row in found["rows"]}
    for row in compared.rows:
        # hushfade's own differ by the grid, which the same records keep
        assert least[row.method] == pytest.approx(3 * row.max_error, rel=1e-6)


def test_a_picture_is_written(tmp_path):
    path = tmp_path / "errors.png"
    document(LINE + " --plot", str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_horizon_is_needed():
    result = run(f"compare --half-life 6 {ONE}")
    assert result.exit_code == 2
    assert "--horizon must be given" in result.stderr
