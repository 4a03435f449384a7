"""Declaration of options: a group of options is a frozen dataclass, and its fields are options.

A field and its option have the same name: `half_life` is `--half-life`.  This module lists the
panels of the help in the order in which `--help` shows them.  Modules that declare shared groups
omit `from __future__ import annotations`, because derived groups in other modules could not resolve
the annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

from cyclopts import CycloptsError, Group, Parameter, Token

from hushfade.errors import HushfadeError

_PANELS = (
    "Decay", "Time", "Guarantee", "Records", "Statistic", "Mechanism", "Several series", "Noise",
    "Store", "Service", "Limits", "Token", "Restore", "Audit", "Output",
)  # fmt: skip

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class OptionGroup:
    """The base class of option groups."""

    def given(self, *names: str) -> list[str]:
        """The options that differ from their defaults, among these fields or among all fields."""
        return [
            option_name(field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default and (not names or field.name in names)
        ]

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of all fields."""
        return tuple(field.name for field in fields(cls))


@dataclass_transform(frozen_default=True, kw_only_default=True)
def option_group(panel: str) -> Callable[[type[T]], type[T]]:
    """A decorator: the class becomes a frozen dataclass whose fields are options of the panel."""
    shown = Parameter(name="*", group=Group(panel, sort_key=_PANELS.index(panel)))
    return lambda cls: shown(dataclass(frozen=True, kw_only=True)(cls))


def option_name(field: str) -> str:
    """The option of a field.

    >>> option_name("half_life")
    '--half-life'
    """
    return "--" + field.replace("_", "-")


@contextmanager
def naming_options(*groups: OptionGroup, **arguments: str) -> Iterator[None]:
    """A block whose errors name options in place of arguments.

    An argument belongs to the field of the same name in one of the groups.  Keyword arguments state
    other pairs: `length="window"`.
    """
    try:
        yield
    except HushfadeError as error:
        known = {field.name: field.name for group in groups for field in fields(group)} | arguments
        if error.argument not in known:
            raise
        raise error.about(option_name(known[error.argument])) from None


def option(text: str, metavar: str, *, default: str | bool | None = None, **more: Any) -> Parameter:
    """An option with a value; `text` is its help, `default` its default in words, or False."""
    return Parameter(help=text, metavar=metavar, show_default=default, negative=(), **more)


def choice(text: str) -> Parameter:
    """An option whose value is one of the words of a `Literal`."""
    return Parameter(help=text, negative=())


def flag(text: str, *, negative: str | tuple[()] = ()) -> Parameter:
    """An option without a value; `negative` is the option that means the opposite."""
    return Parameter(help=text, show_default=False, negative=negative)


def number(text: str, **more: Any) -> Parameter:
    """An option whose value is a number."""
    return option(text, "NUMBER", converter=_number, **more)


def count(text: str, metavar: str = "COUNT", **more: Any) -> Parameter:
    """An option whose value is an integer."""
    return option(text, metavar, converter=_integer, **more)


def number_in(text: str) -> float:
    """The number in the text.  Only ASCII digits count, although Python also reads 1_000.

    >>> number_in("1e-6")
    1e-06
    """
    if "_" in text or not text.isascii():
        raise ValueError
    return float(text)


def _number(kind: object, tokens: Sequence[Token]) -> float:
    return _converted(number_in, tokens, "a number")


def _integer(kind: object, tokens: Sequence[Token]) -> int:
    def integer(text: str) -> int:
        if not text.removeprefix("-").isdecimal() or not text.isascii():
            raise ValueError
        return int(text)

    return _converted(integer, tokens, "an integer")


def _converted(convert: Callable[[str], T], tokens: Sequence[Token], kind: str) -> T:
    (token,) = tokens
    try:
        return convert(token.value)
    except ValueError:
        message = f"{token.keyword} must be {kind}, got {token.value[:40]!r}"
        raise CycloptsError(msg=message) from None
