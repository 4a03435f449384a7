"""A plan, its events, and what one machine makes of them."""

import hashlib
import os
import struct

import numpy as np
import pandas as pd
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hushfade import Exponential, Guarantee, KeyedNoise, plan

START, STEPS = pd.Timestamp("2026-01-01", tz="UTC"), 12
KEYS = [f"k{i}" for i in range(7)]  # k5 and k6 have no records
KEY = hashlib.sha256(b"a key for tests").digest()  # no pattern that other files may have
PLAN = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6), keys=KEYS, low=-0.5, high=2)
HOW = {"time": "at", "key": "key", "value": "amount", "every": "1h", "start": "2026-01-01Z"}
COLUMNS = "at timestamp, key string, amount double, person bigint"


# a session for jobs of seconds: they would spend them on compiling and collecting
QUIET = {
    "spark_ui_enabled": "false",
    "spark_ui_showConsoleProgress": "false",
    "spark_driver_memory": "1g",
    "spark_driver_extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark_sql_adaptive_enabled": "false",
}


def key_file(place):
    """The key in a file that only its owner can read."""
    path = place / "key"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(KEY)
    return path


def keyed(stream="visits"):
    return KeyedNoise(KEY, stream=stream)


def events(seed=4, count=400):
    """Records of the first twelve hours, some of another key, some beyond both bounds."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "at": START + pd.to_timedelta(rng.integers(0, STEPS * 3_600_000, count), unit="ms"),
            "key": rng.choice([*KEYS[:5], "other"], count),
            "amount": rng.normal(0.7, 1.3, count),
            "person": rng.integers(0, 25, count),
        }
    ).astype({"at": "datetime64[us, UTC]"})


def totals(found):
    """By hand: clip, round half up to the grid, add."""
    x = np.zeros((STEPS, len(KEYS)), dtype=np.int64)
    for at, key, amount in zip(found["at"], found["key"], found["amount"], strict=True):
        step = (at - START) // pd.Timedelta("1h")
        if key in KEYS and 0 <= step < STEPS:
            units = np.floor(np.clip(amount, -0.5, 2) / PLAN.grid.resolution + 0.5)
            x[step, KEYS.index(key)] += int(units)
    return x


def on_one_machine(found, noise):
    return PLAN.start(noise).run(totals(found) * PLAN.grid.resolution)


def matrix(released, keys=KEYS):
    """Values by step and key; each is there once."""
    assert not released.duplicated(["step", "key"]).any()
    return released.pivot(index="step", columns="key", values="value")[keys].to_numpy()


def in_hash_order(spark, found, plan, seed, steps):
    """The records in the order in which Spark counts a person's, by step and then by a hash."""
    lanes = found["key"].map({key: lane for lane, key in enumerate(plan.keys)}).fillna(-1)
    units = plan.grid.units(found["amount"].to_numpy()) * (lanes >= 0)
    persons = found["person"].astype(str)
    named = spark.createDataFrame([(one,) for one in persons.unique()], "person string")
    named = named.selectExpr("person", "sha2(person, 256) as name")
    halves = named.selectExpr("person", "xxhash64(left(name, 32))", "xxhash64(right(name, 32))")
    digests = {row[0]: (row[1], row[2]) for row in halves.collect()}
    places = [
        place_by_definition(seed, *digests[person], micros, int(lane), int(unit))
        for person, micros, lane, unit in zip(
            persons, found["at"].astype("int64"), lanes, units, strict=True
        )
    ]
    ordered = found.assign(step=steps, place=places).sort_values(["step", "place"])
    return ordered.drop(columns=["step", "place"])


def place_by_definition(seed, *content):
    """The last block of AES in CBC mode, of which the first half is the place of a record."""
    key = hashlib.sha256(b"hushfade unsafe order %d" % seed).digest()
    text = struct.pack("<6q", *content, 0)
    cbc = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
    return struct.unpack("<q", cbc.update(text)[-16:-8])[0]
