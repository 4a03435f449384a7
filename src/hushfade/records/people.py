"""The numbers of persons: names compared byte for byte, by a compiled hash table.

The hash is SipHash-1-3 (Aumasson and Bernstein, 2012) under a random key per table.  Without a
secret key, an attacker could send names with equal hashes, which would make the table slow.
Two names are the same person only if all their bytes are equal.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Signed
from hushfade.compiled import compiled, inlined
from hushfade.records.texts import Bytes, Offsets

_NONE = -1
_FEW = 1024
_AT_ONCE = 128  # rows whose slots are read together
_SHORT = 7  # bytes of a name that fits into a word together with its length
_Words = NDArray[np.uint64]


@dataclass(frozen=True, repr=False)
class Names:
    """The name of each row: the index of its text in `data`, or -1 for a fault.  Private."""

    data: Bytes
    offsets: Offsets
    places: Signed

    def __getitem__(self, chosen: NDArray[np.bool_] | Signed) -> Names:
        return Names(self.data, self.offsets, self.places[chosen])


class People:
    """Numbers persons in the order of their first record, across batches.

    Memory: the name of each person, and 40 to 72 bytes per person.
    """

    def __init__(self) -> None:
        self._key = np.frombuffer(os.urandom(16), dtype=np.uint64)
        self._slots = np.zeros((2 * _FEW, 2), dtype=np.uint64)
        self._data = np.empty(16 * _FEW, dtype=np.uint8)  # all names, one after another
        self._ends = np.zeros(_FEW, dtype=np.int64)  # where the name of each person ends
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def numbers(self, names: Names) -> Signed:
        """The number of each row's person; new persons get the next numbers; -1 for a fault."""
        numbers, row = np.empty(len(names.places), dtype=np.int64), 0
        while True:
            row, self._count = _number(
                names.data, names.offsets, names.places, row, self._key, self._slots, self._data,
                self._ends, self._count, numbers,
            )  # fmt: skip
            if row == len(numbers):
                return numbers
            place = names.places[row]
            self._grow(int(names.offsets[place + 1]) - int(names.offsets[place]))

    def names(self, persons: Signed) -> list[str]:
        """The names of these persons."""
        starts, data = np.append(0, self._ends), self._data
        return [
            data[start:end].tobytes().decode()
            for start, end in zip(starts[persons], starts[persons + 1], strict=True)
        ]

    def keep(self, persons: Signed) -> None:
        """Forget all other persons; the i-th of these persons then has the number i."""
        ends = self._ends[: self._count]
        lengths = np.diff(ends, prepend=0)[persons]
        kept = np.zeros(max(_FEW, len(persons)), dtype=np.int64)
        kept[: len(persons)] = np.cumsum(lengths)
        data = np.empty(max(16 * _FEW, int(lengths.sum())), dtype=np.uint8)
        _copy(self._data, ends, persons, data)
        self._data, self._ends, self._count = data, kept, len(persons)
        self._fill(max(2 * _FEW, 1 << (2 * len(persons)).bit_length()))

    def _grow(self, length: int) -> None:
        """Make room for one more person with a name of this many bytes."""
        used = int(self._ends[self._count - 1]) if self._count else 0
        if used + length > len(self._data):
            self._data = np.resize(self._data, 2 * (used + length))
        if self._count == len(self._ends):
            self._ends = np.resize(self._ends, 2 * self._count)
        if 2 * (self._count + 1) > len(self._slots):
            self._fill(2 * len(self._slots))

    def _fill(self, slots: int) -> None:
        self._slots = np.zeros((slots, 2), dtype=np.uint64)
        _insert(self._data, self._ends, self._count, self._key, self._slots)


@compiled
def _number(
    data: Bytes,
    offsets: Offsets,
    places: Signed,
    row: int,
    key: _Words,
    slots: _Words,
    known: Bytes,
    ends: Signed,
    count: int,
    numbers: Signed,
) -> tuple[int, int]:
    """Number the rows from `row` on, until there is no room; that row, and the number of persons.

    A slot has the number of a person, from 1 (0: the slot is empty), and the word of the name.  Two
    short names are equal if their words are.  So a row mostly reads memory at one place only, and
    the places of some rows are read in advance, all at once.
    """
    mask = np.uint64(len(slots) - 1)
    hashes, seen = np.empty(_AT_ONCE, dtype=np.uint64), np.uint64(0)
    while row < len(places):
        first, last = row, min(row + _AT_ONCE, len(places))
        for i in range(first, last):
            place = places[i]
            if place >= 0:
                hashes[i - first] = _hash(data, offsets[place], offsets[place + 1], key)
        for i in range(first, last):
            if places[i] >= 0:
                seen ^= slots[hashes[i - first] & mask, 0]
        while row < last:
            place = places[row]
            if place < 0:
                numbers[row] = _NONE
                row += 1
                continue
            start, end = offsets[place], offsets[place + 1]
            length, mixed = end - start, hashes[row - first]
            word = _word(data, start, length, mixed)
            slot, person = mixed & mask, np.int64(_NONE)
            while slots[slot, 0] != 0:
                if slots[slot, 1] == word:
                    person = np.int64(slots[slot, 0]) - 1
                    if length <= _SHORT or _same(data, start, length, known, ends, person):
                        break
                    person = np.int64(_NONE)
                slot = (slot + np.uint64(1)) & mask
            if person == _NONE:
                used = ends[count - 1] if count > 0 else 0
                full = 2 * (count + 1) > len(slots) or count == len(ends)
                if full or used + length > len(known):
                    return row, count
                for at in range(length):
                    known[used + at] = data[start + at]
                ends[count] = used + length
                slots[slot, 0], slots[slot, 1] = np.uint64(count + 1), word
                person, count = np.int64(count), count + 1
            numbers[row] = person
            row += 1
        hashes[0] = seen  # so that the compiler keeps the reads
    return row, count


@compiled
def _insert(known: Bytes, ends: Signed, count: int, key: _Words, slots: _Words) -> None:
    """Enter all persons into empty slots.  Their names differ, so nothing is compared."""
    mask = np.uint64(len(slots) - 1)
    for person in range(count):
        first = ends[person - 1] if person > 0 else 0
        length = ends[person] - first
        mixed = _hash(known, first, ends[person], key)
        slot = mixed & mask
        while slots[slot, 0] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot, 0] = np.uint64(person + 1)
        slots[slot, 1] = _word(known, first, length, mixed)


@inlined
def _word(data: Bytes, start: int, length: int, mixed: np.uint64) -> np.uint64:
    """A short name and its length in one word; for other names the hash, with its top bit set."""
    if length > _SHORT:
        return mixed | np.uint64(1 << 63)
    return _eight(data, start, length) | np.uint64(length) << np.uint64(56)


@inlined
def _same(
    data: Bytes, start: int, length: int, known: Bytes, ends: Signed, person: np.int64
) -> bool:
    """Whether a name is the name of this person, byte for byte."""
    first = ends[person - 1] if person > 0 else 0
    same, at = bool(ends[person] - first == length), 0
    while same and at < length:
        same = bool(known[first + at] == data[start + at])
        at += 1
    return same


@compiled
def _copy(known: Bytes, ends: Signed, persons: Signed, data: Bytes) -> None:
    """Copy the names of these persons, one after another."""
    used = 0
    for i in range(len(persons)):
        first = ends[persons[i] - 1] if persons[i] > 0 else 0
        for at in range(first, ends[persons[i]]):
            data[used] = known[at]
            used += 1


@inlined
def _hash(data: Bytes, start: int, end: int, key: _Words) -> np.uint64:
    """SipHash-1-3 of some bytes."""
    a, b = key[0] ^ np.uint64(0x736F6D6570736575), key[1] ^ np.uint64(0x646F72616E646F6D)
    c, d = key[0] ^ np.uint64(0x6C7967656E657261), key[1] ^ np.uint64(0x7465646279746573)
    at, length = start, end - start
    while True:
        left = min(end - at, 8)
        word = _eight(data, at, left)
        if left < 8:
            word |= np.uint64(length & 0xFF) << np.uint64(56)
        d ^= word
        a, b, c, d = _round(a, b, c, d)
        a ^= word
        at += 8
        if left < 8:
            break
    c ^= np.uint64(0xFF)
    for _ in range(3):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@inlined
def _eight(data: Bytes, at: int, left: int) -> np.uint64:
    """Up to eight bytes as a word, the first byte lowest."""
    word = np.uint64(0)
    if at + 8 <= len(data):  # one load, without a branch per byte
        for i in range(8):
            word |= np.uint64(data[at + i]) << np.uint64(8 * i)
        if left < 8:
            word &= (np.uint64(1) << np.uint64(8 * left)) - np.uint64(1)
        return word
    for i in range(left):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@inlined
def _round(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    a += b
    c += d
    b, d = _turned(b, 13) ^ a, _turned(d, 16) ^ c
    a = _turned(a, 32)
    c += b
    a += d
    b, d = _turned(b, 17) ^ c, _turned(d, 21) ^ a
    return a, b, _turned(c, 32), d


@inlined
def _turned(word: np.uint64, bits: int) -> np.uint64:
    """The word rotated to the left."""
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@compiled
def siphash(data: Bytes, key: _Words) -> np.uint64:
    """SipHash-1-3 of all bytes."""
    return _hash(data, 0, len(data), key)
