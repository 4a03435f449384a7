import math
import random
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

import hushfade as hf
from hushfade.privacy import guarantee as module
from hushfade.privacy.calibration import delta_above, mu_of
from hushfade.privacy.ledger import Account, following, published
from hushfade.privacy.rounding import (
    epsilon_up,
    exponential_up,
    root_down,
    root_up,
    rounded_down,
    rounded_up,
)

SENTENCE = re.compile(r"by at most a factor of (\S+) \(epsilon = (\S+)\), plus (\S+) \(delta\)\.$")


def floats(rng, count):
    """Floats of all sizes, short decimals, and their neighbours."""
    for _ in range(count):
        yield math.ldexp(rng.random() + 0.5, rng.randint(-1000, 1000))
        short = float(f"{rng.randint(1, 10 ** rng.randint(1, 6))}e{rng.randint(-30, 30)}")
        yield from (short, math.nextafter(short, 0.0), math.nextafter(short, math.inf))


def test_a_rounded_number_is_on_the_safe_side_and_next_to_the_value():
    rng = random.Random(1)
    for value in floats(rng, 2000):
        for digits in (1, 3, 4, 9):
            exact = Decimal(value)
            unit = Decimal((0, (1,), exact.adjusted() - digits + 1))
            for text, side in ((rounded_up(value, digits), 1), (rounded_down(value, digits), -1)):
                off = side * (Decimal(text) - exact)
                assert off >= 0 or float(text) == value, (value, digits, text)
                assert off <= unit, (value, digits, text)
                assert len(Decimal(text).normalize().as_tuple().digits) <= digits
            assert rounded_up(-value, digits) == f"-{rounded_down(value, digits)}"


def test_numbers_are_written_as_people_write_them():
    assert rounded_up(1) == rounded_up(1.0) == rounded_up(Fraction(1)) == "1"
    assert rounded_up(0.1) == rounded_down(0.1) == "0.1"  # as it was typed
    assert rounded_up(0.30000000000000004) == "0.3001"
    assert rounded_up(1e-6, 3) == "0.000001"
    assert rounded_up(1e-7, 3) == "1e-7"
    assert rounded_up(1.2345e-9, 3) == "1.24e-9"
    assert rounded_up(9.9996) == "10"
    assert rounded_up(99999.5) == "100000"
    assert rounded_up(1e16) == "1e16"
    assert rounded_up(0.0) == rounded_down(0.0) == "0"
    assert rounded_up(Fraction(1, 3)) == "0.3334"
    assert rounded_down(Fraction(1, 3)) == "0.3333"
    assert [rounded_up(odd) for odd in (math.inf, -math.inf, math.nan)] == ["inf", "-inf", "nan"]


def test_roots_are_the_floats_next_to_the_exact_root():
    rng = random.Random(2)
    for _ in range(2000):
        scale = Fraction(4) ** rng.randint(-90, 90)
        square = scale * Fraction(rng.randint(1, 10**30), rng.randint(1, 10**30))
        low, high = root_down(square), root_up(square)
        assert Fraction(low) ** 2 <= square <= Fraction(high) ** 2
        assert high in (low, math.nextafter(low, math.inf))
        value = rng.random()
        assert root_down(Fraction(value) ** 2) == root_up(Fraction(value) ** 2) == value
    assert root_down(Fraction(0)) == root_up(Fraction(0)) == root_down(Fraction(-1)) == 0.0


def test_an_exponential_is_rounded_up():
    mpmath.mp.prec = 200
    rng = random.Random(3)
    for _ in range(500):
        exponent = 10.0 ** rng.uniform(-4, 2.5)
        assert mpmath.mpf(exponential_up(exponent)) >= mpmath.exp(mpmath.mpf(exponent))
        assert mpmath.mpf(exponential_up(exponent)) <= mpmath.exp(mpmath.mpf(exponent)) * 1.01


def sampled(count):
    """Guarantees as users declare them, by epsilon, mu or rho, all with random digits."""
    rng = random.Random(4)
    for number in range(count):
        epsilon, delta = 10.0 ** rng.uniform(-1.5, 1.2), 10.0 ** rng.uniform(-12, -3)
        if number % 4 == 0:
            yield hf.Guarantee.from_mu(rng.uniform(0.05, 4.0), delta=delta)
        elif number % 4 == 1:
            yield hf.Guarantee.from_rho(rng.uniform(0.002, 5.0), delta=delta)
        elif number % 4 == 2:
            yield hf.Guarantee(float(f"{epsilon:.2g}"), float(f"{delta:.1g}"))
        else:
            yield hf.Guarantee(epsilon, delta)


def untrue(guarantee):
    """What the printed sentence claims too much."""
    found = SENTENCE.search(guarantee.sentence())
    assert found is not None, guarantee.sentence()
    factor, epsilon, delta = found.groups()
    with mpmath.workprec(200):
        claims = {
            "epsilon": float(epsilon) >= guarantee.epsilon,
            "delta": float(delta) >= guarantee.delta,
            "both": delta_above(float(epsilon), guarantee.mu) <= Decimal(float(delta)),
            "factor": mpmath.mpf(factor) >= mpmath.exp(mpmath.mpf(guarantee.epsilon)),
        }
    return [name for name, holds in claims.items() if not holds]


@pytest.mark.slow
def test_every_printed_sentence_holds_when_it_is_read_back():
    for guarantee in sampled(4000):
        assert untrue(guarantee) == [], guarantee.sentence()


def test_the_test_notices_numbers_that_are_rounded_to_nearest(monkeypatch):
    """Numbers rounded to the nearest would promise too much in half of the sentences."""
    monkeypatch.setattr(module, "rounded_up", lambda value, digits=4: f"{float(value):.{digits}g}")
    assert sum("both" in untrue(guarantee) for guarantee in sampled(400)) > 120


def test_an_epsilon_of_a_few_digits_is_the_smallest_that_holds():
    rng = random.Random(7)
    for _ in range(300):
        mu, delta, digits = rng.uniform(0.02, 4.0), 10.0 ** rng.uniform(-12, -3), rng.randint(2, 9)
        shown = epsilon_up(mu, delta, digits)
        assert delta_above(float(shown), mu) <= Decimal(delta)
        unit = Decimal((0, (1,), Decimal(shown).adjusted() - digits + 1))
        assert delta_above(float(Decimal(shown) - unit), mu) > Decimal(delta)
    for epsilon in (0.1, 0.3, 0.7, 1, 2, 3.7, 10):  # as declared, though mu has 51 bits
        assert float(epsilon_up(mu_of(epsilon, 1e-6), 1e-6)) == epsilon


def test_a_composed_mu_is_never_below_the_exact_one():
    rng = random.Random(5)
    for _ in range(500):
        mus = [rng.uniform(1e-5, 5) for _ in range(rng.randint(1, 8))]
        square = sum(Fraction(mu) ** 2 for mu in mus)
        assert Fraction(hf.composed_mu(mus)) ** 2 >= square
        assert hf.composed_mu(mus) == pytest.approx(math.hypot(*mus), rel=1e-15)
    assert hf.composed_mu([0.25]) == 0.25
    assert hf.composed_mu([]) == 0.0


def test_an_account_states_what_is_spent_rounded_up_and_what_is_left_rounded_down():
    rng = random.Random(6)
    for _ in range(60):
        whole = hf.Guarantee(epsilon=rng.uniform(0.5, 5), delta=1e-6)
        account = Account.of("clinics", hf.Guarantee.from_mu(whole.mu, delta=whole.delta))
        assert account.epsilon >= whole.epsilon * (1 - 1e-12)
        for _ in range(rng.randint(1, 3)):
            account = account.charged(whole.mu * rng.uniform(0.05, 0.4))
        square = sum((Fraction(account.mu) ** 2 - Fraction(account.left) ** 2, Fraction(0)))
        assert Fraction(account.spent) ** 2 <= square  # no more is left than was not spent
        assert delta_above(account.spent_epsilon, account.spent) <= whole.delta
        left = account.left_epsilon
        assert account.affords(mu_of(left, whole.delta))
        more = float(rounded_up(math.nextafter(left, 9.0), 9))
        assert more > left
        assert not account.affords(mu_of(more, whole.delta) * (1 + 2e-9))


def test_a_budget_that_is_untouched_or_spent_whole_is_stated_as_declared():
    for epsilon in (0.1, 0.3, 1, 2, 3.7, 10):
        account = Account.of("clinics", hf.Guarantee.from_mu(mu_of(epsilon, 1e-6), delta=1e-6))
        assert (account.epsilon, account.spent_epsilon, account.left_epsilon) == (
            epsilon,
            0,
            epsilon,
        )
        spent = account.charged(mu_of(epsilon, 1e-6))
        assert (spent.spent_epsilon, spent.left_epsilon) == (epsilon, 0.0)


def test_what_a_stream_published_is_composed_over_its_epochs():
    def ledger(*contents):
        entries = []
        for kind, content in contents:
            entries.append(following(entries[-1] if entries else None, kind, **content))
        return entries

    def charge(stream, mu, dataset="clinics"):
        return "charge", {"stream": stream, "dataset": dataset, "mu": mu}

    def lost(mu, dataset="clinics"):
        return "lost", {"dataset": dataset, "mu": mu}

    assert published(ledger(charge("a", 3.0)), "a") == 3.0
    assert published(ledger(charge("a", 3.0), charge("b", 9.0), charge("a", 4.0)), "a") == 5.0
    # what was lost before a new epoch may have been the stream's; what came before it was not
    entries = ledger(
        lost(7.0), charge("a", 2.0), lost(4.0), lost(9.0, "other"), charge("a", 4.0), lost(8.0)
    )
    assert published(entries, "a") == 6.0


def test_no_text_formats_a_number_of_a_guarantee_by_itself():
    """Only `rounding` knows the safe side."""
    nearest = re.compile(r"\{[^{}]*\b(epsilon|delta|mu|rho|spent|left)\b[^{}]*:\.?\d*[gf]\}")
    source = Path(hf.__file__).parent
    for path in source.rglob("*.py"):
        if path.relative_to(source).parts[0] in ("paper", "theory", "audit"):  # they measure
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not nearest.search(line) or ">>>" in line, f"{path.name}: {line.strip()}"
