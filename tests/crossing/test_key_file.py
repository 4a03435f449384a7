import pickle

import pytest

from hushfade import FreshNoise, KeyedNoise, UnsafeSeededNoise
from hushfade.crossing.key_file import KeyFile, checked, opened
from hushfade.crossing.laws import gaussian
from hushfade.errors import HushfadeError, InvalidType, InvalidValue, Refused
from tests.spark.cases import KEY, PLAN, key_file, keyed


def test_a_key_file_opens_to_the_noise_of_its_key(tmp_path):
    found = opened(pickle.loads(pickle.dumps(KeyFile(key_file(tmp_path), stream="visits"))))
    ours, theirs = (noise.bound(PLAN.digest) for noise in (found, keyed()))
    law = gaussian.table(100.0)
    assert ours.draws(law, 5, 3, 4).tolist() == theirs.draws(law, 5, 3, 4).tolist()


def test_what_travels_does_not_hold_the_key(tmp_path):
    found = KeyFile(key_file(tmp_path), stream="visits", epoch=3)
    for told in (pickle.dumps(found), repr(found).encode(), str(found).encode()):
        assert KEY not in told
        assert KEY.hex().encode() not in told
    assert "visits" in repr(found)


def test_fingerprints_tell_keys_apart_and_are_no_part_of_them():
    ours, others = keyed().fingerprint, KeyedNoise(bytes(range(32)), stream="visits").fingerprint
    assert ours != others
    assert ours == keyed("another stream").fingerprint
    assert len(ours) == 16
    assert ours not in KEY


def test_another_key_in_the_file_is_refused(tmp_path):
    path = key_file(tmp_path)
    sent = KeyFile(path, stream="visits")
    path.write_bytes(bytes(range(32)))
    with pytest.raises(Refused, match="this machine's is another"):
        sent.opened()


def test_a_declared_fingerprint_needs_no_file_here(tmp_path):
    mark = keyed().fingerprint.hex()
    sent = KeyFile(tmp_path / "key", stream="visits", fingerprint=mark)
    key_file(tmp_path)
    assert sent.opened().fingerprint.hex() == mark


def test_a_file_that_others_can_read_is_refused(tmp_path):
    path = key_file(tmp_path)
    path.chmod(0o644)
    with pytest.raises(InvalidValue, match="0600"):
        KeyFile(path, stream="visits")


def test_noise_that_cannot_be_drawn_again_or_would_carry_its_key_is_refused():
    assert checked(UnsafeSeededNoise(1)).seed == 1
    with pytest.raises(InvalidType, match="drawn twice"):
        checked(FreshNoise())
    with pytest.raises(InvalidType, match="carry its key"):
        checked(keyed())
    with pytest.raises(InvalidType, match="got NoneType"):
        checked(None)
    with pytest.raises(InvalidType, match=r"KeyFile\(path, stream=\.\.\.\)"):
        checked("key")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"fingerprint": "zz"}, "32 digits in hexadecimal"),
        ({"fingerprint": b"0" * 32}, "32 digits in hexadecimal"),
        ({"epoch": -1}, "epoch must be"),
        ({"stream": ""}, "stream must"),
    ],
)
def test_what_is_no_fingerprint_epoch_or_stream_is_refused_before_anything_is_sent(
    changed, message
):
    given = {"stream": "visits", "epoch": 0, "fingerprint": "0" * 32} | changed
    with pytest.raises(HushfadeError, match=message):
        KeyFile("key", **given)
