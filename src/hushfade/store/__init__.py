"""The durable store: streams, steps, releases and the ledger in one database, with one writer.

    validate → one transaction (step = last + 1, totals, noise, release, ledger) → mark → publish

store            the store: datasets, streams, records, steps
reader           read access, also while another process writes
batch            records of one stream, summed in integer units per lane
persons          which records of a person count, from keyed digests
live_streams     a stream of the store in memory
ledger_table     the ledger as a table
open_store       choose the database, and check that it is the newest copy
database         the protocol of a database; sqlite and postgres implement it
schema           the tables, and the format of the store
high_water_mark  a file outside the database, by which an older copy is recognised
group_close      steps of several streams in one transaction
reopening        connecting again after a failure
statement_deadline  a time limit for each statement
process_lock     the lock that keeps a second writer out
tokens           the service's tokens, as digests
file_runs        the steps of a daily file, in one transaction
file_memory      the persons and files that daily files have released, by keyed digests
fail_points      where a test may stop the process

The store publishes what it has committed and nothing else, and draws each step once.
"""

from __future__ import annotations

from hushfade.store.batch import Batch
from hushfade.store.group_close import Closing
from hushfade.store.reader import Published, Reader
from hushfade.store.store import Store

__all__ = ["Batch", "Closing", "Published", "Reader", "Store"]
