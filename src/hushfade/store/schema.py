"""The tables of a store, with versions.  Each migration updates a store to the next version."""

from __future__ import annotations

from secrets import token_hex

from hushfade.errors import Refused
from hushfade.store.database import Database

MIGRATIONS = (
    (
        "CREATE TABLE streams (stream {integer} PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
        " dataset TEXT NOT NULL, plan TEXT NOT NULL, settings TEXT NOT NULL,"
        " epoch {integer} NOT NULL, ended {integer} NOT NULL)",
        "CREATE TABLE states (stream {integer} PRIMARY KEY REFERENCES streams,"
        " steps {integer} NOT NULL, state {blob} NOT NULL)",
        "CREATE TABLE traces (stream {integer} NOT NULL REFERENCES streams,"
        " step {integer} NOT NULL, trace {blob} NOT NULL, PRIMARY KEY (stream, step))",
        "CREATE TABLE batches (stream {integer} NOT NULL REFERENCES streams,"
        " number {integer} NOT NULL, records {integer} NOT NULL, lanes {blob} NOT NULL,"
        " units {blob} NOT NULL, PRIMARY KEY (stream, number))",
        "CREATE TABLE senders (stream {integer} NOT NULL REFERENCES streams,"
        " sender TEXT NOT NULL, sequence {integer} NOT NULL, PRIMARY KEY (stream, sender))",
        "CREATE TABLE counts (stream {integer} NOT NULL REFERENCES streams, name TEXT NOT NULL,"
        " number {integer} NOT NULL, PRIMARY KEY (stream, name))",
        "CREATE TABLE releases (stream {integer} NOT NULL REFERENCES streams,"
        " step {integer} NOT NULL, closed {integer} NOT NULL, stddev {real} NOT NULL,"
        " value {blob} NOT NULL, PRIMARY KEY (stream, step))",
        "CREATE TABLE ledger (number {integer} PRIMARY KEY, kind TEXT NOT NULL,"
        " body TEXT NOT NULL, digest TEXT NOT NULL)",
    ),
    ("CREATE TABLE tokens (name TEXT PRIMARY KEY, scopes TEXT NOT NULL, digest TEXT NOT NULL)",),
    (),  # charges with a relation, entries 'lost': an older program would not count them
    (),  # charges of any law, and budgets of epsilon and delta: an older program cannot add them up
    (),  # joint charges: an older program would not count them
    (),  # statistics: an older program would store and publish the value in place of the lanes
    (),  # the mark records only changed budgets: an older program would forget the others
    (  # limits per person and daily files: an older program would not enforce the limits, and would
        # release a file twice
        "CREATE TABLE person_secrets (stream {integer} NOT NULL REFERENCES streams,"
        " stretch {integer} NOT NULL, secret {blob} NOT NULL, PRIMARY KEY (stream, stretch))",
        "CREATE TABLE persons (stream {integer} NOT NULL REFERENCES streams,"
        " stretch {integer} NOT NULL, person {blob} NOT NULL, steps {integer} NOT NULL,"
        " last {integer} NOT NULL, records {integer} NOT NULL,"
        " PRIMARY KEY (stream, stretch, person))",
        "CREATE TABLE sources (stream {integer} NOT NULL REFERENCES streams,"
        " digest {blob} NOT NULL, first {integer} NOT NULL, last {integer} NOT NULL,"
        " PRIMARY KEY (stream, digest))",
    ),
)
VERSION = len(MIGRATIONS)


def version(database: Database) -> int:
    """The version of the store, from its table `meta`."""
    found = database.read("SELECT value FROM meta WHERE name = 'version'")
    return int(found[0][0]) if found else 0


def migrate(database: Database) -> None:
    """Update the tables to this version in one transaction.  Raise if they are newer."""
    with database.transaction():
        if (others := database.tables()) and "meta" not in others:
            raise Refused("the database must be empty or a store", got="tables of something else")
        database.write(
            "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
        )
        found = version(database)
        if found > VERSION:
            raise Refused(
                f"the store must have version {VERSION} or older",
                got=found,
                remedy="update hushfade",
            )
        for migration in MIGRATIONS[found:]:
            for statement in migration:
                database.write(statement.format(**database.kinds))
        database.write(
            "INSERT INTO meta (name, value) VALUES ('version', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            str(VERSION),
        )


def name(database: Database) -> str:
    """The random name of the store, created once."""
    found = database.read("SELECT value FROM meta WHERE name = 'store'")
    if not found:
        with database.transaction():
            database.write("INSERT INTO meta (name, value) VALUES ('store', ?)", token_hex(16))
        return name(database)
    return str(found[0][0])
