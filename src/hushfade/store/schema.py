"""The tables of a store, and the format that its table `meta` states."""

from __future__ import annotations

from secrets import token_hex

from hushfade.errors import Refused
from hushfade.format_marker import check_marker
from hushfade.store.database import Database

FORMAT = "hushfade store draft"
_TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
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
    "CREATE TABLE tokens (name TEXT PRIMARY KEY, scopes TEXT NOT NULL, digest TEXT NOT NULL)",
    "CREATE TABLE person_secrets (stream {integer} NOT NULL REFERENCES streams,"
    " stretch {integer} NOT NULL, secret {blob} NOT NULL, PRIMARY KEY (stream, stretch))",
    "CREATE TABLE persons (stream {integer} NOT NULL REFERENCES streams,"
    " stretch {integer} NOT NULL, person {blob} NOT NULL, steps {integer} NOT NULL,"
    " last {integer} NOT NULL, records {integer} NOT NULL,"
    " PRIMARY KEY (stream, stretch, person))",
    "CREATE TABLE sources (stream {integer} NOT NULL REFERENCES streams,"
    " digest {blob} NOT NULL, first {integer} NOT NULL, last {integer} NOT NULL,"
    " PRIMARY KEY (stream, digest))",
)


def format_of(database: Database) -> str | None:
    """The format of the store, from its table `meta`; None if it states none."""
    found = database.read("SELECT value FROM meta WHERE name = 'format'")
    return str(found[0][0]) if found else None


def check_format(database: Database) -> None:
    """Raise Refused unless the store has the format of this version."""
    check_marker(
        "the store",
        format_of(database),
        FORMAT,
        remedy="begin a new store with this version of hushfade",
        error=Refused,
    )


def create(database: Database) -> None:
    """Create the tables in an empty database.  Raise Refused if it contains anything else."""
    with database.transaction():
        tables = database.tables()
        if "meta" in tables:
            check_format(database)
            return
        if tables:
            raise Refused("the database must be empty or a store", got="tables of something else")
        for statement in _TABLES:
            database.write(statement.format(**database.kinds))
        database.write("INSERT INTO meta (name, value) VALUES ('format', ?)", FORMAT)


def name(database: Database) -> str:
    """The random name of the store, created once."""
    found = database.read("SELECT value FROM meta WHERE name = 'store'")
    if not found:
        with database.transaction():
            database.write("INSERT INTO meta (name, value) VALUES ('store', ?)", token_hex(16))
        return name(database)
    return str(found[0][0])
