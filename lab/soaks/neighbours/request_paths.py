"""HTTP JSON and NDJSON: the records of one request, as the service reads its body."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hushfade.serve.batches import JSON, LINES, batch
from hushfade.serve.registry import Facts
from hushfade.store import Batch
from lab.soaks.neighbours import fields
from lab.soaks.neighbours.json_rows import token_of
from lab.soaks.neighbours.meaning import Fault, Meaning, Rules, Totals
from lab.soaks.neighbours.settings import Setting, setting_of

_EMPTY_LINES = ("", "", "\n", " \n", "\r\n")


class RequestBody:
    """A request body.  The service rejects all its records if one is malformed."""

    stops, by_position, infers = True, False, False

    def __init__(self, kind: str) -> None:
        self.name = "HTTP JSON" if kind == JSON else "HTTP NDJSON"
        self._kind = kind

    def setting(self, random: Random) -> Setting:
        """A random stream without times and persons."""
        setting = setting_of(random, timed=False, persons=False, skip_empty=False)
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
        members, means = list[str](), Meaning(value=value_means)
        if made.rules.persons:
            text, user = _user(random, bad)
            members.append(f'"user": {text}')
            means = replace(means, user=user)
        if grid.keys is not None:
            text, key = _key(random, grid.keys, bad)
            members.append(f'"key": {text}')
            means = replace(means, key=key)
        if not members:
            return _outside(random, value, bad, means)
        if grid.high == 1 and grid.low == 0 and random.random() < 0.3:
            means = replace(means, value=1.0)
        else:
            members.append(f'"value" :{value}')
        random.shuffle(members)
        if random.random() < bad:
            members.append(random.choice(('"other": 1', members[0])))
            means = replace(means, broken=True)
        return _outside(random, "{" + ", ".join(members) + "}", bad, means)

    def read(self, made: Setting, rows: Sequence[str]) -> Totals:
        """The sums of units that the service computes."""
        found = batch_of(self._kind, Facts("stream", "dataset", made.rules.plan), rows)
        cells = zip(found.lanes.tolist(), found.units.tolist(), strict=True)
        return {(0, lane): units for lane, units in cells if units}


def batch_of(
    kind: str, facts: Facts, rows: Sequence[str], *, sender: str = "s", sequence: int = 1
) -> Batch:
    """The batch that the service reads from a body with these records; without any, from JSON."""
    if kind == JSON or not rows:  # a body of lines has at least one record
        head = f'{{"sender": "{sender}", "sequence": {sequence}, "records": ['
        return batch(facts, JSON, f"{head}{', '.join(rows)}]}}".encode(), {})
    body = "".join(_EMPTY_LINES[len(row) % 5] + row + "\n" for row in rows)
    return batch(facts, LINES, body.encode(), {"sender": sender, "sequence": str(sequence)})


def _key(random: Random, keys: Sequence[str], bad: float) -> tuple[str, str | Fault]:
    """A key in JSON, and its meaning."""
    if random.random() < bad:
        return random.choice((("7", fields.BAD), ('"x"', "x"), ("null", fields.BAD)))
    key = random.choice(keys)
    return json.dumps(key, ensure_ascii=random.random() < 0.5), key


def _user(random: Random, bad: float) -> tuple[str, str | Fault]:
    """A person in JSON, and its meaning."""
    if random.random() < bad:
        return random.choice(
            ("7", "null", '""', '" "', '"\\u3000"', "[1]", '"\\ud800"')
        ), fields.BAD
    text, means = fields.user_text(random, 0)
    return json.dumps(text, ensure_ascii=random.random() < 0.5), means


def _outside(random: Random, text: str, bad: float, means: Meaning) -> tuple[str, Meaning]:
    """The record, or with some probability a malformed one."""
    if random.random() < bad:
        wrongs = ("[1, 2]", '"1"', "true", "NaN", "{}", '{"value": 1}', "1 2", "[" * 20 + "]" * 20)
        return random.choice(wrongs), replace(means, broken=True)
    return text, means
