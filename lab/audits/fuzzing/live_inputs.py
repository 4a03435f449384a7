"""Fuzz targets with state: key files, steps of streams, bodies of requests to a service."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hushfade as hf
from lab.audits.fuzzing.documents import PLANS
from lab.audits.fuzzing.invariants import Target

KEY = bytes(range(7, 39))
MODES = (0o600, 0o400, 0o640, 0o604, 0o644, 0o777, 0o000, 0o700, 0o4600, 0o602)
KINDS = ("file", "file", "file", "link", "hanging", "folder", "pipe", "none", "hard")


@contextmanager
def keys(directory: Path) -> Iterator[Target]:
    """Key files: the first byte gives the kind of file, the second its mode, the rest its bytes."""
    path, other = directory / "key", directory / "other"

    def read(data: bytes) -> None:
        _clear(path, other)
        kind, mode = (*data[:2], 0, 0)[:2]
        _made(path, other, KINDS[kind % len(KINDS)], MODES[mode % len(MODES)], data[2:])
        found = hf.KeyFile(path, stream="audit").opened()
        assert KINDS[kind % len(KINDS)] == "file"
        assert MODES[mode % len(MODES)] & 0o077 == 0
        assert len(data) == 34
        assert KEY.hex() not in repr(found)

    seeds = [bytes([kind, mode]) + KEY for kind in range(len(KINDS)) for mode in range(2)]
    yield Target(
        "key files",
        (*seeds, b"\0\0", b"\0\0" + KEY + b"\n", b"\0\0" + KEY.hex().encode(), b"\0\0zq0001ed"),
        read,
        state=lambda: str(len(os.listdir("/dev/fd"))).encode(),  # all descriptors are closed
        refusals=(hf.HushfadeError, OSError),
        records=True,
    )


def _clear(*paths: Path) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _made(path: Path, other: Path, kind: str, mode: int, content: bytes) -> None:
    if kind in ("file", "link", "hard"):
        holder = path if kind == "file" else other
        holder.write_bytes(content)
        holder.chmod(mode)
    if kind in ("link", "hanging"):
        path.symlink_to(other)
    elif kind == "hard":
        path.hardlink_to(other)
    elif kind == "folder":
        path.mkdir(mode)
    elif kind == "pipe":
        os.mkfifo(path, mode)


@contextmanager
def steps(directory: Path) -> Iterator[Target]:
    """Records for live streams, as JSON [way, records]; a refusal takes no step."""
    streams = [PLANS[place].start() for place in (0, 3, 4)]

    def read(data: bytes) -> None:
        try:
            way, given = json.loads(data)
            number = int(way)
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise hf.InvalidValue("no records") from None
        stream = streams[number % 3]
        work: Any = (stream.step, stream.step_total, stream.run)[number // 3 % 3]
        before = stream.steps
        work(given)
        assert stream.steps > before or given == []

    seeds = (
        b"[0, [0.5, 1, 73000137]]", b"[0, 0.25]", b'[1, {"at": 1, "ch": [0.5, 73000137]}]',
        b"[2, [[0.5, 0.5], [73000137, 0]]]", b"[3, 1.5]", b'[4, {"at": 1, "de": 0.5}]',
        b"[5, [0.5, 0.25]]", b"[6, [1, 0.5, 0.25]]", b"[7, [[1, 0.5, 0]]]", b"[8, [[0.5, 0.25]]]",
    )  # fmt: skip
    yield Target(
        "records of steps",
        seeds,
        read,
        state=lambda: b"".join(stream.save() for stream in streams),
        records=True,
    )


@contextmanager
def bodies(directory: Path) -> Iterator[Target]:
    """Bodies of requests to a service in this process; the first byte gives the kind of request."""
    from lab.soaks.request_fuzzing import examples
    from lab.soaks.watched_service import served

    asked = examples()
    with asyncio.Runner() as runner:
        context = served(directory / "releases.db")
        target = runner.run(context.__aenter__())

        async def ask(data: bytes) -> int:
            from dataclasses import replace

            request = replace(asked[data[0] % len(asked)] if data else asked[0], body=data[1:])
            answer = await target.ask(target.with_token(request, "admin"))
            fault = target.declared.fault(request, answer)
            if answer.status >= 500 or fault is not None:
                raise AssertionError(f"status {answer.status}: {fault}")
            if answer.status >= 400:
                shown = answer.body.decode("utf-8", "replace") + "\n".join(target.lines)
                raise hf.InvalidValue(shown)
            return answer.status

        def read(data: bytes) -> None:
            runner.run(ask(data))

        yield Target(
            "HTTP bodies",
            tuple(bytes([place]) + request.body for place, request in enumerate(asked)),
            read,
            state=lambda: str(target.version()).encode(),
            records=True,
        )
        runner.run(context.__aexit__(None, None, None))
