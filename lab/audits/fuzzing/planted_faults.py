"""Parsers that break the invariants on purpose: each engine must find the faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

from hushfade.check import count
from hushfade.errors import InvalidValue
from lab.audits.fuzzing.documents import PLANS
from lab.audits.fuzzing.invariants import SECONDS, Target

SEED = b'{"kind": "sum", "length": 12, "key": "zq0001ed"}'


def _document(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidValue("no JSON") from None
    if not isinstance(found, dict):
        raise InvalidValue("no object")
    return found


def _planted(
    name: str, broken: Callable[[dict[str, Any]], object], seconds: float = SECONDS
) -> Any:
    @contextmanager
    def opened(directory: Path) -> Iterator[Target]:
        def read(data: bytes) -> None:
            broken(_document(data))

        yield Target(name, (SEED,), read, records=True, seconds=seconds)

    return opened


def _unchecked(document: dict[str, Any]) -> None:
    """Assumes that the length is a number, and so raises KeyError and TypeError."""
    if document.get("kind") == "sum" and not document["length"] > 0:
        raise InvalidValue("length must be > 0")


def _repeating(document: dict[str, Any]) -> None:
    """Repeats a record in its refusal."""
    if document.get("length") != 12:
        raise InvalidValue(f"length must be 12 for {document.get('key')!r}")


def _sleeping(document: dict[str, Any]) -> None:
    """Hangs if the length is not positive."""
    length = document.get("length")
    if isinstance(length, int) and length <= 0:
        sleep(60.0)


crashes = _planted("planted: an error of another kind", _unchecked)
leaks = _planted("planted: a refusal that repeats a record", _repeating)
hangs = _planted("planted: a length that never comes", _sleeping, seconds=0.1)


@contextmanager
def passages(directory: Path) -> Iterator[Target]:
    """An error behind four bytes, checked one by one: blind changes rarely reach it."""

    def read(data: bytes) -> None:
        first, second, third, fourth = (*(byte >> 4 for byte in data[:4]), 0, 0, 0, 0)[:4]
        if first != 6:
            raise InvalidValue("another word")
        if second != 8:
            raise InvalidValue("another word")
        if third != 7:
            raise InvalidValue("another word")
        if fourth != 5:
            raise InvalidValue("another word")
        raise LookupError

    yield Target("planted: an error behind four bytes", (bytes(8),), read)


@contextmanager
def changes(directory: Path) -> Iterator[Target]:
    """A stream that takes a step before it has checked its input completely."""
    stream = PLANS[0].start()

    def read(data: bytes) -> None:
        document = _document(data)
        stream.step()
        count(length=document.get("length"))

    yield Target("planted: a refusal that comes late", (SEED,), read, state=stream.save)
