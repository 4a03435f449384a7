"""Numbers of persons: byte for byte, from batch to batch, and after others are forgotten."""

from itertools import pairwise

import numpy as np
import pyarrow as pa

from hushfade.records import parse_columns, people
from hushfade.records.batch import Batch
from hushfade.records.people import Names, People
from hushfade.records.texts import of_list, parts, read_only

# by length; of the bytes 0, 1, 2, ...
KNOWN = {
    0: 0xF46D3BFE2EA281DC, 1: 0x5BB2C195FE70A449, 7: 0x3DD20BC6123B60E0, 8: 0x5124317F8CFC24CB,
    9: 0x9D1F9DBB9125D122, 15: 0x7F501F340ECE0C62, 16: 0xA07BF4038D638986, 63: 0x9C56DBE0649233F3,
}  # fmt: skip


def numbered(people, values, kind=None):
    column = values if isinstance(values, pa.Array) else pa.array(values, kind)
    names, codes = parse_columns.names(Batch({"user": column}, len(column), str), "u")
    assert not codes.any()
    return people.numbers(names).tolist()


def named(names):
    return Names(*parts(of_list(names)), np.arange(len(names)))


def random_names(rng, count):
    """Short and long names of few letters, with null bytes, so that prefixes and twins are many."""
    lengths = rng.integers(1, rng.choice([3, 9, 20, 300]), count)
    return ["".join(rng.choice(["a", "b", "\0", "é"], length)) for length in lengths]


def test_people_keep_their_number_from_batch_to_batch():
    people = People()
    assert numbered(people, ["ann", "bob", "ann"]) == [0, 1, 0]
    assert numbered(people, ["cy", "bob"]) == [2, 1]
    assert numbered(people, [], pa.string()) == []
    assert len(people) == 3


def test_a_person_is_the_same_in_text_and_in_numbers():
    people = People()
    assert numbered(people, ["7", "8", "07"]) == [0, 1, 2]
    for kind in (pa.int64(), pa.uint8(), pa.dictionary(pa.int8(), pa.string())):
        assert numbered(people, pa.array([8, 7]).cast(pa.string()).cast(kind)) == [1, 0]


def wrong_numbers():
    """How often the table differs from a dictionary of names, also while it forgets."""
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(6):
        table, known = People(), {}
        for _ in range(8):
            names = random_names(rng, int(rng.integers(0, 3000)))
            expected = [known.setdefault(name, len(known)) for name in names]
            wrong += table.numbers(named(names)).tolist() != expected
            if len(table) != len(known):
                wrong += 1
                break
            if rng.random() < 0.4 and known:
                chosen = rng.permutation(len(known))[: rng.integers(len(known))]
                table.keep(chosen)
                texts = list(known)
                known = {texts[person]: number for number, person in enumerate(chosen)}
    return wrong


def test_the_table_numbers_names_like_a_dictionary(monkeypatch):
    assert wrong_numbers() == 0
    # the control: if bits of a short hash decided, some names would be the same person
    right = People.numbers

    def by_hash(self, names):
        ends = names.offsets.tolist()
        key = np.zeros(2, dtype=np.uint64)
        short = [str(people.siphash(names.data[a:b], key) >> np.uint64(52))
                 for a, b in pairwise(ends)]  # fmt: skip
        return right(self, named(short))

    monkeypatch.setattr(People, "numbers", by_hash)
    assert wrong_numbers() > 0


def test_equal_hashes_do_not_merge_persons():
    """Every slot has the hash of the second name and the number of the first."""
    table = People()
    assert table.numbers(named(["ann the first"])).tolist() == [0]
    mixed = people.siphash(read_only(b"bob the second"), table._key)
    table._slots[:] = 1, mixed | np.uint64(1 << 63)
    table._slots[5] = 0
    assert table.numbers(named(["bob the second"] * 2)).tolist() == [1, 1]


def test_the_words_of_short_names_are_the_names():
    """Equal words mean equal names, so the table compares no further bytes."""
    names = [b"", b"a", b"a\0", b"\0a", b"aaaaaaa", b"aaaaaa", b"\xff" * 7, b"\0" * 7, b"aaaaaaaa"]
    table = People()
    assert table.numbers(named([name.decode("latin-1") for name in names])).tolist() == [*range(9)]
    words = table._slots[table._slots[:, 0] > 0, 1]
    assert len(set(words.tolist())) == 9
    assert sum(words >= np.uint64(1 << 63)) == 2  # 'ÿ' has two bytes in UTF-8


def test_a_row_with_a_fault_has_no_number():
    table = People()
    names = named(["ann", "bob"])
    found = table.numbers(Names(names.data, names.offsets, np.array([1, -1, 0, -1])))
    assert found.tolist() == [0, -1, 1, -1]
    assert len(table) == 2


def test_tables_have_their_own_keys():
    keys = {People()._key.tobytes() for _ in range(20)}
    assert len(keys) == 20


def test_the_hash_is_siphash_1_3():
    """CPython's own SipHash-1-3, which checks compiled files, gave these values."""
    key = np.array([0x0706050403020100, 0], dtype=np.uint64)
    for length, expected in KNOWN.items():
        data = read_only(bytes(range(length)))
        assert people.siphash(data, key) == expected, length
