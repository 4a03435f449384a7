import hashlib

import numpy as np
import pytest

from hushfade.errors import Refused
from hushfade.stream import binary_container as container

MAGIC = b"hushfade example 1\n"
KINDS = ("<i8", "<f8", "<f4")
ARRAYS = [np.arange(5), np.array([0.5, -0.0, np.pi]), np.float32([1, 2])]


def example():
    return container.packed(MAGIC, {"name": "x", "steps": 3}, ARRAYS)


def contents(data):
    frame = container.opened(data, MAGIC, "the example")
    return frame, container.split(frame.body, frame.header["arrays"], KINDS, "the example")


def sealed(body):
    return body + hashlib.sha256(body).digest()


def test_what_is_packed_is_read_back():
    frame, arrays = contents(example())
    assert (frame.header["name"], frame.header["steps"]) == ("x", 3)
    for read, written in zip(arrays, ARRAYS, strict=True):
        assert read.dtype == written.dtype
        assert read.tobytes() == written.tobytes()


def test_the_bytes_are_as_documented():
    header = b'{"arrays":[["<i8",1]],"steps":1}'
    body = MAGIC + len(header).to_bytes(8, "little") + header + (7).to_bytes(8, "little")
    assert container.packed(MAGIC, {"steps": 1}, [np.array([7])]) == sealed(body)


def test_arrays_of_any_byte_order_and_layout_give_the_same_bytes():
    big = [array.astype(array.dtype.newbyteorder(">")) for array in ARRAYS]
    strided = [np.repeat(array, 2)[::2] for array in ARRAYS]
    for arrays in (big, strided):
        assert container.packed(MAGIC, {"name": "x", "steps": 3}, arrays) == example()


def test_every_flipped_bit_and_every_cut_is_noticed():
    data = example()
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        for bad in (bytes(changed), data[:at]):
            with pytest.raises(Refused, match="the example"):
                contents(bad)


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{"arrays":null}',
        b'{"arrays":[["<i8",1]]}',
        b'{"arrays":[["<i8",-5],["<f8",3],["<f4",2]]}',
        b'{"arrays":[["<i8","5"],["<f8",3],["<f4",2]]}',
        b'{"arrays":[["O",5],["<f8",3],["<f4",2]]}',
        b'{"arrays":[["<i8",4],["<f8",3],["<f4",2]]}',
        b'{"arrays":[["<i8",1e999],["<f8",3],["<f4",2]]}',
    ],
)
def test_forged_headers_are_rejected(header):
    body = example()[:-32]
    arrays = body[-(5 * 8 + 3 * 8 + 2 * 4) :]
    forged = sealed(MAGIC + len(header).to_bytes(8, "little") + header + arrays)
    with pytest.raises(Refused, match="the example"):
        contents(forged)


def test_a_header_longer_than_the_bytes_is_rejected():
    with pytest.raises(Refused, match="no readable header"):
        contents(sealed(MAGIC + (2**63).to_bytes(8, "little") + b"{}"))


def test_anything_but_bytes_is_rejected():
    for bad in (None, "text", 7, ["b"]):
        with pytest.raises(Refused, match="the example must be bytes"):
            contents(bad)
