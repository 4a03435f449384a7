"""Random JSON lines: objects with unusual fields, escapes and blanks, and malformed lines."""

from __future__ import annotations

import json
from random import Random

from lab.soaks.neighbours import fields
from lab.soaks.neighbours.input_path import meaning_of
from lab.soaks.neighbours.meaning import Fault, Meaning
from lab.soaks.neighbours.settings import Setting

_OTHERS = ('"other"', '"w"', '"T"', '"\\u0074x"')
_VALUES = ("1", "[]", '{"t":[1,{"v":null}]}', '"x"', "1e999", "false")
_ODD = {
    "time": ("true", "[1]", "{}"),
    "value": ("true", "[1]", "{}", '"1"', "1e999", '""'),
    "key": ("true", "[1]", "{}", "1.5", "7.0"),
    "user": ("true", "[1]", "{}", "1.5", "7.0", '" "', '""'),
}


def json_row(random: Random, setting: Setting, end: bytes, bad: float) -> tuple[bytes, Meaning]:
    """A random object on its own line, or a malformed line."""
    roles = setting.columns.roles()
    members: list[tuple[str, str]] = []
    means: dict[str, object] = {}
    for role, name in roles.items():
        token, means[role] = token_of(random, role, setting, bad)
        if token is not None:
            members.append((_name(random, name), token))
    present = len(members)
    if present and random.random() < bad:
        again = json.loads(random.choice(members)[0])
        members.append((_name(random, again), "1"))
    broken = len(members) > present  # a repeated field
    members += [
        (random.choice(_OTHERS), random.choice(_VALUES)) for _ in range(random.randrange(3))
    ]
    random.shuffle(members)
    blank = random.choice(("", " ", "\t"))
    body = ",".join(f"{blank}{name}{blank}:{blank}{token}{blank}" for name, token in members)
    line = ("{" + body + "}").encode()
    if random.random() < bad:
        broken = True
        split = b"{" + end + line[1:]  # over two lines
        wrong = [line + line, split, line + line + end + split, line[:-1], line + b","]
        wrong += [b"[" + line + b"]", line[:-1] + b",}", b"\xef\xbb\xbf" + line]
        line = random.choice(wrong)
    before = end * random.choice((0, 0, 0, 1)) + b" " * random.choice((0, 0, 2))
    return before + line + end, meaning_of(setting, means, broken=broken)


def token_of(random: Random, role: str, setting: Setting, bad: float) -> tuple[str | None, object]:
    """A field in JSON (None if it is missing), and its meaning."""
    if random.random() < bad:
        if random.random() < 0.4:
            missing = "none of the keys" if role == "key" else Fault.EMPTY
            return random.choice((None, "null")), missing
        return random.choice(_ODD[role]), Fault.MALFORMED
    text, means = fields.text(random, role, setting, bad if role == "time" else 0, plain=True)
    assert isinstance(text, str)
    number = fields.json_number(text)
    if role == "value":
        return (text if number else repr(means)), means
    timed = role == "time" and setting.time_unit is not None and random.random() < 0.7
    named = role in ("key", "user") and text == "7" and random.random() < 0.5
    if number and (timed or named):
        return text, means
    return json.dumps(text, ensure_ascii=random.random() < 0.5), means


def _name(random: Random, name: str) -> str:
    return f'"\\u{ord(name):04x}"' if random.random() < 0.2 else f'"{name}"'
