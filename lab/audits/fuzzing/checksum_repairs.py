"""Checksums corrected after a change, so that the fuzzers reach the code behind them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

# A document with a correct digest costs as much as it claims, so larger ones stay damaged.
_TAPS = 1 << 20
_SLOT = 256
_SUM = 32


def plan(data: bytes) -> bytes:
    """A plan's document with the digest of its other fields."""
    try:
        document = json.loads(data)
        old = document.pop("digest")
        document.pop("reported", None)  # the digest does not cover these figures
        if not isinstance(old, str) or not _cheap(document):
            return data
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return data
    new = hashlib.sha256(text.encode()).hexdigest()
    return data.replace(old.encode(errors="replace"), new.encode(), 1) if old else data


def _cheap(document: object) -> bool:
    """True if the document claims few taps."""
    match document:
        case {"taps": {"support": int(support)}}:
            return support <= _TAPS
    return True


def saved(magic: bytes) -> Callable[[bytes], bytes]:
    """A function that repairs the magic line, the header with its length, and the checksum."""
    start = len(magic) + 8

    def repair(data: bytes) -> bytes:
        if not data.startswith(magic) or len(data) < start + _SUM:
            return data
        length, body = data[len(magic) : start], data[start:-_SUM]
        try:
            text = body.decode("latin-1")
            header, end = json.JSONDecoder().raw_decode(text)
            if not _cheap(header):
                return data
            if isinstance(header, dict) and isinstance(header.get("plan"), str):
                whole = plan(header["plan"].encode(errors="replace")).decode()
                if whole != header["plan"]:
                    new = json.dumps(
                        header | {"plan": whole}, sort_keys=True, separators=(",", ":")
                    )
                    text, end = new + text[end:], len(new)
            length, body = end.to_bytes(8, "little"), text.encode("latin-1")
        except (ValueError, RecursionError):
            pass
        return summed(magic + length + body + bytes(_SUM))

    return repair


def summed(data: bytes) -> bytes:
    """The bytes with a correct checksum in the last 32 bytes."""
    return data[:-_SUM] + hashlib.sha256(data[:-_SUM]).digest()


def mark(data: bytes) -> bytes:
    """The mark with correct checksums in its slots and its line of accounts."""
    slots = [_slot(data[at : at + _SLOT]) for at in (0, _SLOT)]
    lines = [_line(line) for line in data[2 * _SLOT :].split(b"\n")]
    return b"".join(slots) + b"\n".join(lines)


def _slot(slot: bytes) -> bytes:
    words = slot.split()
    if len(words) < 2:
        return slot
    text = b" ".join(words[:-1])
    return (text + b" " + _hex(text) + b"\n").ljust(_SLOT)[:_SLOT]


def _line(line: bytes) -> bytes:
    text, _, _ = line.rpartition(b" ")
    return text + b" " + _hex(text) if text else line


def _hex(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
