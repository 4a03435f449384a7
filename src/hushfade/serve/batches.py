"""The batch in the body of a request: strictly checked records, in integer units per lane.

A record is a number.  With keys it is an object {"key": ..., "value": ...}, where counts (low = 0,
high = 1) need no value: it is 1.  For vectors it is a list of numbers.  A statistic declares what a
record is: a number, true or false, a text, or a pair of numbers.

If the stream enforces limits per person, each record is an object with a user as well, such as
{"user": ...} for counts, or {"user": ..., "key": ..., "value": ...}.  These records are not summed
here, because the store decides which of them count.
No error contains a record's user, key or value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hushfade.check import Signed
from hushfade.errors import InvalidType, InvalidValue, Malformed
from hushfade.private.grid import Grid
from hushfade.records.blank_names import blank
from hushfade.serve import strict_json
from hushfade.serve.error_responses import Refusal
from hushfade.serve.registry import Facts
from hushfade.store import Batch
from hushfade.store.batch import PersonRecords, sums_by_lane

JSON, LINES = "application/json", "application/x-ndjson"
MOST = 1_000_000  # records per request

_NUMBERS = {int, float}  # and no bool
_USER = "user"
_NONE: Signed = np.zeros(0, dtype=np.int64)


def batch(facts: Facts, kind: str, body: bytes, query: Mapping[str, str]) -> Batch:
    """The batch in a body with this media type; for lines, the query contains the sender."""
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
        if not records:  # a proxy or a library that loses the body would lose the records
            raise Malformed(
                "the body must have at least one record: send a batch without records as JSON, "
                'with "records": []'
            )
    sender = strict_json.name(sender=head["sender"])
    if len(records) > MOST:
        raise Refusal(
            413, "too_large", f"a request must have at most {MOST} records: send several requests"
        )
    try:
        found = content(facts, records)
    except (InvalidType, InvalidValue) as error:
        if kind == JSON:
            raise
        raise _at_fault(facts, numbers, records, error) from None
    lanes, units = (_NONE, _NONE) if isinstance(found, PersonRecords) else found
    persons = found if isinstance(found, PersonRecords) else None
    return Batch(facts.name, sender, sequence, len(records), lanes, units, step, persons)


def content(facts: Facts, records: list[Any]) -> PersonRecords | tuple[Signed, Signed]:
    """The records with their persons, or the lanes of the records and the sum of each lane."""
    grid = facts.plan.grid
    if facts.enforced:
        users, cells, values = _taken_apart(grid, records, persons=True)
        return PersonRecords(users, cells, _units(grid, values))
    objects = dict in set(map(type, records))
    if objects and any(type(record) is dict and _USER in record for record in records):
        raise InvalidValue(
            "the stream does not enforce limits per person: send records without user"
        )
    cells, values = np.zeros(len(records), dtype=np.int64), records
    if grid.keys is not None:
        _, cells, values = _taken_apart(grid, records, persons=False)
    return sums_by_lane(grid, cells, _units(grid, values))


def _at_fault(
    facts: Facts, numbers: list[int], records: list[Any], found: InvalidType | InvalidValue
) -> InvalidType | InvalidValue:
    """The error with the number of the first invalid line, or unchanged if each line is valid."""
    first, last = 0, len(records)  # records before `first` can be summed, up to `last` they cannot
    while last - first > 1:
        middle = (first + last) // 2
        try:
            content(facts, records[first:middle])
        except (InvalidType, InvalidValue):
            last = middle
        else:
            first = middle
    try:
        content(facts, records[first:last])
    except (InvalidType, InvalidValue) as error:
        return type(error)(f"line {numbers[first]} of the body: {error.rule}")
    return found


def _units(grid: Grid, values: list[Any]) -> Signed:
    """The units of each record, or its code if the plan has a statistic.

    The type of each value is checked by itself, so no record affects how another is read.
    """
    if not values:
        return _NONE
    if grid.norm is not None:
        _check_vectors(grid, values)
        return grid.units(values)
    kind = "numbers" if grid.statistic is None else grid.statistic.kind
    kinds = set(map(type, values))
    match kind:
        case "truths":
            if not (kinds <= {bool, *_NUMBERS} and set(values) <= {0, 1}):
                raise InvalidType("a record must be true or false, or 1 or 0")
            return grid.units([bool(value) for value in values])
        case "texts":
            if not kinds <= {str}:
                raise InvalidType("a record must be a string")
        case "pairs":
            if not (kinds <= {list} and all(map(_is_pair, values))):
                raise InvalidType("a record must be a list of two numbers")
        case _:
            if not kinds <= _NUMBERS:
                raise InvalidType("a record must be a number")
    return grid.units(values)


def _is_pair(value: list[Any]) -> bool:
    return len(value) == 2 and set(map(type, value)) <= _NUMBERS


def _taken_apart(
    grid: Grid, records: list[Any], *, persons: bool
) -> tuple[tuple[str, ...], Signed, list[Any]]:
    """The person, the place of the key, and the value of each record, which is an object."""
    counts = grid.low == 0 and grid.high == 1 and grid.statistic is None and grid.norm is None
    needed = [name for name, has in ((_USER, persons), ("key", grid.keys is not None)) if has]
    allowed = {*needed, "value"}
    users, keys, values = [], [], []
    for record in records:
        if type(record) is not dict or not record.keys() <= allowed:
            parts = [f"a {name}" for name in needed]
            parts += ["optionally a value" if counts else "a value", "and no other field"]
            raise InvalidType(f"a record must be an object with {', '.join(parts)}")
        if persons:
            users.append(_person(record.get(_USER)))
        if grid.keys is not None:
            key = record.get("key")
            if type(key) is not str:
                raise InvalidType("a record's key must be a string")
            keys.append(key)
        if "value" not in record and not counts:
            raise InvalidType("a record must have a value, because the plan does not count records")
        values.append(record.get("value", 1))
    cells = np.zeros(len(records), dtype=np.int64)
    try:
        if grid.keys is not None:
            cells = np.array([grid.lane_of[key] for key in keys], dtype=np.int64)
    except KeyError:
        raise InvalidValue("key must be one of the stream's keys") from None
    return tuple(users), cells, values


def _person(given: Any) -> str:
    """The identifier of a record's person."""
    if given is None:
        raise InvalidType(
            "the stream enforces limits per person: each record must be an object with its user"
        )
    if type(given) is not str or blank(given):
        raise InvalidType("a record's user must be a string that is not blank")
    if not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError:  # its message contains the text
            raise InvalidValue("a record's user must be valid Unicode text") from None
    return given


def _check_vectors(grid: Grid, records: list[Any]) -> None:
    for record in records:
        if type(record) is not list or len(record) != grid.width:
            raise InvalidType(f"a record must be a list of {grid.width} numbers")
        if not set(map(type, record)) <= _NUMBERS:
            raise InvalidType("a record must be a list of numbers")
