"""On Spark a key's stream and epoch serve one job: the driver records it before any noise."""

import json

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, plan
from hushfade.errors import Refused
from hushfade.spark import KeyFile, private_decaying_sums
from tests.spark.cases import HOW, KEYS, PLAN, STEPS, events, key_file, matrix


def asked(frame, noise, **changed):
    return private_decaying_sums(
        frame, **({"plan": PLAN, "steps": STEPS, **HOW} | changed), noise=noise
    )


def test_the_same_table_again_is_released_again_and_any_other_job_is_refused(spark, tmp_path):
    folder = tmp_path / "events"
    spark.createDataFrame(events()).write.parquet(str(folder))
    frame, noise = spark.read.parquet(str(folder)), KeyFile(key_file(tmp_path), stream="visits")
    first = asked(frame, noise)
    record = tmp_path / "key.uses"
    (line,) = record.read_text().splitlines()
    assert json.loads(line)["plan"] == PLAN.digest.hex()
    assert record.stat().st_mode & 0o777 == 0o600
    again = asked(frame, noise, buckets=5)  # how lanes are cut changes no bit
    np.testing.assert_array_equal(matrix(first.toPandas()), matrix(again.toPandas()))
    assert record.read_text().splitlines() == [line]

    other = plan(Exponential(half_life=3), Guarantee(1, 1e-6), low=0, high=3, keys=KEYS)
    with pytest.raises(Refused, match="has served another plan: give this job another stream"):
        asked(frame, noise, plan=other)
    with pytest.raises(Refused, match="has served other records or options"):
        asked(frame, noise, steps=STEPS - 1)
    spark.createDataFrame(events()).write.mode("append").parquet(str(folder))
    with pytest.raises(Refused, match="has served other records or options"):
        asked(spark.read.parquet(str(folder)), noise)
    for changed in ({"stream": "others"}, {"stream": "visits", "epoch": 1}):
        asked(frame, KeyFile(tmp_path / "key", **changed), steps=STEPS - 1)
    assert len(record.read_text().splitlines()) == 3


def test_a_driver_without_the_key_keeps_the_record_and_needs_a_place_for_it(spark, tmp_path):
    frame = spark.createDataFrame(events())
    elsewhere = {"stream": "visits", "fingerprint": "0" * 32}
    with pytest.raises(Refused, match="without a record the key cannot be used"):
        asked(frame, KeyFile(tmp_path / "nowhere" / "key", **elsewhere))
    asked(frame, KeyFile("/nowhere/key", record=tmp_path / "uses", **elsewhere))
    assert (tmp_path / "uses").read_text().count("\n") == 1
