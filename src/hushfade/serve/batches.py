"""From a body to a batch: records are read strictly, clipped, put on the grid, summed by lane.

A record is a number; with keys an object {"key": ..., "value": ...}, where the value may be left
out if records are counted (low = 0, high = 1: then it is 1); of vectors a list of numbers.
No message carries a record's key or value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hushfade.check import Signed
from hushfade.errors import InvalidType, InvalidValue, Malformed
from hushfade.private.grid import Grid
from hushfade.serve import strict_json
from hushfade.serve.error_responses import Refusal
from hushfade.serve.registry import Facts
from hushfade.store import Batch

JSON, LINES = "application/json", "application/x-ndjson"
MOST = 1_000_000  # records of a request

_NUMBERS = {int, float}  # and no bool
_FIELDS = {"key", "value"}


def batch(facts: Facts, kind: str, body: bytes, query: Mapping[str, str]) -> Batch:
    """The batch of a body of that kind; what it lacks of a sender is in the query."""
    if kind == JSON:
        document = strict_json.read(body)
        needed = ("sender", "sequence", "records")
        head = strict_json.fields(document, needed=needed, more=("step",))
        records = head["records"]
        if not isinstance(records, list):
            raise Malformed("records must be a list")
        sequence = strict_json.whole(sequence=head["sequence"])
        given = head.get("step")
        step = None if given is None else strict_json.whole(step=given, least=1)
    else:
        if not {"sender", "sequence"} <= query.keys():
            raise Malformed("the query must have sender and sequence")
        head = dict(query)
        sequence = strict_json.digits(sequence=head["sequence"])
        step = None if "step" not in head else strict_json.digits(step=head["step"], least=1)
        numbers, records = strict_json.lines(body)
    sender = strict_json.name(sender=head["sender"])
    if len(records) > MOST:
        raise Refusal(413, "too_large", f"records must be at most {MOST} a request")
    try:
        lanes, units = summed(facts, records)
    except (InvalidType, InvalidValue) as error:
        if kind == JSON:
            raise
        raise _at_fault(facts, numbers, records, error) from None
    return Batch(facts.name, sender, sequence, len(records), lanes, units, step)


def summed(facts: Facts, records: list[Any]) -> tuple[Signed, Signed]:
    """The lanes that the records touch, and for each the sum of its units."""
    grid = facts.plan.grid
    if not records:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing
    if grid.norm is not None:
        return np.arange(grid.lanes), _vectors(grid, records)
    largest = max(abs(grid.low_unit), abs(grid.high_unit), 1)
    if len(records) * largest >= 2**62:
        raise InvalidValue("records must be fewer: their sum could exceed 62 bits")
    if grid.keys is None:
        return np.zeros(1, dtype=np.int64), _units(grid, records).sum(keepdims=True)
    keys, values = _keyed(grid, records)
    units = _units(grid, values)
    try:
        lanes = np.array([facts.lanes[key] for key in keys])
    except KeyError:
        raise InvalidValue("key must be one of the stream's keys") from None
    touched, places = np.unique(lanes, return_inverse=True)
    sums = np.zeros(len(touched), dtype=np.int64)
    np.add.at(sums, places, units)
    return touched, sums


def _at_fault(
    facts: Facts, numbers: list[int], records: list[Any], found: InvalidType | InvalidValue
) -> InvalidType | InvalidValue:
    """The error with the number of the first line that is at fault; as it is, if none alone is."""
    first, last = 0, len(records)  # those before `first` can be summed, those up to `last` cannot
    while last - first > 1:
        middle = (first + last) // 2
        try:
            summed(facts, records[first:middle])
        except (InvalidType, InvalidValue):
            last = middle
        else:
            first = middle
    try:
        summed(facts, records[first:last])
    except (InvalidType, InvalidValue) as error:
        return type(error)(f"line {numbers[first]} of the body: {error.rule}")
    return found


def _units(grid: Grid, values: list[Any]) -> Signed:
    if not set(map(type, values)) <= _NUMBERS:
        raise InvalidType("a record must be a number")
    return grid.units(values)


def _keyed(grid: Grid, records: list[Any]) -> tuple[list[str], list[Any]]:
    counted = grid.low == 0 and grid.high == 1
    keys, values = [], []
    for record in records:
        if type(record) is not dict or not record.keys() <= _FIELDS:
            raise InvalidType("a record must be an object with a key and a value")
        key = record.get("key")
        if type(key) is not str:
            raise InvalidType("a record's key must be a text")
        if "value" not in record and not counted:
            raise InvalidType("a record must have a value where records are not counted")
        keys.append(key)
        values.append(record.get("value", 1))
    return keys, values


def _vectors(grid: Grid, records: list[Any]) -> Signed:
    for record in records:
        if type(record) is not list or len(record) != grid.width:
            raise InvalidType(f"a record must be a list of {grid.width} numbers")
        if not set(map(type, record)) <= _NUMBERS:
            raise InvalidType("a record must be a list of numbers")
    return grid.record_sums(records)
