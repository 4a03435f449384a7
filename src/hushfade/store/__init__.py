"""A durable store: streams, steps, releases and the ledger in one database, one writer.

    validate → one transaction (step = last + 1, totals, noise, release, ledger) → mark → publish

keeper     the store: datasets, streams, records, steps
reading    what may be read of it, beside the writer too
live       a stream of the store in memory             book   the ledger as a table
opening    which database, and is it the newest copy?
database   what a store needs of a database; sqlite, postgres: the two there are
schema     the tables, versioned
mark       the high-water mark beside the database, which tells an older copy
points     where a test may stop the process

What was committed is published, and nothing else is; a step is drawn once.
"""

from __future__ import annotations

from hushfade.store.reader import Published, Reader
from hushfade.store.store import Batch, Store

__all__ = ["Batch", "Published", "Reader", "Store"]
