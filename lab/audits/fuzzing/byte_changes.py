"""Changes of well-formed bytes: each is a pure function of the bytes and two numbers.

So hypothesis can draw and shrink them, and a coverage-guided fuzzer can make them from a seed.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Change: TypeAlias = tuple[int, int, int]
"""The index of the change, its position, and the index of the new content."""

LONGEST = 1 << 16  # the most bytes of an input

NUMBERS = (
    b"0", b"-0.0", b"1", b"-1", b"2", b"0.5", b"1e999", b"-1e999", b"NaN", b"Infinity",
    b"-Infinity", b"nan", b"inf", b"1e-400", b"1e308", b"5e-324", b"255", b"256", b"65536",
    b"2147483648", b"9007199254740993", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775809", b"18446744073709551616", b"9" * 400, b"9" * 5000, b"1_000",
    "１２".encode(), "٣".encode(), b"01", b"0x10", b"+1", b"1.", b".5", b"1e", b"--1", b"1 2",
    b" 1", b"1,5", b"true", b"null", b"73000137", b"7300.0137",
)  # fmt: skip
TEXTS = (
    b"", b"zq0001ed", b"\\u0000", b"\\ud800", b"\\udfff\\ud800", b"a" * 300, b"\xed\xa0\x80",
    "\u202e".encode(), "\u00a0".encode(), "🂡".encode(), b"\\", b"\t", b"\x00", b"'", b'""',
    b"a\nb", b"2026-01-01T00:00", b"1970-01-01", b"9999-12-31T23:59:59Z", b"-1h", b"1mo", b"at",
    b"add_remove", b"replace", b"none", b"exponential", b"custom", b"mixture", b"normalized",
    b"float64", b"e\xcc\x81",
)  # fmt: skip
PIECES = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\n", b"\n\n", b'"', b'""', b",", b"\t",
    b"{", b"}", b"[", b"]", b":", b"\\", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"'",
    b" ", b"\x1f\x8b\x08\x00", b"PAR1", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f",
    b"\x80" * 9 + b"\x01", "\u2028".encode(), "\u0085".encode(), b"#", b";", b"zq0002ed",
    b"73000237",
)  # fmt: skip
VALUES = (
    b"null", b"true", b"false", b"[]", b"{}", b"[[]]", b'""', b'"a"', b'[{"key": 1}]', b"[1, 2]",
    b'{"kind": "none"}', b'{"kind": "custom", "values": []}', b'{"kind": "mixture", "parts": [1]}',
    b'"\\ud800"', b'"zq0003ed"', b"[" * 60 + b"]" * 60, b"[0, 0, 0]", b"[1, 0]", b"[-1]",
    b'["a", "a"]',
)  # fmt: skip
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_TEXT = re.compile(rb'(?<=")[^"\n]{0,80}(?=")|[A-Za-z_]{2,40}')
_HERE = "\ue000here"


def changed(data: bytes, changes: Sequence[Change]) -> bytes:
    """The bytes after these changes, one after the other.

    >>> changed(b'{"a": 1}', [(CHANGES.index(_flip), 6, 0)])
    b'{"a": 0}'
    """
    for which, where, what in changes:
        data = CHANGES[which % len(CHANGES)](data, where, what)[:LONGEST]
    return data


def any_change(rng: random.Random) -> Change:
    """A random change."""
    return rng.randrange(len(CHANGES)), rng.randrange(1 << 16), rng.randrange(1 << 16)


def _cut(data: bytes, where: int, what: int) -> bytes:
    at = where % (len(data) + 1)
    return data[:at] if what % 2 else data[at:]


def _flip(data: bytes, where: int, what: int) -> bytes:
    if not data:
        return data
    at = where % len(data)
    return data[:at] + bytes([data[at] ^ (what % 255 + 1)]) + data[at + 1 :]


def _insert(data: bytes, where: int, what: int) -> bytes:
    at = where % (len(data) + 1)
    return data[:at] + PIECES[what % len(PIECES)] + data[at:]


def _drop(data: bytes, where: int, what: int) -> bytes:
    at = where % (len(data) + 1)
    return data[:at] + data[at + 1 + what % 16 :]


def _repeat(data: bytes, where: int, what: int) -> bytes:
    at = where % (len(data) + 1)
    length = 1 + what % 64
    return data[: at + length] + data[at:]


def _line(data: bytes, where: int, what: int) -> bytes:
    """The bytes with a line repeated, moved or removed."""
    lines = data.split(b"\n")
    line = lines[where % len(lines)]
    if what % 3 == 0:
        lines.insert(what // 3 % len(lines), line)
    else:
        del lines[where % len(lines)]
        if what % 3 == 1:
            lines.append(line)
    return b"\n".join(lines)


def _token(pattern: re.Pattern[bytes], others: Sequence[bytes], least: int) -> Any:
    def change(data: bytes, where: int, what: int) -> bytes:
        found = [match.span() for match in pattern.finditer(data)]
        if not found:
            return data
        start, end = found[where % len(found)]
        return data[:start] + others[what % least] + data[end:]

    return change


def _value(data: bytes, where: int, what: int) -> bytes:
    """The JSON document with another value in place of one of its values."""
    others = VALUES + NUMBERS
    return _in_json(data, where, lambda _: others[what % len(others)])


def _deep(data: bytes, where: int, what: int) -> bytes:
    """The JSON document with a value nested about as deep as the parser can read."""
    depth = 900 + what % 110
    left, right = ((b"[", b"]"), (b'{"a":', b"}"))[what // 110 % 2]
    return _in_json(data, where, lambda old: left * depth + old + right * depth)


def _field(data: bytes, where: int, what: int) -> bytes:
    """The JSON document with a field removed, repeated or added."""
    document = _document(data)
    holders = [holder for holder in _holders(document) if isinstance(holder, dict) and holder]
    if not holders:
        return data
    holder = holders[where % len(holders)]
    key = list(holder)[what // 3 % len(holder)]
    if what % 3 == 0:
        del holder[key]
    elif what % 3 == 1:
        holder["more"] = holder[key]
    else:
        holder[_HERE] = holder[key]
    text = json.dumps(document, indent=1)
    return text.replace(json.dumps(_HERE), json.dumps(key), 1).encode()


def _whole(data: bytes, where: int, what: int) -> bytes:
    """The same bytes in another encoding or layout."""
    ways: tuple[Callable[[bytes], bytes], ...] = (
        lambda d: b"\xef\xbb\xbf" + d,
        lambda d: d.decode("utf-8", "replace").encode("utf-16"),
        lambda d: d.replace(b"\n", b"\r\n"),
        lambda d: d.replace(b"\n", b"\r"),
        lambda d: d + d,
        lambda d: b"[" * 100_000 + d,
        lambda d: d.swapcase(),
        lambda d: d.replace(b",", b";"),
        lambda d: b"",
        lambda d: d.rstrip(b"\n"),
    )
    return ways[what % len(ways)](data)


CHANGES: tuple[Callable[[bytes, int, int], bytes], ...] = (
    _token(_NUMBER, NUMBERS, len(NUMBERS)),
    _value,
    _flip,
    _insert,
    _token(_TEXT, TEXTS, len(TEXTS)),
    _field,
    _cut,
    _drop,
    _line,
    _repeat,
    _deep,
    _whole,
)


# JSON documents -----------------------------------------------------------------------------


def _document(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _holders(document: Any) -> list[Any]:
    found, waiting = [], [document]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict | list):
            found.append(holder)
            waiting += holder.values() if isinstance(holder, dict) else holder
    return found


def _in_json(data: bytes, where: int, new: Callable[[bytes], bytes]) -> bytes:
    """The document with one of its values replaced by `new(value)`."""
    document = _document(data)
    places = [
        (holder, key)
        for holder in _holders(document)
        for key in (list(holder) if isinstance(holder, dict) else range(len(holder)))
    ]
    if not places:
        return data
    holder, key = places[where % len(places)]
    try:
        old, holder[key] = json.dumps(holder[key]).encode(), _HERE
        text = json.dumps(document, indent=1).encode()
    except RecursionError:
        return data
    return text.replace(json.dumps(_HERE).encode(), new(old), 1)
