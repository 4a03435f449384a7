"""hushfade serve: a store over HTTP, with a live page; hushfade token: who may use it."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushfade.cli import console, options
from hushfade.errors import Refused

if TYPE_CHECKING:
    from hushfade.serve.guard import Guard
    from hushfade.store import Store

PORT = 8321
MAX_BODY = 8 << 20
RATE = 1000.0

_SERVICE, _STORE = "Service", "Store"

Place = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="STORE",
        help="A SQLite file, made if it is not there, or postgresql://... of a database.",
        rich_help_panel=_STORE,
    ),
]
Where = Annotated[
    str,
    typer.Argument(metavar="STORE", help="A SQLite file, or postgresql://... of a database."),
]
Mark = Annotated[
    Path | None,
    typer.Option(
        "--mark",
        metavar="FILE",
        help="The file of the high-water mark. STORE.mark, unless the database is elsewhere.",
        rich_help_panel=_STORE,
    ),
]
NewEpoch = Annotated[
    bool,
    typer.Option(
        "--new-epoch",
        help="Go on from an older copy of the store, and charge every stream again.",
        rich_help_panel=_STORE,
    ),
]
Host = Annotated[
    str,
    typer.Option(
        "--host",
        metavar="ADDRESS",
        help="Where to listen. Others than this machine may ask only if the store has tokens.",
        rich_help_panel=_SERVICE,
    ),
]
Port = Annotated[
    int,
    typer.Option(
        "--port",
        metavar="NUMBER",
        min=0,
        max=65535,
        help="The port to listen on; 0 takes any that is free.",
        rich_help_panel=_SERVICE,
    ),
]
MaxBody = Annotated[
    int,
    typer.Option(
        "--max-body",
        metavar="BYTES",
        help="The largest request; at least 1024.",
        rich_help_panel=_SERVICE,
    ),
]
Rate = Annotated[
    float,
    typer.Option(
        "--rate",
        metavar="NUMBER",
        help="Requests a second, for each token or address.",
        rich_help_panel=_SERVICE,
    ),
]
Name = Annotated[
    str,
    typer.Option("--name", metavar="NAME", help="Whose token it is.", rich_help_panel=_SERVICE),
]
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        metavar="SCOPE",
        help="ingest: send records; read: read releases; admin: all. May be given several times.",
        rich_help_panel=_SERVICE,
    ),
]
Revoke = Annotated[
    bool,
    typer.Option(
        "--revoke", help="Remove the token of that name instead.", rich_help_panel=_SERVICE
    ),
]


def serve(
    place: Place,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    mark: Mark = None,
    new_epoch: NewEpoch = False,
    max_body: MaxBody = MAX_BODY,
    rate: Rate = RATE,
) -> None:
    """Serve a store over HTTP: records in, releases out, and a page that shows them live.

    Without tokens everybody on this machine may do everything, and nobody else can ask. Make
    tokens with hushfade token. Stopped by Ctrl-C or SIGTERM, it finishes what was sent.

    [cyan]hushfade serve --store releases.db[/]
    """
    try:
        from hushfade.serve.guard import Guard
        from hushfade.serve.process import serve as served
        from hushfade.serve.service import Service
    except ModuleNotFoundError as error:
        message = f"the service needs {error.name}: pip install 'hushfade[serve]'"
        raise Refused(message) from None
    from hushfade.store import tokens

    store = _store(place, mark, new_epoch=new_epoch)
    try:
        guard = Guard(tokens.kept(store), max_body=max_body, rate=rate)
        guard.may_listen(host)
        _log()
        _greet(place, host, port, guard)
        served(Service(store, guard), host, port)
    finally:
        store.close()


def token(
    where: Where,
    name: Name,
    scope: Scopes = None,
    revoke: Revoke = False,
    mark: Mark = None,
    json: options.Json = False,
) -> None:
    """Make a token for a store's service, and show it once; only its digest is kept.

    The service must not run meanwhile; one that runs makes and revokes tokens itself, at
    /v1/tokens. Send a token as the header Authorization: Bearer TOKEN.

    [cyan]hushfade token releases.db --name sensors --scope ingest[/]
    """
    from hushfade.store import tokens

    store = _store(where, mark, new_epoch=False)
    try:
        if revoke:
            tokens.revoke(store, name)
        else:
            made = tokens.add(store, name, scope or [])
    finally:
        store.close()
    if revoke:
        console.note(f"The token of {name!r} is removed.")
        if json:
            console.document({"name": name, "revoked": True})
    elif json:
        console.document({"name": name, "scopes": scope, "token": made})
    else:
        sys.stdout.write(made + "\n")
        console.note("It is shown this once.")


def _store(where: str, mark: Path | None, *, new_epoch: bool) -> Store:
    from hushfade.store import Store

    return Store.open(where, mark=mark, new_epoch=new_epoch)


def _log() -> None:
    """One line a request on stderr: method, route, status, time."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("hushfade.serve", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO if name == "hushfade.serve" else logging.WARNING)
        logger.propagate = False


def _greet(place: str, host: str, port: int, guard: Guard) -> None:
    from hushfade.store.opening import ELSEWHERE

    shown = "the database" if place.startswith(ELSEWHERE) else place  # its address has a password
    address = f"[{host}]" if ":" in host else host
    console.note(f"Serving {shown} on http://{address}:{port}/ until Ctrl-C.")
    if guard.open:
        console.note("The store has no tokens: everybody on this machine may do everything.")
