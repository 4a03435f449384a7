"""docs/explanation/which-mechanism.md: every baseline on four decays, with pictures."""

from __future__ import annotations

from hushfade import Guarantee, compare
from hushfade.baselines.comparison import Comparison, Row
from hushfade.decays import Decay, Exponential, NoDecay, PowerLaw, SlidingWindow
from lab.paths import IMAGES
from lab.progress import progress
from lab.tables.page import table, write

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

Written by `make tables`, for {horizon} steps, epsilon = {epsilon:g}, delta = {delta:g}, records in
[0, 1], and neighbouring streams that differ by one added or removed record.  `hf.compare` makes the
same comparison for your own decay, horizon and guarantee:

```python
>>> import hushfade as hf
>>> guarantee = hf.Guarantee(epsilon=1, delta=1e-6)
>>> comparison = hf.compare(hf.SlidingWindow(length=7), guarantee, horizon=100)
>>> print(f"{{comparison.row('hushfade').ratio:.3f}}")
0.499
>>> print(f"{{comparison.row('input noise').ratio:.3f}}")
1.490
```

`print(comparison)` prints the table.  `comparison.plot("errors.png")` draws the picture and needs
matplotlib.  `comparison.to_json()` returns the numbers.

Errors are exact standard deviations of the published sum, in the data's unit.  *Ratio* is the
largest error divided by a proven lower bound for all factorization mechanisms with Gaussian noise
([how near the optimum](theory.md)).  A ratio below 1 means that no mechanism with Gaussian noise
has an error this small.  The row *hushfade* is the plan that `hf.plan` makes by default, with
[the noise law](noise-laws.md) that has the smallest error.  *Memory* is the number of values kept
between steps, and *work* the number of additions and multiplications per step.  Mechanisms with
Laplace noise guarantee epsilon alone, without delta.

What the tables show:

- Among the mechanisms with Gaussian noise, the square root is within 0.2 % of the optimum for the
  three decays, and it needs no horizon.  For counting it is about 11 % above the optimum, and the
  normalized square root 5 %.  Bands save memory.  They cost little for fast decays and much for
  counting.
- If a record affects few releases, **Laplace noise on the inputs is even better** at this epsilon
  and delta, and gives a stronger guarantee.  Its noise has a standard deviation of 1.41 here,
  Gaussian noise {multiplier:.2f}.  In return its error grows faster with the length of the
  memory, its tails are heavier, and it composes worse: k releases cost k epsilon, with Gaussian
  noise about √k.  For counting and for long memories the Gaussian square root has a smaller
  error.
- **hushfade chooses the better of the two, or a mechanism between them.**  On this page the error
  of its plan is at most the error of the square root.
- With Gaussian noise, trees have 1.4 to 3.2 times the error of the square root.
- Splitting the budget over the steps by basic composition, as with libraries for single releases,
  is worse by orders of magnitude.  For a window, whose records affect few releases, it is worse
  by a factor of 3 to 10.
- Without delta the square root is a poor choice, because its ℓ1 sensitivity is large.  Noise on
  the inputs is at least as good as every Toeplitz pair (Young's inequality).  For counting over
  many steps smooth binary and Honaker's trees are better.  A plan with delta = 0 then uses sums
  over blocks of steps, which [have a smaller error than all of
  these](../results/noise-laws.md#without-delta).
- `compare` covers one stream and one participation, without keys and repeated records.

`hushfade.baselines` contains the other mechanisms.  `simulate` draws float noise and serves for
comparison only; hushfade offers no private release of trees and dense optima.  A plan can publish a
mechanism that is a Toeplitz pair, with hushfade's own integers and noise (Gaussian unless you pass
`law`):

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
    """Compare, draw and write the page, in about a minute."""
    epsilon, delta = GUARANTEE.epsilon, GUARANTEE.delta
    multiplier = GUARANTEE.noise_multiplier * epsilon
    parts = [FOREWORD.format(horizon=HORIZON, epsilon=epsilon, delta=delta, multiplier=multiplier)]
    for name, (title, decay) in DECAYS.items():
        found = compare(decay, GUARANTEE, HORIZON)
        picture = f"which-{name}.png"
        found.plot(IMAGES / picture)
        progress(f"compared: {title}")
        parts.append(_section(title, found, picture))
    write("explanation/which-mechanism.md", "\n".join(parts))


def _section(title: str, found: Comparison, picture: str) -> str:
    gaussian = [_cells(row) for row in found.rows if not row.pure]
    pure = [_cells(row) for row in found.rows if row.pure]
    columns = ["mechanism", "source", "largest", "root mean square", "ratio", "memory", "work", ""]
    return f"""
## {title}

No Gaussian factorization mechanism has a largest error below {found.least:.4g}.

{table(columns, gaussian)}

Without delta:

{table(columns, pure)}

![The error of each mechanism against time: {title}](../images/{picture})
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
