import numpy as np
import pytest

from hushfade import InvalidType, InvalidValue, check

NOT_NUMBERS = ["1", None, 1j, [1.0], True, np.bool_(True), object()]


@pytest.mark.parametrize("value", [1, 1.5, np.float32(2), np.int64(3)])
def test_a_number_is_returned_as_float(value):
    assert check.positive(x=value) == float(value)
    assert isinstance(check.positive(x=value), float)


@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize("rule", [check.real, check.positive, check.count])
def test_what_is_not_a_number_is_a_type_error_that_names_it(rule, value):
    with pytest.raises(InvalidType, match=r"^x must be"):
        rule(x=value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(InvalidValue, match=r"^x must be"):
        check.real(x=value)
    with pytest.raises(InvalidValue, match=r"^x must be"):
        check.positive(x=value)


@pytest.mark.parametrize("value", [0, -1, -0.5, -0.0])
def test_positive_refuses_zero_and_less(value):
    with pytest.raises(InvalidValue, match=r"^x must be > 0, got "):
        check.positive(x=value)


def test_count_keeps_its_bounds():
    assert check.count(n=3, least=3, most=3) == 3
    with pytest.raises(InvalidValue, match="n must be an integer >= 1, got 0"):
        check.count(n=0)
    with pytest.raises(InvalidValue, match="n must be an integer <= 5, got 6"):
        check.count(n=6, most=5)
    with pytest.raises(InvalidType, match=r"n must be an integer, got 2\.0"):
        check.count(n=2.0)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([1, float("nan")], InvalidValue),
        ([1, float("inf")], InvalidValue),
        ([], InvalidValue),
        ([[1.0]], InvalidValue),
        (1.0, InvalidValue),
        ([1j], InvalidType),
        (["1"], InvalidType),
        ([None], InvalidType),
        ([True], InvalidType),
        ([[1.0], [1.0, 2.0]], InvalidType),
        (np.array([1], dtype="datetime64[s]"), InvalidType),
    ],
)
def test_coefficients_refuses(value, kind):
    with pytest.raises(kind, match=r"^f must"):
        check.coefficients(f=value)


def test_long_values_are_cut_in_messages():
    with pytest.raises(InvalidType) as caught:
        check.real(x="9" * 10_000)
    assert len(str(caught.value)) < 120
