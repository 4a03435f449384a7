"""HTTP JSON and NDJSON: the records of requests, as the service reads their bodies.

If the stream enforces limits per person, a few records are in each request, and the code of the
store decides which of them count, with its tables in memory.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from dev.soaks.neighbours import fields
from dev.soaks.neighbours.json_rows import token_of
from dev.soaks.neighbours.meaning import Meaning, Rules, Totals
from dev.soaks.neighbours.settings import Setting, setting_of
from hushfade.serve.batches import JSON, LINES, batch
from hushfade.serve.registry import Facts
from hushfade.store import Batch, schema
from hushfade.store.persons import Enforced

_REQUEST = 3  # records of a request, if limits are enforced
_WRONG_USERS = ("7", '""', '" "', "null", '"\\ud800"', '["ann"]')
_EMPTY_LINES = ("", "", "\n", " \n", "\r\n")


class RequestBody:
    """A request body.  The service rejects all its records if one is malformed."""

    stops, by_position, infers = True, False, False

    def __init__(self, kind: str) -> None:
        self.name = "HTTP JSON" if kind == JSON else "HTTP NDJSON"
        self._kind = kind

    def setting(self, random: Random) -> Setting:
        """A random stream without times."""
        setting = setting_of(random, timed=False, skip_empty=False)
        columns = replace(setting.columns, value="value")
        return replace(
            setting, columns=columns, rules=replace(setting.rules, declared_keys_only=True)
        )

    def rules(self, made: Setting) -> Rules:
        """The rules for reading the records."""
        return made.rules

    def row(self, random: Random, made: Setting, bad: float) -> tuple[str, Meaning]:
        """A random record: a number, or an object with a key."""
        grid = made.rules.plan.grid
        value, value_means = token_of(random, "value", made, bad)
        if value is None:
            value = "null"
        if grid.keys is None and not made.rules.persons:
            return _outside(random, value, bad, Meaning(value=value_means))
        members, means = [], Meaning(value=value_means)
        if grid.keys is not None:
            key = random.choice(grid.keys)
            means = replace(means, key=key)
            members = [f'"key": {json.dumps(key, ensure_ascii=random.random() < 0.5)}']
            if random.random() < bad:
                wrongs = (("7", fields.BAD), ('"x"', "x"), ("null", fields.BAD))
                text, key_means = random.choice(wrongs)
                means = replace(means, key=key_means)
                members = [f'"key": {text}']
        if grid.high == 1 and grid.low == 0 and random.random() < 0.3:
            means = replace(means, value=1.0)
        else:
            members.append(f'"value" :{value}')
        if made.rules.persons:
            user, user_means = _user(random, bad)
            members += [] if user is None else [f'"user": {user}']
            means = replace(means, user=user_means)
        random.shuffle(members)
        if members and random.random() < bad:
            members.append(random.choice(('"other": 1', members[0])))
            means = replace(means, broken=True)
        return _outside(random, "{" + ", ".join(members) + "}", bad, means)

    def read(self, made: Setting, rows: Sequence[str]) -> Totals:
        """The sums of units that the service computes."""
        plan, persons = made.rules.plan, made.rules.persons
        facts = Facts("stream", "dataset", plan, enforced=persons)
        if not persons:
            found = self._batch(facts, rows)
            cells = zip(found.lanes.tolist(), found.units.tolist(), strict=True)
            return {(0, lane): units for lane, units in cells if units}
        sums: Counter[int] = Counter()
        database: Any = _Memory()
        enforced = Enforced.of(plan.guarantee.protects, None)
        for start in range(0, len(rows), _REQUEST):
            given = self._batch(facts, rows[start : start + _REQUEST]).persons
            assert given is not None
            chosen = enforced.counted(database, 1, 1, given.users)
            for lane, units in zip(*given.sums(plan.grid, chosen), strict=True):
                sums[int(lane)] += int(units)
        return {(0, lane): units for lane, units in sums.items() if units}

    def _batch(self, facts: Facts, rows: Sequence[str]) -> Batch:
        if self._kind == JSON:
            body = '{"sender": "s", "sequence": 1, "records": [' + ", ".join(rows) + "]}"
            return batch(facts, JSON, body.encode(), {})
        body = "".join(_EMPTY_LINES[len(row) % 5] + row + "\n" for row in rows)
        return batch(facts, LINES, body.encode(), {"sender": "s", "sequence": "1"})


class _Memory:
    """The tables of persons in memory, for one stream."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:")
        for statement in schema.MIGRATIONS[7]:
            self.write(statement.format(integer="INTEGER", blob="BLOB"))

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def write(self, sql: str, *values: Any) -> None:
        self._connection.execute(sql, values)

    def write_many(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        self._connection.executemany(sql, rows)


def _user(random: Random, bad: float) -> tuple[str | None, Any]:
    """A person in JSON (None if it is missing), and its meaning."""
    if random.random() < bad:
        return random.choice((None, *_WRONG_USERS)), fields.BAD
    text, means = fields.user_text(random, 0)
    return json.dumps(text, ensure_ascii=random.random() < 0.5), means


def _outside(random: Random, text: str, bad: float, means: Meaning) -> tuple[str, Meaning]:
    """The record, or with some probability a malformed one."""
    if random.random() < bad:
        wrongs = ("[1, 2]", '"1"', "true", "NaN", "{}", '{"value": 1}', "1 2", "[" * 20 + "]" * 20)
        return random.choice(wrongs), replace(means, broken=True)
    return text, means
