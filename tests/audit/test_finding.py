import math

import pytest

from hushfade.audit.finding import LEVEL, by_chance, exact, info


def test_a_small_p_fails_and_any_other_passes():
    assert by_chance("sampler", "σ", "law", "χ²", 2 * LEVEL).passed is True
    assert by_chance("sampler", "σ", "law", "χ²", LEVEL / 2).passed is False


def test_what_is_no_number_fails():
    assert by_chance("sampler", "σ", "law", "χ²", math.nan).passed is False


def test_a_second_condition_may_fail_and_doubles_the_level():
    found = by_chance("μ-test", "a plan", "μ", "0.3", 0.5, within=False)
    assert found.passed is False
    assert found.level == 2 * LEVEL
    assert by_chance("μ-test", "a plan", "μ", "0.3", 0.5, within=True).passed is True


def test_an_exact_check_cannot_fail_by_chance():
    assert exact("replay", "a plan", "same", "0 differ", passed=True).level == 0.0


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (exact("replay", "a plan", "same", "0 differ", passed=True), "passed"),
        (exact("replay", "a plan", "same", "1 differs", passed=False), "FAILED"),
        (info("timing", "a plan", "nothing", "1 ns", "none"), "info"),
    ],
)
def test_a_verdict_is_one_word(found, verdict):
    assert found.verdict == verdict
