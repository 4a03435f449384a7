import json

import pytest

from hushfade import (
    CustomDecay,
    Exponential,
    Guarantee,
    InvalidValue,
    NoDecay,
    Person,
    PowerLaw,
    SlidingWindow,
    plan,
)
from hushfade.cli.console import Exit, Failure
from hushfade.cli.options import (
    BoundsOptions,
    DecayOptions,
    MechanismOptions,
    PersonOptions,
    RecordOptions,
)
from hushfade.cli.options.time import StepOptions, whole_steps_in
from tests.cli.command import run

HOUR = 3600 * 10**9


@pytest.mark.parametrize(
    ("values", "decay"),
    [
        ({"decay": "none"}, NoDecay()),
        ({"half_life": "2.5"}, Exponential(half_life=2.5)),
        ({"decay": "exponential", "alpha": 1.5}, Exponential.from_alpha(1.5)),
        ({"power": 0.3}, PowerLaw(power=0.3)),
        ({"window": "7"}, SlidingWindow(7)),
        ({"weights": "1,0.5,0.25"}, CustomDecay([1, 0.5, 0.25])),
    ],
)
def test_options_make_the_decay_they_name(values, decay):
    assert DecayOptions(**values).function(None) == decay


@pytest.mark.parametrize(
    ("duration", "steps"), [("24h", "24"), ("1d", "24"), ("90min", "1.5"), ("1w", "168")]
)
def test_durations_equal_steps(duration, steps):
    in_time = DecayOptions(half_life=duration).function(HOUR)
    assert in_time == DecayOptions(half_life=steps).function(None)
    if "." not in steps:
        for name in ("--window", "--apart", "--horizon"):
            assert whole_steps_in(duration, HOUR, name) == int(steps)


def test_one_promise_can_be_said_in_three_ways():
    by_epsilon = PersonOptions(epsilon=1, delta=1e-6).guarantee(None)
    by_mu = PersonOptions(mu=by_epsilon.mu).guarantee(None)
    by_rho = PersonOptions(rho=by_epsilon.rho).guarantee(None)
    assert by_epsilon == Guarantee(epsilon=1, delta=1e-6)
    for other in (by_mu, by_rho):  # rounded roots: a few units of float64
        assert other.mu == pytest.approx(by_epsilon.mu, rel=1e-14)
        assert other.epsilon == pytest.approx(1, rel=1e-8)


def test_a_guarantee_has_all_that_was_asked():
    options = PersonOptions(
        mu=0.5,
        delta=1e-8,
        neighbours="replace",
        person_steps=3,
        apart="1d",
        records_per_step=2,
    )
    assert options.guarantee(HOUR) == Guarantee.from_mu(
        0.5,
        delta=1e-8,
        neighbours="replace",
        protects=Person(steps=3, apart=24, records_per_step=2),
    )


def test_a_plan_is_the_library_s():
    decay, guarantee = Exponential(half_life=5), Guarantee(1, 1e-6)
    records = RecordOptions(low=-1, high=4, resolution=2**-6, keys="a,b")
    found = MechanismOptions(method="normalized").plan(
        decay, guarantee, records, horizon=48, time=StepOptions(every="1h")
    )
    same = plan(
        decay,
        guarantee,
        low=-1,
        high=4,
        horizon=48,
        method="normalized",
        resolution=2**-6,
        keys=["a", "b"],
        every="1h",
    )
    assert found.digest == same.digest


def test_keys_come_from_a_file_line_by_line(tmp_path):
    file = tmp_path / "keys.txt"
    for text in ("at\nch\nZürich\x85\n", "at\nch\nZürich\x85", "\ufeffat\r\nch\r\nZürich\x85\r\n"):
        file.write_bytes(text.encode())
        if "\x85" in text:  # not a line's end, but a space: refused by its line
            with pytest.raises(Failure, match="line 3"):
                RecordOptions(keys_file=file).declared_keys()
        file.write_bytes(text.replace("\x85", "").encode())
        assert RecordOptions(keys_file=file).declared_keys() == ("at", "ch", "Zürich")


def test_without_bounds_records_are_counted():
    assert BoundsOptions().bounds(valued=False) == (0.0, 1.0)
    assert BoundsOptions(low=-2.0, high=3.0).bounds(valued=True) == (-2.0, 3.0)


# Refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "a decay must be given: --half-life, "),
        ({"decay": "power"}, "--decay power needs --power"),
        ({"decay": "exponential"}, "--decay exponential needs --half-life or --alpha"),
        ({"decay": "window"}, "--decay window needs --window"),
        ({"decay": "custom"}, "--decay custom needs --weights"),
        ({"decay": "none", "power": 1.0}, "--decay none and --power cannot be combined"),
        ({"decay": "window", "power": 1.0}, "--decay window and --power cannot be combined"),
        ({"half_life": "3", "window": "4"}, "--half-life and --window cannot be combined"),
        ({"half_life": "3", "alpha": 2.0}, "--half-life and --alpha cannot be combined"),
        ({"half_life": "nan"}, "--half-life must be > 0, got nan"),
        ({"half_life": "-1"}, "--half-life must be > 0, got -1"),
        ({"half_life": "0"}, "--half-life must be > 0, got '0'"),
        ({"half_life": "inf"}, "--half-life must be finite, got inf"),
        ({"half_life": "24h"}, "--half-life must be in steps unless --every is given, got '24h'"),
        ({"half_life": "soon"}, "--half-life must be a number of steps or a duration such as 24h"),
        ({"window": "1.5"}, "--window must be a whole number of steps, got 1.5"),
        ({"window": "90min", "every": HOUR}, "--window must be a whole number of steps, got 1.5"),
        ({"alpha": float("nan")}, "--alpha must be finite, got nan"),
        ({"alpha": 1.0}, "--alpha must be > 1"),
        ({"power": float("nan")}, "--power must be > 0, got nan"),
        ({"power": float("inf")}, "--power must be finite, got inf"),
        ({"weights": "1,x"}, "--weights must be numbers separated by commas, got '1,x'"),
        ({"weights": "1_000,1"}, "--weights must be numbers separated by commas, got '1_000"),
        ({"weights": "１,1"}, "--weights must be numbers separated by commas, got '１,1'"),
        ({"weights": "1,nan"}, "--weights must be finite, got nan at index 1"),
        ({"weights": "0,1"}, "--weights must start with a weight > 0"),
    ],
)
def test_contradictory_decays_are_refused_by_their_options(values, message):
    step = values.pop("every", None)
    with pytest.raises(InvalidValue) as error:
        DecayOptions(**values).function(step)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "a guarantee must be given"),
        ({"epsilon": 1.0}, "--epsilon needs --delta"),
        ({"delta": 1e-6}, "a guarantee must be given"),
        ({"epsilon": 1.0, "mu": 1.0}, "--epsilon and --mu cannot be combined"),
        ({"mu": 1.0, "rho": 1.0}, "--mu and --rho cannot be combined"),
        ({"epsilon": float("nan"), "delta": 1e-6}, "--epsilon must be > 0, got nan"),
        ({"epsilon": 1.0, "delta": float("nan")}, "--delta must be finite, got nan"),
        ({"epsilon": 1.0, "delta": 1.0}, "--delta must be in [0, 1), got 1.0"),
        ({"mu": float("inf")}, "--mu must be finite, got inf"),
        ({"rho": 0.0}, "--rho must be > 0, got 0.0"),
        ({"mu": 1.0, "person_steps": 0}, "--person-steps must be an integer >= 1, got 0"),
        ({"mu": 1.0, "records_per_step": 0}, "--records-per-step must be an integer >= 1, got 0"),
        ({"mu": 1.0, "apart": "1.5"}, "--apart must be a whole number of steps"),
    ],
)
def test_contradictory_guarantees_are_refused_by_their_options(values, message):
    with pytest.raises(InvalidValue) as error:
        PersonOptions(**values).guarantee(None)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"low": float("nan")}, "--low must be finite, got nan"),
        ({"high": 0.0}, "--low must be < --high, got 0 and 0"),
        ({"resolution": 0.3}, "--resolution must be a power of two, got 0.3"),
        ({"method": "normalized"}, "--horizon must be given for the method 'normalized'"),
        ({"method": "unbounded"}, "--method must not be 'unbounded' except for NoDecay()"),
        ({"expect": "9"}, "--expect must only be given with the method 'unbounded', got 9: "),
        ({"expect": "9h"}, "--expect must be in steps unless --every is given"),
    ],
)
def test_contradictory_plans_are_refused_by_their_options(values, message):
    chosen = {name: values[name] for name in ("method", "expect") if name in values}
    values = {name: value for name, value in values.items() if name not in chosen}
    mechanism = MechanismOptions(**chosen)
    records = RecordOptions(**{"low": 0.0, "high": 1.0, **values})
    with pytest.raises(InvalidValue) as error:
        mechanism.plan(PowerLaw(1), Guarantee(1, 1e-6), records, horizon=None, time=StepOptions())
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("bounds", [(None, None), (0.0, None), (None, 1.0)])
def test_bounds_of_values_must_be_known_beforehand(bounds):
    low, high = bounds
    with pytest.raises(InvalidValue, match=r"--low and --high .* without looking at the data"):
        BoundsOptions(low=low, high=high).bounds(valued=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("secret\nb\nsecret\n", "keys must not contain a name twice: line 3 repeats line 1"),
        ("secret\n\nb\n", "keys must not contain an empty name: line 2 is empty"),
        ("", "keys must not contain an empty name: line 1 is empty"),
        ("a\n secret\n", "keys must not start or end with white space: see line 2"),
        (b"\xff\xfe", "the file must be UTF-8"),
    ],
)  # fmt: skip
def test_wrong_lines_of_keys_are_told_by_number_and_never_shown(tmp_path, text, message):
    file = tmp_path / "keys.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Failure) as error:
        RecordOptions(keys_file=file).declared_keys()
    assert error.value.code == Exit.DATA
    assert error.value.message == f"{file}: {message}"


def test_keys_are_given_once(tmp_path):
    with pytest.raises(InvalidValue, match="--keys and --keys-file cannot be combined"):
        RecordOptions(keys="a,b", keys_file=tmp_path / "keys.txt").declared_keys()
    with pytest.raises(
        InvalidValue, match=r"--keys must not contain a name twice: place 2 repeats place 1"
    ):
        RecordOptions(keys="a,a").declared_keys()
    with pytest.raises(Failure) as error:
        RecordOptions(keys_file=tmp_path / "none.txt").declared_keys()
    assert error.value.code == Exit.FILE


def test_the_command_reports_what_the_groups_reject():
    result = run("plan --half-life 3 --window 4 --mu 1 --json")
    assert result.exit_code == Exit.USAGE
    told = json.loads(result.stderr)
    assert told == {"error": "--half-life and --window cannot be combined", "code": 2}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plan --epsilon 1 --epsilon 5 --delta 1e-6 --power 1", "--epsilon specified multiple"),
        ("run f.csv --records-per-step 1 --records-per-step 2", "specified multiple times"),
        ("plan --power 1_0 --mu 1", "--power must be a number, got '1_0'"),
        ("plan --power １ --mu 1", "--power must be a number, got '１'"),
        ("plan --power none --mu 1", "--power must be a number, got 'none'"),
        ("plan --power 1 --mu 1 --person-steps 1.0", "--person-steps must be an integer"),
        ("plan --power 1 --mu 1 --person-steps 0x2", "--person-steps must be an integer"),
        ("plan --power 1 --mu 1 --person-steps 1_0", "--person-steps must be an integer"),
        ("plan --power 1 --mu 1 --person-steps 0", "--person-steps must be an integer >= 1"),
        ("plan --power 1 --mu 1 --horizon 2.5", "--horizon must be a whole number of steps"),
        ("plan --power 1 --mu 1 --json=x", "--json"),
        ("run f.csv --nonsense", "Unknown option: --nonsense"),
        ("run f.csv --half-lif 3", "--half-life"),  # did you mean
        ("run", "FILES"),
    ],
)
def test_wrong_values_and_repeated_options_are_rejected(line, message):
    result = run(line)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert message in result.stderr


def test_given_options_differ_from_their_defaults():
    options = PersonOptions(epsilon=1.0, records_per_step=2)
    assert options.given() == ["--epsilon", "--records-per-step"]
    assert options.given("epsilon", "mu") == ["--epsilon"]
