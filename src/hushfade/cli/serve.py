"""hushfade serve: a store over HTTP, with a live page; hushfade token: who may use it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushfade import check
from hushfade.cli import console, options
from hushfade.cli.store import beside, shown, there
from hushfade.errors import InvalidValue, Refused

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
Public = Annotated[
    bool,
    typer.Option(
        "--public",
        help="Everybody may read releases, also other sites' pages. The store must have tokens.",
        rich_help_panel=_SERVICE,
    ),
]
Name = Annotated[
    str | None,
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

Listed = Annotated[
    bool,
    typer.Option(
        "--list",
        help="List the tokens' names and scopes instead, also while the service runs.",
        rich_help_panel=_SERVICE,
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
    public: Public = False,
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

    check.count(**{"--max-body": max_body}, least=1024)
    check.positive(**{"--rate": rate})
    store = _opened(place, mark, new_epoch=new_epoch)
    try:
        guard = Guard(tokens.kept(store), max_body=max_body, rate=rate, public=public)
        guard.may_listen(host)
        _log()
        served(
            Service(store, guard), host, port, started=lambda port: _greet(place, host, port, guard)
        )
    finally:
        store.close()


def token(
    where: Where,
    name: Name = None,
    scope: Scopes = None,
    revoke: Revoke = False,
    listed: Listed = False,
    mark: Mark = None,
    json: options.Json = False,
) -> None:
    """Make a token for a store's service, and show it once; only its digest is kept.

    The service must not run meanwhile; one that runs makes and revokes tokens itself, at
    /v1/tokens. Send a token as the header Authorization: Bearer TOKEN.

    [cyan]hushfade token releases.db --name sensors --scope ingest[/]
    """
    if listed:
        if name is not None or scope or revoke:
            raise InvalidValue("--list must be given without --name, --scope and --revoke")
        _list(where, json=json)
    elif name is None:
        raise InvalidValue("--name must be given, or --list")
    elif revoke:
        if scope:
            raise InvalidValue("--scope must be given for a new token only")
        _revoke(where, name, mark, json=json)
    else:
        _known(scope or [])
        _make(where, name, scope or [], mark, json=json)


def _known(scopes: Sequence[str]) -> None:
    from hushfade.store.tokens import SCOPES

    listed = f"{', '.join(SCOPES[:-1])} or {SCOPES[-1]}"
    if not scopes:
        raise InvalidValue(f"--scope must be given: {listed}")
    for scope in scopes:
        if scope not in SCOPES:
            raise InvalidValue(f"--scope must be {listed}, got {scope!r}; give it once for each")


def _list(where: str, *, json: bool) -> None:
    from hushfade.store import tokens

    with beside(where) as reader:
        kept = tokens.kept(reader)
    if json:
        console.document({"tokens": [{"name": x.name, "scopes": list(x.scopes)} for x in kept]})
        return
    for token in kept:
        console.out().print(f"{token.name}: {', '.join(token.scopes)}", soft_wrap=True)
    if not kept:
        console.note("The store has no tokens.")


def _make(where: str, name: str, scopes: Sequence[str], mark: Path | None, *, json: bool) -> None:
    from hushfade.store import tokens

    with closing(_opened_for_tokens(where, mark)) as store:
        made = tokens.add(store, name, scopes)
    if json:
        console.document({"name": name, "scopes": list(scopes), "token": made})
    else:
        sys.stdout.write(made + "\n")
        console.note("It is shown this once.")


def _revoke(where: str, name: str, mark: Path | None, *, json: bool) -> None:
    from hushfade.store import tokens

    there(where)  # a store is not made to find that it has no such token
    with closing(_opened_for_tokens(where, mark)) as store:
        tokens.revoke(store, name)
        left = tokens.kept(store)
    console.note(f"The token of {name!r} is removed.")
    if not left:
        console.note("It was the last: everybody on this machine may do everything now.")
    elif not any(token.allows("admin") for token in left):
        console.note("No token has the scope admin now: the service cannot make another.")
    if json:
        console.document({"name": name, "revoked": True})


def _opened_for_tokens(where: str, mark: Path | None) -> Store:
    try:
        return _opened(where, mark, new_epoch=False)
    except Refused as error:
        if not str(error).startswith("another process writes"):
            raise
        message = f"{error}: if it is the service, ask it, with POST or DELETE at /v1/tokens"
        raise Refused(message) from None


def _opened(where: str, mark: Path | None, *, new_epoch: bool) -> Store:
    """The store; whether it is new is said, and what a new epoch did to its streams."""
    from hushfade.store import Store

    is_file = shown(where) == where
    if not is_file and mark is None:
        raise InvalidValue("--mark FILE must be given with postgresql://")
    new = is_file and not Path(where).exists()
    store = Store.open(where, mark=mark, new_epoch=new_epoch)
    if new:
        console.note(f"A new store: {where}")
    if store.settled.renewed:
        charged, ended = store.settled.charged, store.settled.ended
        console.note(f"A new epoch: {len(charged)} streams are charged again.")
        if ended:
            console.note(f"Ended, for their budgets are spent: {', '.join(map(repr, ended))}.")
    return store


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
    address = f"[{host}]" if ":" in host else host
    console.note(f"Serving {shown(place)} on http://{address}:{port}/ until Ctrl-C.")
    if guard.open:
        console.note("The store has no tokens: everybody on this machine may do everything.")
