"""docs/which-mechanism.md: every baseline on four decays, with pictures."""

from __future__ import annotations

from dev.paths import DOCS
from dev.progress import progress
from dev.tables.page import table, write
from hushfade import Guarantee, compare
from hushfade.baselines.comparison import Comparison, Row
from hushfade.decay import Decay, Exponential, NoDecay, PowerLaw, SlidingWindow

HORIZON = 1024
GUARANTEE = Guarantee(epsilon=1, delta=1e-6)
DECAYS: dict[str, tuple[str, Decay]] = {
    "counting": ("Counting", NoDecay()),
    "exponential": ("Exponential, half-life 24", Exponential(half_life=24)),
    "power": ("Power law, power 1", PowerLaw(power=1)),
    "window": ("Sliding window of 24", SlidingWindow(length=24)),
}

FOREWORD = """\
# Which mechanism?

Written by `make tables`: {horizon} steps, epsilon = {epsilon:g}, delta = {delta:g}, records in
[0, 1], one record more or less.  The same for your own decay, horizon and guarantee:

```python
>>> import hushfade as hf
>>> guarantee = hf.Guarantee(epsilon=1, delta=1e-6)
>>> comparison = hf.compare(hf.SlidingWindow(length=7), guarantee, horizon=100)
>>> print(f"{{comparison.row('hushfade').ratio:.3f}}")
0.499
>>> print(f"{{comparison.row('input noise').ratio:.3f}}")
1.490
```

`print(comparison)` shows the table, `comparison.plot("errors.png")` the picture (it needs
matplotlib), `comparison.to_json()` the numbers.

Errors are standard deviations of the published sum, exact, in the data's unit.  *Ratio* compares
the largest error with the proven least of any factorization mechanism with Gaussian noise ([how
near the optimum](theory.md)).  The row *hushfade* is the plan that `hf.plan` makes by default,
with [the noise law](noise-laws.md) that has the smallest error.  *Memory* is what is kept between
steps, in numbers; *work* the additions and multiplications of a step.  Mechanisms that promise
epsilon alone, without delta, have Laplace noise.  A ratio below 1 means that no mechanism with
Gaussian noise has so small an error.

What the tables say:

- Of the mechanisms with Gaussian noise the square root is within 0.2 % of the optimum for these
  decays, and needs no horizon.  For counting it is some 11 % above, normalized 5 %.  Bands save
  memory and cost little for fast decays, much for counting.
- Where a record touches few releases, **Laplace noise on the inputs is better still** at this
  epsilon and delta, and promises more.  Its noise has the standard deviation 1.41 here, the
  Gaussian one {multiplier:.2f}.  It pays for that with an error that grows faster with the memory,
  heavier tails, and worse composition: k releases cost k epsilon, Gaussian ones about √k.  For
  counting and for long memories the Gaussian square root has less error.
- **hushfade takes the better of both, or a mechanism between them.**  On this page its plan has at
  most the error of the square root.
- Trees have 1.4 to 3.2 times the error of the square root, with Gaussian noise.
- Splitting the budget over the steps by basic composition, which is what one-shot libraries come
  to, is worse by orders of magnitude; for a window, whose records are in few releases, by 3 to 10.
- Without delta the square root is the wrong tool: its ℓ1 sensitivity is large.  Noise on the inputs
  is never worse than any Toeplitz pair (Young's inequality); for counting over many steps smooth
  binary and Honaker's trees are better.  A plan with delta = 0 takes sums over blocks of steps
  there, which [have less error than all of these](results/noise-laws.md#without-delta).
- `compare` is about one stream and one participation; keys and repeated records are not in it.

The rivals are in `hushfade.baselines`.  `simulate` draws float noise and is for comparison only:
trees and dense optima have no other release here.  A rival that is a Toeplitz pair can be published
with hushfade's own integers and noise, Gaussian unless `law` is given:

```python
>>> import numpy as np
>>> from hushfade.baselines.independent_noise import input_noise
>>> rival = input_noise(hf.SlidingWindow(length=7), 100)
>>> simulated = rival.simulate(np.ones(100), guarantee, generator=np.random.default_rng(1))
>>> plan = hf.plan(rival.decay, guarantee, method=rival.pair(), horizon=100)
>>> print(f"{{plan.max_stddev(100):.3f}} {{rival.stddevs(guarantee).max():.3f}}")
11.177 11.177
>>> release = plan.start().step([1, 0.5])
```
"""


def main() -> None:
    """Compares, draws and writes: about a minute."""
    epsilon, delta = GUARANTEE.epsilon, GUARANTEE.delta
    multiplier = GUARANTEE.noise_multiplier * epsilon
    parts = [FOREWORD.format(horizon=HORIZON, epsilon=epsilon, delta=delta, multiplier=multiplier)]
    for name, (title, decay) in DECAYS.items():
        found = compare(decay, GUARANTEE, HORIZON)
        picture = f"images/which-{name}.png"
        found.plot(DOCS / picture)
        progress(f"compared: {title}")
        parts.append(_section(title, found, picture))
    write("which-mechanism.md", "\n".join(parts))


def _section(title: str, found: Comparison, picture: str) -> str:
    gaussian = [_cells(row) for row in found.rows if not row.pure]
    pure = [_cells(row) for row in found.rows if row.pure]
    columns = ["mechanism", "source", "largest", "root mean square", "ratio", "memory", "work", ""]
    return f"""
## {title}

No Gaussian factorization mechanism has a largest error below {found.least:.4g}.

{table(columns, gaussian)}

With epsilon alone:

{table(columns, pure)}

![The error of each mechanism against time: {title}]({picture})
"""


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio:.3f}" if ratio < 100 else f"{ratio:.3g}"


def _cells(row: Row) -> list[str]:
    name = f"**{row.method}**" if row.method.startswith("hushfade") else row.method
    return [
        name,
        row.source,
        f"{row.max_error:.4g}",
        f"{row.rms_error:.4g}",
        _ratio(row.ratio),
        str(row.memory),
        f"{row.work:.3g}",
        row.notes,
    ]
