"""Records of Stream.step in Python: a list, or a mapping from key to list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any, TypeAlias

import numpy as np

from lab.soaks.neighbours import fields
from lab.soaks.neighbours.meaning import Meaning, Rules, Totals
from lab.soaks.neighbours.settings import Setting, setting_of

Content: TypeAlias = tuple[str | None, Any]
"""The key, or None without keys, and the value."""

_WRONG = (True, np.True_, np.array(False), None, "1", b"1", [1], 1.5j, Decimal(1), float("nan"))
_LARGE = (float("inf"), 10**400, -(10**400))


class StepRecords:
    """The records of one step.  The stream rejects all of them if one is malformed."""

    name = "records of Stream.step"
    stops, by_position, infers = True, False, False

    def setting(self, random: Random) -> Setting:
        """A random stream without times and persons."""
        setting = setting_of(random, timed=False, persons=False, skip_empty=False)
        columns = replace(setting.columns, value="value")
        rules = replace(setting.rules, declared_keys_only=True)
        return replace(setting, columns=columns, rules=rules)

    def rules(self, made: Setting) -> Rules:
        """The rules for reading the records."""
        return made.rules

    def row(self, random: Random, made: Setting, bad: float) -> tuple[Content, Meaning]:
        """A random record: a number of some type, and its key."""
        keys = made.rules.plan.keys
        key = None if keys is None else random.choice(keys)
        if random.random() < bad:
            wrong = random.choice((*_WRONG, *_LARGE))
            return (key, wrong), Meaning(value=fields.BAD, key=key)
        _, number = fields.number_text(random, 0)
        assert isinstance(number, float)
        forms: list[Any] = [number, number, np.float64(number), np.longdouble(number)]
        forms.append(np.array(number))
        if number.is_integer():
            forms += [int(number)] * 3
        if float(np.float32(min(abs(number), 1e38))) == number:
            forms.append(np.float32(number))
        return (key, random.choice(forms)), Meaning(value=number, key=key)

    def read(self, made: Setting, rows: Sequence[Content]) -> Totals:
        """The sums of units that the stream computes."""
        grid = made.rules.plan.grid
        if grid.keys is None:
            units = grid.record_sum([value for _, value in rows])
            return {(0, 0): units} if units else {}
        by_key: dict[str, list[Any]] = {}
        for key, value in rows:
            assert key is not None
            by_key.setdefault(key, []).append(value)
        found = grid.record_sums(by_key).tolist()
        return {(0, lane): units for lane, units in enumerate(found) if units}
