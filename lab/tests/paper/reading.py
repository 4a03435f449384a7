"""What the tests read in a chapter's blocks."""

from lab.paper.document import Claim, Figure, Table


def claims(blocks):
    """All claims."""
    return [x for x in blocks if isinstance(x, Claim)]


def table(blocks, name):
    """A table's rows by their first cell, each by column."""
    (found,) = [x for x in blocks if isinstance(x, Table) and x.name == name]
    return {row[0]: dict(zip(found.columns, row, strict=True)) for row in found.rows}


def named(found, name):
    """The table or figure of that name."""
    return next(x for x in found if isinstance(x, Table | Figure) and x.name == name)


def rows(found, name):
    """A table's rows by their first cell."""
    return {row[0]: row[1:] for row in named(found, name).rows}
