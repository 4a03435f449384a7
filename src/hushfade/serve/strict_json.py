"""JSON that says one thing only: each field once, finite numbers, the fields that are expected."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, NoReturn

from hushfade.errors import Malformed

LARGEST = 2**63 - 1  # of a sequence or a step: what a database holds


def read(body: bytes, *, where: str = "the body") -> Any:
    """The document.  Raises Malformed, without a word of the content, if it is not a document."""
    try:
        return _DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError:  # before ValueError, which it is too
        problem = "must be UTF-8"
    except _Unclear as found:
        problem = found.problem
    except RecursionError:
        problem = "must not be nested that deep"
    except ValueError:  # its message may show what was sent
        problem = "must be JSON"
    raise Malformed(problem, argument=where)


def lines(body: bytes) -> tuple[list[int], list[Any]]:
    """The numbers of the lines that are not blank, and the document of each."""
    numbers, documents = [], []
    for number, line in enumerate(body.split(b"\n"), 1):
        if not line.strip():
            continue
        documents.append(read(line, where=f"line {number} of the body"))
        numbers.append(number)
    return numbers, documents


def fields(document: Any, *, needed: Collection[str], more: Collection[str] = ()) -> dict[str, Any]:
    """The document, if it is an object with the needed fields and none beyond `more`."""
    if not isinstance(document, dict):
        raise Malformed("the body must be a JSON object")
    for name in needed:
        if name not in document:
            raise Malformed(f"the body must have a field {name!r}")
    if not document.keys() <= {*needed, *more}:
        raise Malformed(f"the body must have no fields but {', '.join([*needed, *more])}")
    return document


def name(**given: Any) -> str:
    """The single keyword's value, if it is a name: 1 to 200 printable characters."""
    ((field, value),) = given.items()
    if not isinstance(value, str):
        raise Malformed(f"{field} must be a text")
    if not 0 < len(value) <= 200 or not value.isprintable():
        raise Malformed(f"{field} must be 1 to 200 printable characters")
    if "\ufffd" in value:  # what an address has for bytes that are none: two names would be one
        raise Malformed(f"{field} must be UTF-8")
    return value


def whole(*, least: int = 0, most: int = LARGEST, **given: Any) -> int:
    """The single keyword's value, if it is an integer from `least` to `most`."""
    ((field, value),) = given.items()
    if type(value) is not int or not least <= value <= most:
        raise Malformed(f"{field} must be an integer from {least} to {most}")
    return value


def digits(*, least: int = 0, most: int = LARGEST, **given: str) -> int:
    """The same of a text of decimal digits, as an address has them."""
    ((field, value),) = given.items()
    if not value.isascii() or not value.isdecimal() or len(value) > 19:
        raise Malformed(f"{field} must be an integer from {least} to {most}")
    return whole(least=least, most=most, **{field: int(value)})


class _Unclear(Exception):
    """JSON that different readers would understand differently."""

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
