"""Random CSV: a header, and records with unusual fields, quotes and line ends."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from lab.soaks.neighbours import fields
from lab.soaks.neighbours.input_path import meaning_of
from lab.soaks.neighbours.meaning import Meaning
from lab.soaks.neighbours.settings import Setting

_EXTRAS = ["", "x", "1", "nan", "2026-01-01", "é\u2028", "z" * 400]
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Dressing:
    """The layout of a file, apart from its records."""

    names: tuple[str, ...]  # of the columns; some are not declared, and some occur twice
    delimiter: str
    end: bytes
    mark: bytes  # a byte order mark, or nothing
    packed: bool
    block: int  # bytes per read


def dressing_of(random: Random, setting: Setting, delimiters: str) -> Dressing:
    """A random layout."""
    names = list(setting.columns.roles().values())
    names += random.choices(("other", "other", "w", 'q"', "T"), k=random.randint(1, 3))
    random.shuffle(names)
    return Dressing(
        names=tuple(names),
        delimiter=random.choice(delimiters),
        end=random.choice((b"\n", b"\r\n")),
        mark=_MARK if random.random() < 0.2 else b"",
        packed=random.random() < 0.05,
        block=random.choice((1 << 24, 64, 200, 17)),
    )


def header_of(dressing: Dressing) -> bytes:
    """The first line."""
    cells = [quoted(name.encode(), dressing.delimiter) for name in dressing.names]
    return dressing.mark + dressing.delimiter.encode().join(cells) + dressing.end


def quoted(cell: bytes, delimiter: str, *, always: bool = False) -> bytes:
    """The cell, in quotes if it needs them."""
    special = any(sign in cell for sign in (delimiter.encode(), b'"', b"\n", b"\r"))
    return b'"' + cell.replace(b'"', b'""') + b'"' if special or always else cell


def csv_row(
    random: Random, setting: Setting, dressing: Dressing, bad: float, *, live: bool = False
) -> tuple[bytes, Meaning]:
    """A random record; `live`: a record of several lines is malformed."""
    means: dict[str, object] = {}
    texts: dict[str, str | bytes] = {}
    for role, name in setting.columns.roles().items():
        texts[name], means[role] = fields.text(random, role, setting, bad)
    raw = [texts.get(name, random.choice(_EXTRAS)) for name in dressing.names]
    content = [text if isinstance(text, bytes) else text.encode() for text in raw]
    cells = [quoted(cell, dressing.delimiter, always=random.random() < 0.2) for cell in content]
    broken = live and any(b"\n" in cell for cell in content)
    if random.random() < bad:
        broken = True
        _break(random, cells)
    line = dressing.delimiter.encode().join(cells)
    # in a file with one column an empty line is a record
    blank = dressing.end * random.choice((0, 0, 0, 1, 2)) if len(cells) > 1 else b""
    return blank + line + dressing.end, meaning_of(setting, means, broken=broken)


def _break(random: Random, cells: list[bytes]) -> None:
    """A malformed record: a missing or extra field, or a misplaced quote or carriage return."""
    wrong = random.choice((b"", b"1", b'5"x', b'"a"x', b"a\rb", b'"'))
    if wrong == b"" and len(cells) > 2:
        cells.pop()
    elif wrong in (b"", b"1"):
        cells.append(b"1")
    else:
        cells[random.randrange(len(cells))] = wrong
