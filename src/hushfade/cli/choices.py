"""From the values of options to hushfade's objects.

Everything is a pure function, `keys_of` apart, which may read a file.  Messages name the options:
'--half-life must be > 0, got nan', '--half-life and --window exclude each other'.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from hushfade.cli import console
from hushfade.cli.options import DecayKind, MethodName
from hushfade.decay import CustomDecay, Decay, Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.errors import HushfadeError, InvalidValue
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan
from hushfade.privacy.guarantee import Guarantee, Neighbours
from hushfade.records import duration

Steps = TypeVar("Steps", int, Fraction)

DELTA = 1e-6  # where epsilon is told when mu or rho is the promise

_PARAMETERS: dict[str, DecayKind] = {
    "--half-life": "exponential",
    "--alpha": "exponential",
    "--power": "power",
    "--window": "window",
    "--weights": "custom",
}
_OPTIONS = {"length": "--window", "every": "--every"} | {
    name.removeprefix("--").replace("-", "_"): name
    for name in (
        *_PARAMETERS, "--epsilon", "--delta", "--mu", "--rho", "--participations", "--separation",
        "--records-per-step", "--low", "--high", "--resolution", "--keys", "--horizon",
        "--start", "--end", "--confidence", "--skip-empty", "--neighbours",
    )
}  # fmt: skip
_LENGTHS = {  # what `duration` says of a length, and what its reader here can do about it
    "must be like 1h, 90min or 7d": "must be a number of steps or a duration such as 24h",
    "must be in steps where a step has no length": "must be in steps unless --every is given",
}
_BOUNDS = (
    "bounds taken from the data would themselves reveal a record, since the largest value is one "
    "person's"
)


def every_of(every: str | None) -> int | None:
    """A step's length in nanoseconds, None where it has none.

    >>> every_of("1h") == 3600 * 10**9
    True
    """
    return None if every is None else duration.nanoseconds(every, name="--every")


def decay_of(
    kind: DecayKind | None = None,
    *,
    half_life: str | None = None,
    alpha: float | None = None,
    power: float | None = None,
    window: str | None = None,
    weights: str | None = None,
    every: int | None = None,
) -> Decay:
    """The decay that the options say; `every` is a step's length in nanoseconds.

    >>> decay_of(half_life="24h", every=every_of("1h"))
    Exponential(half_life=24.0)
    >>> decay_of("power")
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: --decay power needs --power
    """
    values = dict(zip(_PARAMETERS, (half_life, alpha, power, window, weights), strict=True))
    given = [name for name, value in values.items() if value is not None]
    if len(given) > 1:
        raise InvalidValue(f"{given[0]} and {given[1]} exclude each other")
    if not given:
        if kind is None:
            known = ", ".join(_PARAMETERS)
            raise InvalidValue(f"a decay must be given: --decay none, or one of {known}")
        if kind != "none":
            needed = [name for name, of_kind in _PARAMETERS.items() if of_kind == kind]
            raise InvalidValue(f"--decay {kind} needs {' or '.join(needed)}")
        return NoDecay()
    if kind is not None and kind != _PARAMETERS[given[0]]:
        raise InvalidValue(f"--decay {kind} and {given[0]} exclude each other")
    with said_as_options():
        if half_life is not None:
            found = _steps(duration.steps, half_life, every, "--half-life")
            return Exponential(half_life=float(found))
        if alpha is not None:
            return Exponential(alpha=alpha)
        if power is not None:
            return PowerLaw(power=power)
        if window is not None:
            return SlidingWindow(_steps(duration.whole_steps, window, every, "--window"))
        assert weights is not None
        return CustomDecay(tuple(_numbers(weights)))


def guarantee_of(
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    rho: float | None = None,
    neighbours: Neighbours = "add_remove",
    participations: int = 1,
    separation: str = "1",
    records_per_step: int = 1,
    every: int | None = None,
) -> Guarantee:
    """The guarantee that the options say: epsilon and delta, or mu, or rho.

    >>> guarantee_of(epsilon=1, delta=1e-6).neighbours
    'add_remove'
    >>> round(guarantee_of(mu=0.5).epsilon, 4)  # at delta = 1e-6
    2.2541
    """
    promises = {"--epsilon": epsilon, "--mu": mu, "--rho": rho}
    given = [name for name, value in promises.items() if value is not None]
    if len(given) > 1:
        raise InvalidValue(f"{given[0]} and {given[1]} exclude each other")
    if not given:
        raise InvalidValue("a guarantee must be given: --epsilon and --delta, or --mu, or --rho")
    if epsilon is not None and delta is None:
        raise InvalidValue("--epsilon needs --delta, such as 1e-6: well below 1 / number of people")
    apart = whole(separation, every, "--separation")
    told = DELTA if delta is None else delta
    with said_as_options():
        if epsilon is not None:
            return Guarantee(epsilon, told, neighbours, participations, apart, records_per_step)
        make, value = (Guarantee.from_rho, rho) if mu is None else (Guarantee.from_mu, mu)
        assert value is not None
        return make(
            value,
            delta=told,
            neighbours=neighbours,
            participations=participations,
            separation=apart,
            records_per_step=records_per_step,
        )


def bounds_of(low: float | None, high: float | None, *, valued: bool) -> tuple[float, float]:
    """What a record is clipped to; records without values are counted, as 1 each.

    >>> bounds_of(None, None, valued=False)
    (0.0, 1.0)
    """
    if low is None and high is None and not valued:
        return 0.0, 1.0
    if low is None or high is None:
        where = " where records have values" if low is high else ""
        raise InvalidValue(f"--low and --high must both be given{where}: {_BOUNDS}")
    return low, high


def keys_of(keys: str | None, keys_file: Path | None) -> tuple[str, ...] | None:
    """The declared keys, from the option or from the file; None if there are none.

    A message tells the place of what is wrong, never a key.

    >>> keys_of("at,ch,de", None)
    ('at', 'ch', 'de')
    """
    if keys is not None and keys_file is not None:
        raise InvalidValue("--keys and --keys-file exclude each other")
    if keys is not None:
        return _distinct(keys.split(","), "--keys", "place")
    if keys_file is None:
        return None
    with console.reading(keys_file):
        try:
            text = keys_file.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidValue("the file must be UTF-8") from None
        # only line feeds end a line: splitlines would also cut at characters that keys may have
        lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        return _distinct(lines, "keys", "line")


def whole(text: str, every: int | None, option: str) -> int:
    """The text as a whole number of steps.

    >>> whole("7d", every_of("1h"), "--window")
    168
    """
    return _steps(duration.whole_steps, text, every, option)


def plan_of(
    decay: Decay,
    guarantee: Guarantee,
    *,
    low: float,
    high: float,
    horizon: str | None = None,
    method: MethodName = "square_root",
    resolution: float | None = None,
    keys: Iterable[str] | None = None,
    every: int | None = None,
) -> Plan:
    """The plan that the options say."""
    steps = None if horizon is None else whole(horizon, every, "--horizon")
    with said_as_options():
        return plan(
            decay,
            guarantee,
            low=low,
            high=high,
            horizon=steps,
            method=method,
            keys=keys,
            resolution=resolution,
        )


@contextmanager
def said_as_options() -> Iterator[None]:
    """Arguments named in a message of hushfade are named as the options that set them."""
    try:
        yield
    except HushfadeError as error:
        raise type(error)(_renamed(str(error))) from None


def _renamed(message: str) -> str:
    names = "|".join(sorted(_OPTIONS, key=len, reverse=True))
    message = re.sub(r"method='(\w+)'", r"--method \1", message)
    message = re.sub(rf"^({names})\b", lambda found: _OPTIONS[found[1]], message)
    return re.sub(r"\bresolution = ", "--resolution ", message)


def _steps(read: Callable[..., Steps], text: str, every: int | None, option: str) -> Steps:
    """The text in steps; numbers that are no length of time are told apart from other words."""
    try:
        number = float(text)
    except ValueError:
        number = 1.0
    if not number > 0:
        raise InvalidValue(f"{option} must be > 0, got {number:g}")
    if not math.isfinite(number):
        raise InvalidValue(f"{option} must be finite, got {number:g}")
    try:
        return read(text, every, name=option)
    except InvalidValue as error:
        message = str(error)
        for said, better in _LENGTHS.items():
            message = message.replace(said, better)
        raise InvalidValue(message) from None


def _numbers(text: str) -> list[float]:
    try:
        if "_" in text or not text.isascii():  # 1_000 and full-width digits are Python's, not ours
            raise ValueError
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidValue(
            f"--weights must be numbers with commas between them, got {text[:40]!r}"
        ) from None


def _distinct(names: list[str], what: str, place: str) -> tuple[str, ...]:
    first: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if not name.strip():
            raise InvalidValue(f"{what} must not be empty, got nothing at {place} {number}")
        if name != name.strip():
            raise InvalidValue(
                f"{what} must have no space around them, got one at {place} {number}"
            )
        if name in first:
            raise InvalidValue(
                f"{what} must differ from each other, got the key of {place} {first[name]} "
                f"again at {place} {number}"
            )
        first[name] = number
    return tuple(names)
