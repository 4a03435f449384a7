"""The files of the web page.  The service lists them once, and serves no other path."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

from hushfade.serve.error_responses import absent

PLACE = Path(__file__).resolve().parent / "page"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    "": "text/plain; charset=utf-8",  # a licence
}


@dataclass(frozen=True)
class File:
    """A file: its content, media type and tag."""

    content: bytes
    kind: str
    tag: str


class Pages:
    """All files below a directory, read once."""

    def __init__(self, place: Path = PLACE) -> None:
        self._files = {
            path.relative_to(place).as_posix(): _file(path)
            for path in sorted(place.rglob("*"))
            if path.is_file() and path.suffix in _TYPES
        }

    def response(self, path: str, known: str | None) -> Response:
        """The response with the file, or status 304 if the client's tag `known` is current."""
        file = self._files.get(path)
        if file is None:
            raise absent("page")
        headers = {"ETag": file.tag}
        if known == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers | {"Content-Type": file.kind})


def _file(path: Path) -> File:
    content = path.read_bytes()
    return File(content, _TYPES[path.suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')
