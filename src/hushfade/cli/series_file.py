"""A TOML file that lists several series, for `hushfade plan --together`.

    [[series]]
    name = "daily"          also the name of its plan file
    window = "7d"           the decay: decay, half_life, alpha, power, window or weights
    every = "1d"            and horizon, low, high, resolution, keys
    mean = "delay"          a statistic: mean, share, variance, histogram, quantiles or ratio
    weight = 2              how much its error matters

Each field has the name and the meaning of an option.  Errors name the file and the series.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, get_args

from hushfade import check
from hushfade.cli import console
from hushfade.cli.options import DecayOptions, RecordOptions, TimeOptions
from hushfade.cli.options.decay import Kind
from hushfade.cli.options.name_lists import distinct
from hushfade.cli.options.statistics import StatisticOptions
from hushfade.errors import HushfadeError, InvalidType, InvalidValue
from hushfade.planning.series import Series

FIELDS = (
    "name", "decay", "half_life", "alpha", "power", "window", "weights", "every", "horizon", "low",
    "high", "resolution", "keys", "mean", "share", "variance", "histogram", "edges", "quantiles",
    "bins", "expect_records", "ratio", "numerator_high", "denominator_high", "largest_ratio",
    "weight",
)  # fmt: skip

_PARAMETERS = ("half_life", "alpha", "power", "window", "weights")  # each one defines a decay
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class ListedSeries(NamedTuple):
    """A series of the file, and the weight of its error."""

    series: Series
    weight: float


def read(path: Path) -> list[ListedSeries]:
    """The series in the file.  Raise if two names are equal."""
    with console.reading(path):
        try:
            content = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise InvalidValue("the file must be UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            raise InvalidValue(f"the file must be valid TOML: {error}") from None
        return _several(content)


def _several(content: dict[str, Any]) -> list[ListedSeries]:
    tables = content.get("series")
    if not isinstance(tables, list) or not tables or not isinstance(tables[0], dict):
        raise InvalidValue("the file must list series, each under a line [[series]]")
    for key in content:
        if key != "series":
            raise InvalidValue(
                f"unknown field {key[:40]!r} outside a series",
                remedy="write the fields of a series below a line [[series]]",
            )
    several: list[ListedSeries] = []
    places: dict[str, int] = {}
    for place, table in enumerate(tables, 1):
        with _naming_fields(f"series {place}"):
            name = _name(table)
            first = places.setdefault(name.lower(), place)  # some file systems ignore case
            if first != place:
                raise InvalidValue(
                    f"must differ from the name of series {first}", argument="name", got=repr(name)
                )
        with _naming_fields(f"series {name!r}"):
            several.append(_listed(table, name))
    return several


def _name(table: object) -> str:
    if not isinstance(table, dict):
        raise InvalidType("must be a table: write its fields under a line [[series]]")
    name = table.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidValue(
            "must be 1 to 64 letters, digits, '-', '_' or '.', starting with a letter or digit, "
            "because it names a file",
            argument="name",
            got="none" if name is None else repr(name)[:60],
        )
    return name


def _listed(table: dict[str, Any], name: str) -> ListedSeries:
    for field in table:
        if field not in FIELDS:
            raise InvalidValue(
                f"unknown field {field[:40]!r}", remedy=f"the fields are {', '.join(FIELDS)}"
            )
    named = [field for field in _PARAMETERS if field in table]
    if not named and "decay" not in table:
        raise InvalidValue(f'a decay must be given: decay = "none", or {", ".join(_PARAMETERS)}')
    if len(named) > 1:
        raise InvalidValue(f"{named[0]} and {named[1]} cannot be combined: a series has one decay")
    if ("low" in table) != ("high" in table):
        raise InvalidValue("low and high must both be given")
    time = TimeOptions(every=_text(table, "every"), horizon=_length(table, "horizon"))
    decay = DecayOptions(
        decay=_kind(table),
        half_life=_length(table, "half_life"),
        alpha=_number(table, "alpha"),
        power=_number(table, "power"),
        window=_length(table, "window"),
        weights=_weights(table),
    )
    records = RecordOptions(
        low=_number(table, "low"),
        high=_number(table, "high"),
        resolution=_number(table, "resolution"),
    )
    statistic = _statistic(table).statistic(records)
    low, high = (0.0, 1.0) if statistic is not None else records.bounds(valued=False)
    counts = records.counting and records.resolution is None and statistic is None
    series = Series(
        decay=decay.function(time.step),
        statistic=statistic,
        low=low,
        high=high,
        horizon=time.steps_to_horizon,
        keys=_keys(table),
        resolution=1.0 if counts else records.resolution,
        every=time.every,
        name=name,
    )
    return ListedSeries(series, check.positive(weight=table.get("weight", 1)))


@contextmanager
def _naming_fields(place: str) -> Iterator[None]:
    """A block whose errors name the series, and fields in place of options (half_life)."""
    try:
        yield
    except HushfadeError as error:
        argument = error.argument
        if argument is not None and argument.startswith("--"):
            error = error.about(argument.removeprefix("--").replace("-", "_"))
        raise InvalidValue(f"{place}: {error}") from None


# Fields --------------------------------------------------------------------------------------


def _kind(table: dict[str, Any]) -> Kind | None:
    given = table.get("decay")
    for kind in get_args(Kind):
        if given == kind:
            return kind  # type: ignore[no-any-return]
    if given is not None:
        kinds = ", ".join(get_args(Kind))
        raise InvalidValue(f"must be one of {kinds}", argument="decay", got=repr(given)[:60])
    return None


def _text(table: dict[str, Any], field: str) -> str | None:
    given = table.get(field)
    if given is not None and not isinstance(given, str):
        raise InvalidType('must be a string such as "1h"', argument=field, got=repr(given)[:60])
    return given


def _length(table: dict[str, Any], field: str) -> str | None:
    """A number of steps or a duration, as a string for an option."""
    given = table.get(field)
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise InvalidType(
            'must be a number of steps or a duration such as "24h"',
            argument=field,
            got=repr(given)[:60],
        )
    return repr(given)


def _number(table: dict[str, Any], field: str) -> float | None:
    given = table.get(field)
    return None if given is None else check.real(**{field: given})


def _weights(table: dict[str, Any]) -> str | None:
    """The weights of a custom decay, as a string for an option."""
    return _list(table, "weights", "[1, 0.5, 0.25]")


def _list(table: dict[str, Any], field: str, example: str) -> str | None:
    """A list of numbers, as a string for an option."""
    given = table.get(field)
    if given is None:
        return None
    if not isinstance(given, list) or not given:
        raise InvalidType(f"must be a list such as {example}", argument=field)
    return ",".join(repr(check.real(**{field: number})) for number in given)


def _statistic(table: dict[str, Any]) -> StatisticOptions:
    """The statistic, with the fields of its options; edges are a list."""
    fields: dict[str, Any] = {}
    for field in ("mean", "share", "variance", "histogram", "quantiles", "ratio"):
        given = table.get(field)
        if given is not None and not isinstance(given, str):
            raise InvalidType(
                'must be a string, as for hushfade run, such as "delay"',
                argument=field,
                got=repr(given)[:60],
            )
        fields[field] = given
    for field in ("expect_records", "numerator_high", "denominator_high", "largest_ratio"):
        fields[field] = _number(table, field)
    if table.get("bins") is not None:
        fields["bins"] = check.count(bins=table["bins"], least=2)
    return StatisticOptions(**fields, edges=_list(table, "edges", "[0, 18, 65, 120]"))


def _keys(table: dict[str, Any]) -> tuple[str, ...] | None:
    given = table.get("keys")
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(key, str) for key in given):
        raise InvalidType('must be a list of strings such as ["at", "ch"]', argument="keys")
    return distinct(given, "keys", "place")
