import hmac
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from hushfade import (
    CorrelatedNoise,
    Exponential,
    FreshNoise,
    Guarantee,
    KeyedNoise,
    Stream,
    UnsafeSeededNoise,
    plan,
)
from hushfade.crossing.key_file import KeyFile, for_totals, opened, travelling
from hushfade.crossing.random_bits import Drawer
from hushfade.crossing.sampling_tables import table
from hushfade.errors import HushfadeError, InvalidType, InvalidValue, Malformed, Refused
from hushfade.laws import Gaussian
from tests.spark.cases import KEY, PLAN, key_file, keyed


def test_a_key_file_opens_to_the_noise_of_its_key(tmp_path):
    found = opened(pickle.loads(pickle.dumps(KeyFile(key_file(tmp_path), stream="visits"))))
    ours, theirs = (noise.bound(PLAN.digest) for noise in (found, keyed()))
    law = table(Gaussian(100.0))
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
    with pytest.raises(Refused, match="this machine's file contains another key"):
        sent.opened()


def test_a_declared_fingerprint_needs_no_file_here(tmp_path):
    mark = keyed().fingerprint.hex()
    sent = KeyFile(tmp_path / "key", stream="visits", fingerprint=mark)
    key_file(tmp_path)
    assert sent.opened().fingerprint.hex() == mark


def test_a_key_file_must_be_its_owners_alone(tmp_path):
    path = key_file(tmp_path)
    path.chmod(0o400)
    sent = KeyFile(path, stream="visits")
    path.chmod(0o640)
    for read in (lambda: KeyFile(path, stream="visits"), sent.opened):
        with pytest.raises(InvalidValue, match="mode 0600, got 0640"):
            read()
    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(InvalidValue, match="got a link"):
        KeyFile(link, stream="visits")


def test_a_key_file_with_a_second_name_is_refused(tmp_path):
    """Each name would have a record of its own."""
    path, second = key_file(tmp_path), tmp_path / "second"
    sent = KeyFile(path, stream="visits")
    second.hardlink_to(path)
    for read in (
        lambda: KeyFile(path, stream="visits"),
        lambda: KeyFile(second, stream="visits"),
        sent.opened,
        lambda: PLAN.start(sent),
    ):
        with pytest.raises(InvalidValue, match="must have one name, got 2 hard links: remove"):
            read()
    second.unlink()
    assert KeyFile(path, stream="visits").opened().fingerprint == keyed().fingerprint


def test_what_is_no_key_file_is_refused_and_nothing_stays_open(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe", 0o600)
    before = os.listdir("/dev/fd")
    for name in ("folder", "pipe"):
        with pytest.raises(InvalidValue, match="must be a regular file"):
            KeyFile(tmp_path / name, stream="visits")
    assert os.listdir("/dev/fd") == before


def test_noise_that_cannot_be_drawn_again_or_would_carry_its_key_is_refused():
    assert travelling(UnsafeSeededNoise(1)).seed == 1
    with pytest.raises(InvalidType, match="drawn twice"):
        travelling(FreshNoise())
    with pytest.raises(InvalidType, match="copy its key"):
        travelling(keyed())
    with pytest.raises(InvalidType, match="got NoneType"):
        travelling(None)
    with pytest.raises(InvalidType, match=r"KeyFile\(path, stream=\.\.\.\)"):
        travelling("key")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"fingerprint": "zz"}, "32 hexadecimal digits"),
        ({"fingerprint": b"0" * 32}, "32 hexadecimal digits"),
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


# The record of uses --------------------------------------------------------------------------

PLANNED, JOB = b"p" * 32, b"j" * 32


def claims(path, plan=PLANNED, job=JOB, kind="run", **changed):
    KeyFile(path, **({"stream": "visits"} | changed)).claim(plan, kind, job)


def lines(path):
    return path.with_name("key.uses").read_text().splitlines()


def test_the_same_job_claims_its_name_as_often_as_it_likes(tmp_path):
    path = key_file(tmp_path)
    for _ in range(3):
        claims(path)
    (line,) = lines(path)
    assert json.loads(line)["stream"] == "visits"
    assert path.with_name("key.uses").stat().st_mode & 0o777 == 0o600


def test_another_plan_or_job_under_the_name_is_refused_and_changes_nothing(tmp_path):
    path = key_file(tmp_path)
    claims(path)
    before = lines(path)
    with pytest.raises(Refused, match=r"stream 'visits' \(epoch 0\) .* was used for another plan"):
        claims(path, plan=b"q" * 32)
    for changed in ({"job": b"k" * 32}, {"kind": "table"}):
        with pytest.raises(Refused, match="other records or options: give this job another stream"):
            claims(path, **changed)
    assert lines(path) == before


def test_another_stream_epoch_or_key_is_another_name(tmp_path):
    path = key_file(tmp_path)
    claims(path)
    claims(path, job=b"k" * 32, stream="visits ")
    claims(path, job=b"k" * 32, epoch=np.int64(1))
    path.write_bytes(bytes(range(32)))  # a new key in the place of the old
    claims(path, job=b"k" * 32)
    assert len(lines(path)) == 4
    assert json.loads(lines(path)[2])["epoch"] == 1
    with pytest.raises(Refused, match="epoch 1"):
        claims(key_file(tmp_path), epoch=1)


def test_the_record_holds_neither_the_key_nor_what_it_seals(tmp_path):
    path = key_file(tmp_path)
    noise = KeyFile(path, stream="visits").opened()
    claims(path, job=noise.sealed(JOB))
    text = path.with_name("key.uses").read_text()
    for secret in (KEY, JOB):
        assert secret.hex() not in text
    assert noise.sealed(JOB).hex() in text
    assert noise.sealed(JOB) != KeyedNoise(bytes(range(32)), stream="visits").sealed(JOB)


def test_a_claim_is_on_the_disk_when_it_returns(tmp_path, monkeypatch):
    path, synced = key_file(tmp_path), []
    whole = os.fsync

    def fsync(descriptor):
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        assert len(lines(path)) == 1
        whole(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    claims(path)
    assert synced == [str(tmp_path / "key.uses"), str(tmp_path)]

    def full(_):
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        claims(path, stream="others")


CLAIM = """
import sys
from hushfade.crossing.key_file import KeyFile
from hushfade.errors import Refused
key = KeyFile(sys.argv[1], stream="visits")
print("ready", flush=True)
sys.stdin.readline()
try:
    key.claim(b"p" * 32, "run", bytes([int(sys.argv[2])]) * 32)
    print("first")
except Refused:
    print("refused")
"""


def test_of_jobs_that_claim_a_name_at_once_one_is_first(tmp_path):
    path = key_file(tmp_path)
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM, str(path), str(number)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(5)
    ]  # fmt: skip
    assert [job.stdout.readline() for job in jobs] == ["ready\n"] * 5
    for job in jobs:
        job.stdin.write("\n")
        job.stdin.flush()
    answers = [job.communicate()[0].strip() for job in jobs]
    assert sorted(answers) == ["first", *["refused"] * 4]
    assert len(lines(path)) == 1


def test_a_damaged_record_is_refused(tmp_path):
    path = key_file(tmp_path)
    claims(path)
    claims(path, stream="others")
    record = path.with_name("key.uses")
    whole = record.read_bytes()
    first, second = whole.splitlines(keepends=True)
    twice = json.loads(second)
    for damaged, number in (
        (whole[:-1], 2),
        (whole[:-9], 2),
        (first[5:] + second, 1),
        (first.replace(b"visits", b"visitz") + second, 1),
        (first + second.replace(b'"epoch": 0', b'"epoch": 1'), 2),
        (b"[]\n" + second, 1),
        (b"\n" + second, 1),
        (b"\xff\n", 1),
        (b"{}\n", 1),
        (json.dumps(twice | {"more": 1}).encode() + b"\n", 1),
    ):
        record.write_bytes(damaged)
        with pytest.raises(Malformed, match=rf"line {number} of the key's record .* is damaged"):
            claims(path)
        assert record.read_bytes() == damaged
    record.write_bytes(whole)
    claims(path)


def test_a_record_with_two_jobs_under_one_name_serves_neither(tmp_path):
    path = key_file(tmp_path)
    claims(path)
    record = path.with_name("key.uses")
    mine = record.read_bytes()
    record.unlink()
    claims(path, job=b"k" * 32)
    record.write_bytes(mine + record.read_bytes())
    for job in (JOB, b"k" * 32):
        with pytest.raises(Refused, match="other records or options"):
            claims(path, job=job)


def test_without_a_record_the_key_cannot_be_used(tmp_path, monkeypatch):
    path = key_file(tmp_path)
    record = path.with_name("key.uses")
    record.mkdir()
    with pytest.raises(Refused, match="keep the key in a directory that this job may write to"):
        claims(path)
    record.rmdir()
    record.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="cannot be used without a record"):
        claims(path)
    assert not (tmp_path / "elsewhere").exists()
    record.unlink()
    record.touch(mode=0o644)
    with pytest.raises(Refused, match="mode 0600: chmod 600"):
        claims(path)
    record.unlink()

    def read_only(*_):
        raise OSError(30, "Read-only file system")

    sent = KeyFile(path, stream="visits")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", read_only)
        with pytest.raises(Refused, match=r"cannot be written \(Read-only file system\)"):
            sent.claim(PLANNED, "run", JOB)
    elsewhere = tmp_path / "writable.uses"
    claims(path, record=elsewhere)
    assert elsewhere.exists()
    assert not record.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_permission_is_refused(tmp_path):
    path = key_file(tmp_path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(Refused, match="Permission denied"):
            claims(path)
    finally:
        tmp_path.chmod(0o700)


# Streams -------------------------------------------------------------------------------------


def test_a_key_file_serves_one_stream_under_one_name(tmp_path):
    """A second stream under the name would have the same noise, perhaps for other records."""
    noise, totals = KeyFile(key_file(tmp_path), stream="visits"), np.ones((6, len(PLAN.keys)))
    stream = PLAN.start(noise)
    first, data = stream.run(totals[:4]), stream.save()
    assert [json.loads(line)["kind"] for line in lines(tmp_path / "key")] == ["stream"]
    for other in (PLAN, plan(Exponential(half_life=9), Guarantee(1, 1e-6))):
        served = "another stream" if other is PLAN else "another plan"
        with pytest.raises(Refused, match=f"'visits' .* was used for {served}: give this job"):
            other.start(noise)
    with pytest.raises(Refused, match="was used for"):
        claims(tmp_path / "key", plan=PLAN.digest)
    continued = Stream.load(data, noise=noise).run(totals[4:])
    expected = PLAN.start(keyed()).run(totals)
    assert np.array_equal(np.concatenate([first, continued]), expected)
    PLAN.start(KeyFile(tmp_path / "key", stream="visits", epoch=1))


def test_a_saved_stream_is_not_continued_under_the_name_of_another(tmp_path):
    noise = KeyFile(key_file(tmp_path), stream="visits")
    copy = PLAN.start(keyed()).save()  # by somebody who passed the key itself
    PLAN.start(noise)
    with pytest.raises(Refused, match="load the saved state of the earlier stream"):
        Stream.load(copy, noise=noise)
    with pytest.raises(Refused, match="noise must be KeyedNoise"):
        Stream.load(copy, noise=KeyFile(tmp_path / "key", stream="others"))


def test_a_table_of_totals_has_its_noise_again_and_any_other_is_refused(tmp_path):
    noise = KeyFile(key_file(tmp_path), stream="visits")
    x = np.random.default_rng(1).integers(-9, 9, size=(20, len(PLAN.keys)))
    for _ in range(2):
        released = PLAN.start(for_totals(noise, PLAN.digest, x)).run_units(x)
        assert np.array_equal(released, PLAN.start(keyed()).run_units(x))
    (line,) = lines(tmp_path / "key")
    others = [x[:-1], np.concatenate([x, x[:1] * 0]), x[::-1]]
    for place in ((0, 0), (19, 6)):
        others.append(x.copy())
        others[-1][place] += 1
    for other in others:
        with pytest.raises(Refused, match="was used for other records or options"):
            for_totals(noise, PLAN.digest, other)
    with pytest.raises(Refused, match="was used for other records or options"):
        PLAN.start(noise)  # a stream under the name of a table
    assert lines(tmp_path / "key") == [line]
    assert for_totals(None, PLAN.digest, x) is None
    fresh = FreshNoise()
    assert for_totals(fresh, PLAN.digest, x) is fresh


def test_the_record_of_a_table_tells_nothing_without_the_key(tmp_path):
    """Whoever guesses all totals cannot confirm the guess: another key has another digest."""
    x, jobs = np.ones((5, len(PLAN.keys)), dtype=np.int64), set()
    for key in (KEY, bytes(range(32)), KEY):
        path = key_file(tmp_path)
        path.write_bytes(key)
        for_totals(KeyFile(path, stream="visits"), PLAN.digest, x)
        jobs |= {json.loads(line)["job"] for line in lines(path)}
    assert len(jobs) == 2


def test_correlated_noise_claims_its_name(tmp_path):
    noise = KeyFile(key_file(tmp_path), stream="training")
    series = {"guarantee": Guarantee(1, 1e-6), "norm": 1.0, "noise": noise}
    first = CorrelatedNoise(Exponential(half_life=9), 3, **series)
    with pytest.raises(Refused, match=r"'training' .* was used for another stream"):
        CorrelatedNoise(Exponential(half_life=9), 3, **series)
    with pytest.raises(Refused, match=r"'training' .* was used for another plan"):
        CorrelatedNoise(Exponential(half_life=8), 3, **series)
    assert CorrelatedNoise.load(first.save(), noise=noise).next().shape == (3,)


def test_the_noise_of_a_job_has_a_name_that_no_stream_can_have(tmp_path):
    job = bytes(range(32))
    noise, law = keyed().of_job(job), table(Gaussian(100.0))
    reserved = f"visits {job.hex()}"
    with pytest.raises(InvalidValue, match="must not end in a space and 64 hexadecimal digits"):
        KeyFile(key_file(tmp_path), stream=reserved)
    context = b"hushfade noise 1" + PLAN.digest + bytes(8) + reserved.encode()
    known = Drawer(hmac.digest(KEY, context, "sha256"), fresh=False)
    assert (
        noise.bound(PLAN.digest).draws(law, 0, 9, 1).tolist() == known.draws(law, 0, 9, 1).tolist()
    )
