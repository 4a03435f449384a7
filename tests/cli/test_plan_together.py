"""hushfade plan --together: the series of a file under one guarantee."""

import json
import os

import pytest

import hushfade as hf
from hushfade.cli import plan_together
from hushfade.cli.console import Exit
from tests.cli.command import ONE, document, run

pytestmark = pytest.mark.usefixtures("quick_joint_search")

TWO = """
[[series]]
name = "hourly"
half_life = "24h"
every = "1h"

[[series]]
name = "daily"
window = "7d"
every = "1d"
low = 0
high = 10
resolution = 0.5
keys = ["at", "ch"]
weight = 3
"""
SERIES = [
    hf.Series(decay=hf.Exponential(half_life=24), every="1h", resolution=1, name="hourly"),
    hf.Series(
        decay=hf.SlidingWindow(length=7),
        every="1d",
        high=10,
        resolution=0.5,
        keys=("at", "ch"),
        name="daily",
    ),
]


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "series.toml"
    path.write_text(TWO)
    return str(path)


@pytest.fixture(scope="module")
def joint(quick_joint_search):
    return hf.plan_together(SERIES, hf.Guarantee(1, 1e-6), weights=[1, 3])


@pytest.fixture
def planned_before(monkeypatch, joint):
    """The command gets the joint plan that the library has made: the search takes seconds."""
    monkeypatch.setattr(plan_together, "plan_together", lambda series, guarantee, weights: joint)


def test_the_document_has_the_library_s_numbers(two, joint):
    found = document(f"plan --together {two} {ONE}")
    assert found["sentences"][0] == joint.guarantee.sentence()
    assert (found["epsilon"], found["delta"], found["mu"]) == (1, 1e-6, None)
    assert [one["name"] for one in found["series"]] == ["hourly", "daily"]
    assert [one["weight"] for one in found["series"]] == [1, 3]
    assert [one["max_stddev"] for one in found["series"]] == list(joint.errors)
    assert [one["max_stddev_alone"] for one in found["series"]] == list(joint.alone)
    for one, made in zip(found["series"], joint.plans, strict=True):
        assert one["ratio"] == one["max_stddev"] / one["max_stddev_alone"]
        assert one["file"] is None
        assert one["plan"]["digest"] == made.digest.hex()
        assert one["plan"]["every"] == made.every
        assert one["plan"]["law"]["name"] == made.law.name


def test_the_page_has_a_row_for_each_series_and_the_rule_of_one_use(two, joint, planned_before):
    shown = " ".join(run(f"plan --together {two} {ONE}").stdout.split())
    assert shown.startswith(f"{joint.guarantee.sentence()} {plan_together.TOGETHER}")
    assert plan_together.ONCE in shown
    for name, error, alone in zip(("hourly", "daily"), joint.errors, joint.alone, strict=True):
        assert f"│ {name} │" in shown
        assert f"│ {error:.4g} │ {alone:.4g} │ {error / alone:.2f} │" in shown


def test_each_series_has_a_plan_file_and_together_they_keep_the_guarantee(
    two, tmp_path, joint, planned_before
):
    directory = tmp_path / "plans"
    found = document(f"plan --together {two} {ONE} -o {directory}")
    assert sorted(os.listdir(tmp_path)) == ["plans", "series.toml"]
    assert sorted(os.listdir(directory)) == ["daily.json", "hourly.json"]
    assert [one["file"] for one in found["series"]] == [
        str(directory / "hourly.json"), str(directory / "daily.json")
    ]  # fmt: skip
    plans = [
        hf.Plan.from_json((directory / f"{name}.json").read_text()) for name in ("hourly", "daily")
    ]
    assert [made.digest for made in plans] == [made.digest for made in joint.plans]
    assert [made.every for made in plans] == ["1h", "1d"]
    assert hf.composed(made.privacy for made in plans).epsilon(1e-6) <= 1
    assert "Wrote " in run(f"plan --together {two} {ONE} -o {tmp_path / 'more'}").stdout


def test_nothing_that_exists_is_replaced(two, tmp_path):
    for path in (tmp_path / "file", tmp_path / "directory"):
        path.write_text("kept") if path.name == "file" else path.mkdir()
        result = run(f"plan --together {two} {ONE} -o {path}")
        assert (result.exit_code, result.stdout) == (Exit.FILE, "")
        assert "exists: --output with --together must be a new directory" in result.stderr
    assert (tmp_path / "file").read_text() == "kept"
    assert os.listdir(tmp_path / "directory") == []
    result = run(f"plan --together {two} {ONE} -o {tmp_path / 'no' / 'plans'}")
    assert (result.exit_code, result.stdout) == (Exit.FILE, "")


def test_a_failure_writes_no_plan(two, tmp_path, monkeypatch, planned_before):
    written = []

    def fail_at_the_second(plan):
        written.append(plan)
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        return "{}"

    monkeypatch.setattr(hf.Plan, "to_json", fail_at_the_second)
    result = run(f"plan --together {two} {ONE} -o {tmp_path / 'plans'}")
    assert (result.exit_code, len(written)) == (Exit.FILE, 2)
    assert "No space left on device" in result.stderr
    assert os.listdir(tmp_path) == ["series.toml"]


def test_every_field_means_what_its_option_means(tmp_path):
    cases = {
        'decay = "none"\nhorizon = 50': "--decay none --horizon 50",
        'alpha = 1.5\nevery = "rows"': "--alpha 1.5 --every rows",
        "power = 1\nlow = -1\nhigh = 2": "--power 1 --low -1 --high 2",
        'window = 7\nhorizon = "4w"\nevery = "1d"': "--window 7 --horizon 4w --every 1d",
        "weights = [1, 0.5, 0.25]\nresolution = 0.0625": "--weights 1,0.5,0.25 --resolution 0.0625",
        'half_life = 2.5\nkeys = ["at", "ch"]': "--half-life 2.5 --keys at,ch",
        'window = 7\nmean = "x"\nlow = 0\nhigh = 9': "--window 7 --mean x --low 0 --high 9",
        'window = 7\nvariance = "x"\nlow = 0\nhigh = 9': "--window 7 --variance x --low 0 --high 9",
        'window = 7\nshare = "result=yes"': "--window 7 --share result=yes",
        'window = 7\nhistogram = "age"\nedges = [0, 18.5, 65]': (
            "--window 7 --histogram age --edges 0,18.5,65"
        ),
        'window = 7\nquantiles = "x=.5,.9"\nbins = 16\nlow = 0\nhigh = 9\nexpect_records = 5': (
            "--window 7 --quantiles x=.5,.9 --bins 16 --low 0 --high 9 --expect-records 5"
        ),
        'window = 7\nratio = "a/b"\nnumerator_high = 9\ndenominator_high = 5\nlargest_ratio = 2': (
            "--window 7 --ratio a/b --numerator-high 9 --denominator-high 5 --largest-ratio 2"
        ),
    }
    for place, (fields, options) in enumerate(cases.items()):
        path = tmp_path / f"{place}.toml"
        path.write_text(f'[[series]]\nname = "one"\n{fields}\n')
        (one,) = document(f"plan --together {path} {ONE}")["series"]
        assert one["plan"] == document(f"plan {options} {ONE}"), fields


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file must list series, each under a line [[series]]"),
        ("series = []", "the file must list series"),
        ("[series]\nname = 'a'", "the file must list series"),
        ("epsilon = 1\n[[series]]\nname = 'a'", "unknown field 'epsilon' outside a series"),
        ("[[series]\n", "the file must be valid TOML: "),
        ("[[series]]\npower = 1", "series 1: name must be 1 to 64 letters"),
        ("[[series]]\nname = '../a'\npower = 1", "series 1: name must be 1 to 64 letters"),
        ("[[series]]\nname = 'a'", "series 'a': a decay must be given: decay = "),
        ("[[series]]\nname = 'a'\nhalflife = 1", "series 'a': unknown field 'halflife': the"),
        ("[[series]]\nname = 'a'\ndecay = 'soon'", "series 'a': decay must be one of none, expo"),
        (
            "[[series]]\nname = 'a'\npower = 1\nwindow = 7",
            "series 'a': power and window cannot be combined",
        ),
        (
            "[[series]]\nname = 'a'\nhalf_life = '24h'",
            "series 'a': half_life must be in steps unless --every is given, got '24h'",
        ),
        ("[[series]]\nname = 'a'\nhalf_life = true", "series 'a': half_life must be a number of"),
        ("[[series]]\nname = 'a'\nhalf_life = nan", "series 'a': half_life must be "),
        ("[[series]]\nname = 'a'\npower = '1'", "series 'a': power must be a real number"),
        ("[[series]]\nname = 'a'\npower = -1", "series 'a': power must be > 0"),
        ("[[series]]\nname = 'a'\npower = 1\nevery = 1", "series 'a': every must be a string"),
        ("[[series]]\nname = 'a'\npower = 1\nlow = 0", "series 'a': low and high must both be"),
        ("[[series]]\nname = 'a'\npower = 1\nweight = 0", "series 'a': weight must be > 0, got 0"),
        ("[[series]]\nname = 'a'\npower = 1\nkeys = 'at'", "series 'a': keys must be a list"),
        ("[[series]]\nname = 'a'\nweights = []", "series 'a': weights must be a list"),
        (
            "[[series]]\nname = 'a'\npower = 1\nkeys = ['at', 'at']",
            "series 'a': keys must not contain a name twice: place 2 repeats place 1",
        ),
        (
            "[[series]]\nname = 'a'\npower = 1\n[[series]]\nname = 'A'\npower = 1",
            "series 2: name must differ from the name of series 1, got 'A'",
        ),
        ("[[series]]\nname = 'a'\npower = 1\nresolution = 3", "series 'a': resolution must be a"),
        ("[[series]]\nname = 'a'\npower = 1\nmean = 3", "series 'a': mean must be a string, as"),
        ("[[series]]\nname = 'a'\npower = 1\nmean = 'x'", "series 'a': "),
        ("[[series]]\nname = 'a'\npower = 1\nedges = [0, 1]", "series 'a': --edges needs --hist"),
        (
            "[[series]]\nname = 'a'\npower = 1\nhistogram = 'x'\nedges = 3",
            "series 'a': edges must be a list",
        ),
        (
            "[[series]]\nname = 'a'\npower = 1\nshare = 'x'",
            "series 'a': --share must have the form COLUMN=VALUE",
        ),
    ],
)
def test_a_wrong_file_is_rejected_with_its_name_and_the_series(tmp_path, text, message):
    path = tmp_path / "series.toml"
    path.write_text(text)
    result = run(f"plan --together {path} {ONE} --json")
    assert (result.exit_code, result.stdout) == (Exit.DATA, "")
    error = json.loads(result.stderr)["error"]
    assert error.startswith(f"{path}: {message}"), error


def test_a_file_that_is_not_there_or_not_utf_8_is_rejected(tmp_path):
    result = run(f"plan --together {tmp_path / 'none.toml'} {ONE}")
    assert (result.exit_code, result.stdout) == (Exit.FILE, "")
    (tmp_path / "latin").write_bytes(b"# caf\xe9")
    result = run(f"plan --together {tmp_path / 'latin'} {ONE}")
    assert (result.exit_code, result.stdout) == (Exit.DATA, "")
    assert "the file must be UTF-8" in result.stderr


def test_options_of_a_single_series_are_excluded(two):
    for option in (
        "--half-life 24", "--decay none", "--every 1h", "--horizon 5", "--low 0", "--keys a",
        "--method input", "--law laplace", "--expect 5", "--plot a.png", "--force",
    ):  # fmt: skip
        result = run(f"plan --together {two} {ONE} {option}")
        assert (result.exit_code, result.stdout) == (Exit.USAGE, ""), option
        assert f"--together and {option.split()[0]} cannot be combined" in result.stderr


def test_limits_per_person_need_one_step_length(two, tmp_path):
    for limit in ("--person-steps 2", "--records-per-step 2"):
        result = run(f"plan --together {two} {ONE} {limit}")
        assert (result.exit_code, result.stdout) == (Exit.DATA, "")
        assert "every must be the same for all series" in result.stderr
    path = tmp_path / "days.toml"
    path.write_text(TWO.replace('"1h"', '"1d"').replace('"24h"', '"24d"'))
    found = document(f"plan --together {path} {ONE} --person-steps 2 --apart 4w")
    assert found["protects"] == {"steps": 2, "apart": 28}


def test_a_guarantee_is_needed(two):
    result = run(f"plan --together {two}")
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert "a guarantee must be given" in result.stderr


def test_the_report_states_the_error_of_each_statistic(tmp_path):
    path = tmp_path / "series.toml"
    path.write_text(
        '[[series]]\nname = "positive"\nwindow = 7\nshare = "result=positive"\n'
        '[[series]]\nname = "visits"\nwindow = 7\n'
    )
    text = " ".join(run(f"plan --together {path} {ONE}").stdout.split())
    assert "positive: With 1000 records and a true share of 0.5, 95 of 100 shares are" in text
    assert "visits: " not in text
    assert "Standard deviations of a statistic are for each noisy sum" in text
