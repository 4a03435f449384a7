"""What the page prints of a guarantee or an error is never below the number, and next to it."""

from __future__ import annotations

import json
import random

from tests.serve.page.browser import Browser
from tests.serve.page.service import Service

NUMBERS = """
(async () => {
  const { up, down, plain } = await import('/page/format.js');
  const { upTo } = await import('/page/rounding.js');
  const read = (text) => Number(text.replaceAll(',', '').replaceAll('\\u2212', '-'));
  return %s.map((x) => [
    read(up(x, 3)), read(up(x)), read(down(x, 3)), read(plain(x)), upTo(x, 1), -upTo(-x, 1),
  ]);
})()
"""


def sampled() -> list[float]:
    rng = random.Random(1)
    short = [float(f"{rng.randint(1, 999)}e{rng.randint(-9, 6)}") for _ in range(300)]
    return [*short, *(10.0 ** rng.uniform(-9, 8) for _ in range(1000)), 0.1, 0.3, 1, 2, 1e-6]


def test_printed_numbers_are_on_the_safe_side(browser: Browser, service: Service) -> None:
    numbers = sampled()
    with browser.page(service.address) as page:
        found = page.value(NUMBERS % json.dumps(numbers))
    wrong = 0
    for x, (three, four, left, plain, above, below) in zip(numbers, found, strict=True):
        assert x <= three <= x * 1.0101, x
        assert x <= four <= x * 1.00101, x
        assert x * 0.9899 <= left <= x, x
        assert x <= plain <= x * 1.0101, x
        assert x <= above <= x + 0.1001, x
        assert x - 0.1001 <= below <= x, x
        wrong += float(f"{x:.3g}") < x  # the control: to nearest, half of them were too small
    assert wrong > len(numbers) / 3
