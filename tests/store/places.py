"""Where the tests' stores are: a SQLite file, or a database of a server that they start."""

import glob
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import psycopg

from hushfade.store import Store


class Place:
    """A place for one store: where its database is, and its mark."""

    def __init__(self, where, mark):
        self.where, self.mark = where, mark
        self._opened = []

    def open(self, **settings):
        """The store, which is closed after the test."""
        self._opened.append(Store.open(self.where, mark=self.mark, **settings))
        return self._opened[-1]

    def close(self):
        for store in self._opened:
            store.close()


def programs():
    """The directory of the server's programs, from Debian's package postgresql."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    return Path(found[-1]) if found else None


@contextmanager
def server():
    """A PostgreSQL server with a socket in a directory of its own, and no port."""
    directory = Path(tempfile.mkdtemp(prefix="hushfade-"))
    where = programs()
    as_user = []
    if os.getuid() == 0:  # the server refuses to run as root
        shutil.chown(directory, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]

    def run(program, *arguments):
        subprocess.run(
            [*as_user, str(where / program), "-D", str(directory / "data"), *arguments],
            check=True, stdout=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip

    run("initdb", "--auth=trust", "--username=postgres", "--no-sync")
    run(
        "pg_ctl", "--wait", "--log", str(directory / "log"), "--options",
        f"-k {directory} -c listen_addresses=''", "start",
    )  # fmt: skip
    try:
        yield f"postgresql://postgres@/postgres?host={directory}"
    finally:
        run("pg_ctl", "--mode=immediate", "stop")
        shutil.rmtree(directory, ignore_errors=True)


def new_database(url, name):
    """A database of that name on the server."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")
