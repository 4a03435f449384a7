"""A PostgreSQL server for tests and soaks, which they can crash."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Server:
    """A server with its own directory, which listens on a socket there and on no port."""

    def __init__(self, programs: Path, directory: Path) -> None:
        self._programs, self._directory = programs, directory
        self._as_user: list[str] = []
        if os.getuid() == 0:  # the server refuses to run as root
            shutil.chown(directory, "postgres")
            self._as_user = ["runuser", "-u", "postgres", "--"]
        self._run("initdb", "--auth=trust", "--username=postgres", "--no-sync")

    @property
    def url(self) -> str:
        """The address of its first database."""
        return self.database("postgres")

    def database(self, name: str) -> str:
        """The address of the database with this name."""
        return f"postgresql://postgres@/{name}?host={self._directory}"

    def new_database(self, name: str) -> str:
        """The address of a new database with this name."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.database(name)

    def start(self) -> None:
        """Start to accept connections; after a crash this includes the recovery."""
        self._run(
            "pg_ctl", "--wait", "--log", str(self._directory / "log"), "--options",
            f"-k {self._directory} -c listen_addresses=''", "start",
        )  # fmt: skip

    def crash(self) -> None:
        """Stop immediately, as in a crash, without finishing or writing anything."""
        self._run("pg_ctl", "--mode=immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        data = str(self._directory / "data")
        subprocess.run(
            [*self._as_user, str(self._programs / program), "-D", data, *arguments],
            check=True, stdout=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip


def programs() -> Path | None:
    """The directory of the server's programs, from Debian's package postgresql."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    return Path(found[-1]) if found else None


@contextmanager
def server(place: Path | None = None) -> Iterator[Server]:
    """A running server with temporary files in `place`."""
    where = programs()
    assert where is not None, (
        "PostgreSQL's programs are not installed: see lab/scripts/make-postgres"
    )
    directory = Path(tempfile.mkdtemp(prefix="hushfade-", dir=place))
    try:
        made = Server(where, directory)
        made.start()
        try:
            yield made
        finally:
            made.crash()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
