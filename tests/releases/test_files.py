import csv
import json
import os

import numpy as np
import pytest
from scipy.stats import norm

import hushfade as hf
from hushfade.errors import InvalidValue
from hushfade.records.arrow import part
from hushfade.releases.files import (
    FORMAT,
    Meaning,
    Rows,
    companion,
    document,
    form_of,
    growing_file,
    standard_output,
    whole_file,
)

HOUR = 3600 * 10**9
PLAN = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(1, 1e-6), keys=["a", "b,c"])
ERRORS = hf.plan(  # normal errors
    hf.Exponential(half_life=3), hf.Guarantee(1, 1e-6), method="square_root"
).errors
KEYED = Meaning(("a", "b,c"), zoned=True)
COLUMNS = ["step", "time", "key", "value", "stddev", "lower", "upper"]


def rows(start=1, n=3, lanes=2):
    steps = np.arange(start, start + n)
    values = np.linspace(-5, 5, n * lanes).reshape(n, lanes) + 1e-17 + start / 7
    return Rows(steps, steps * HOUR, values, np.full(n, 2.0), ERRORS)


def read(path):
    if path.suffix == ".parquet":
        return part("parquet").read_table(path).to_pylist()
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_what_is_written_is_read_back_exactly(tmp_path, ending):
    path = tmp_path / f"r.{ending}"
    with whole_file(path, KEYED, form_of(path, None), "{}") as writer:
        writer.write(rows(1))
        writer.write(rows(4))
    found = read(path)
    assert list(found[0]) == COLUMNS
    assert [int(row["step"]) for row in found] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert [row["key"] for row in found] == ["a", "b,c"] * 6
    values = np.concatenate([rows(1).values.ravel(), rows(4).values.ravel()])
    assert [float(row["value"]) for row in found] == values.tolist()
    margin = norm.ppf(0.975) * 2.0
    uppers = np.array([float(row["upper"]) for row in found])
    assert np.allclose(uppers - values, margin, rtol=1e-12)
    time = found[2]["time"]
    assert (time if ending != "parquet" else f"{time:%Y-%m-%dT%H:%M:%SZ}") == "1970-01-01T02:00:00Z"
    assert sorted(os.listdir(tmp_path)) == [f"r.{ending}", f"r.{ending}.plan.json"]


def test_columns_that_say_nothing_are_left_out(tmp_path):
    path = tmp_path / "r.csv"
    with whole_file(path, Meaning(None, None), "csv", "{}") as writer:
        writer.write(Rows(np.array([1]), None, np.array([[1.5]]), np.array([1.0]), ERRORS))
    assert path.read_text().splitlines()[0] == "step,value,stddev,lower,upper"


def test_parts_of_a_second_are_kept(tmp_path):
    path = tmp_path / "r.csv"
    with whole_file(path, Meaning(None, False), "csv", "{}") as writer:
        half = np.array([5 * 10**8])
        writer.write(Rows(np.array([1]), half, np.ones((1, 1)), np.ones(1), ERRORS))
    assert read(path)[0]["time"] == "1970-01-01T00:00:00.500000000"


def test_changed_values_stay_inside_their_bounds():
    table = rows().table(Meaning(("a", "b"), None, 0.5, ("non_negative", "whole")))
    raw = rows().values.ravel()
    assert table["value"].tolist() == np.rint(np.maximum(raw, 0)).tolist()
    assert table["lower"].min() == 0.0
    assert np.allclose(table["upper"], np.maximum(raw + norm.ppf(0.75) * 2.0, 0))


def test_the_companion_says_guarantee_and_plan():
    told = json.loads(document(PLAN, KEYED, steps={"every": "1h"}, noise="fresh"))
    assert told["format"] == FORMAT
    assert told["guarantee"] == PLAN.guarantee.sentence()
    assert hf.Plan.from_json(json.dumps(told["plan"])).digest == PLAN.digest
    assert list(told["columns"]) == COLUMNS


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_failure_leaves_nothing_behind(tmp_path, ending):
    path = tmp_path / f"r.{ending}"

    def fail():
        with whole_file(path, KEYED, ending, "{}") as writer:
            writer.write(rows())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert os.listdir(tmp_path) == []


def test_a_growing_file_has_each_release_at_once(tmp_path):
    path = tmp_path / "r.jsonl"
    with growing_file(path, KEYED, "jsonl", "{}") as writer:
        assert companion(path).exists()
        writer.write(rows(1, 1))
        assert len(read(path)) == 2


def test_standard_output_has_text(capsys):
    with standard_output(KEYED, "csv") as writer:
        writer.write(rows(1, 1))
    assert capsys.readouterr().out.count("\n") == 3


def test_formats_and_confidences_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(
        InvalidValue, match=r"r\.xlsx must end in \.csv, \.jsonl or \.parquet, unless"
    ):
        form_of(tmp_path / "r.xlsx", None)
    with pytest.raises(InvalidValue, match="format must be one of csv, jsonl, parquet, got xlsx"):
        form_of(None, "xlsx")
    assert form_of(None, None) == "csv"
    assert form_of(tmp_path / "r.txt", "jsonl") == "jsonl"
    with pytest.raises(InvalidValue), standard_output(KEYED, "parquet"):
        pass
    with pytest.raises(InvalidValue), growing_file(tmp_path / "r", KEYED, "parquet", ""):
        pass
    for bad in (0.0, 1.0, float("nan")):
        with pytest.raises(InvalidValue):
            Meaning(None, None, bad)
