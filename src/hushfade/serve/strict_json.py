"""Unambiguous JSON: each field once, finite numbers, and only the expected fields."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, NoReturn

from hushfade.errors import Malformed

LARGEST = 2**63 - 1  # the largest sequence or step that a database can store


def read(body: bytes, *, where: str = "the body") -> Any:
    """The parsed document.  Raise Malformed, without the content, if it is not valid JSON."""
    try:
        return _DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError:  # before its base class ValueError
        problem = "must be UTF-8"
    except _Unclear as found:
        problem = found.problem
    except RecursionError:
        problem = "must not be nested so deeply"
    except ValueError:  # its message may contain data
        problem = "must be valid JSON"
    raise Malformed(problem, argument=where)


def lines(body: bytes) -> tuple[list[int], list[Any]]:
    """The number and the document of each line that is not blank."""
    numbers, documents = [], []
    for number, line in enumerate(body.split(b"\n"), 1):
        if not line.strip():
            continue
        documents.append(read(line, where=f"line {number} of the body"))
        numbers.append(number)
    return numbers, documents


def fields(document: Any, *, needed: Collection[str], more: Collection[str] = ()) -> dict[str, Any]:
    """The document.  Raise unless it is an object with the needed fields and at most `more`."""
    if not isinstance(document, dict):
        raise Malformed("the body must be a JSON object")
    for name in needed:
        if name not in document:
            raise Malformed(f"the body must have the field {name!r}")
    if not document.keys() <= {*needed, *more}:
        raise Malformed(f"the body must have no fields but {', '.join([*needed, *more])}")
    return document


def name(**given: Any) -> str:
    """The value of the single keyword.  Raise unless it is 1 to 200 printable characters."""
    ((field, value),) = given.items()
    if not isinstance(value, str):
        raise Malformed(f"{field} must be a string")
    if not 0 < len(value) <= 200 or not value.isprintable():
        raise Malformed(f"{field} must be 1 to 200 printable characters")
    if "\ufffd" in value:  # replaces invalid bytes in a URL: two names would become one
        raise Malformed(f"{field} must be UTF-8")
    return value


def whole(*, least: int = 0, most: int = LARGEST, **given: Any) -> int:
    """The value of the single keyword.  Raise unless it is an integer from `least` to `most`."""
    ((field, value),) = given.items()
    if type(value) is not int or not least <= value <= most:
        raise Malformed(f"{field} must be an integer from {least} to {most}")
    return value


def digits(*, least: int = 0, most: int = LARGEST, **given: str) -> int:
    """The integer in a string of decimal digits from a URL, from `least` to `most`."""
    ((field, value),) = given.items()
    if not value.isascii() or not value.isdecimal() or len(value) > 19:
        raise Malformed(f"{field} must be an integer from {least} to {most}")
    return whole(least=least, most=most, **{field: int(value)})


def decimal(**given: str) -> float:
    """The number in plain decimal notation from a URL, such as 20 or -0.5."""
    ((field, value),) = given.items()
    if not _DECIMAL.fullmatch(value):
        raise Malformed(f"{field} must be a decimal number, such as 20")
    return float(value)


_DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")


class _Unclear(Exception):
    """JSON that different parsers would read differently."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Unclear("must have each field once")
    return found


def _constant(text: str) -> NoReturn:
    raise _Unclear("must have finite numbers")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_constant)
