"""hushfade serve: serve a store over HTTP, with a live page."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hushfade import check
from hushfade.cli import console
from hushfade.cli.options.parameters import (
    OptionGroup,
    count,
    flag,
    naming_options,
    number,
    option,
    option_group,
)
from hushfade.cli.store_access import MarkFile, opened, shown
from hushfade.errors import Refused

if TYPE_CHECKING:
    from hushfade.serve.guard import Guard


@option_group("Store")
class StoreOptions(OptionGroup):
    """The store to serve."""

    store: Annotated[
        str,
        Parameter(
            help="A SQLite file, which hushfade creates if needed, or the postgresql:// address of "
            "a database.",
            metavar="STORE",
        ),
    ]
    mark: MarkFile = None
    new_epoch: Annotated[
        bool,
        flag(
            "Continue from an older copy of the store, and charge the privacy loss of every stream "
            "again."
        ),
    ] = False


@option_group("Service")
class ServiceOptions(OptionGroup):
    """The address of the service, and its limits."""

    host: Annotated[
        str,
        option(
            "The address to listen on. Other machines can connect only if the store has tokens.",
            "ADDRESS",
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int, count("The port to listen on. With 0 the system chooses any free port.", "NUMBER")
    ] = 8321
    max_body: Annotated[
        int, count("The size of the largest request in bytes, at least 1024.", "BYTES")
    ] = 8 << 20
    rate: Annotated[
        float, number("The largest number of requests per second for each token or address.")
    ] = 1000.0
    public: Annotated[
        bool,
        flag(
            "Let everyone read the releases without a token, including pages of other websites. "
            "The store must have tokens."
        ),
    ] = False


def serve(*, place: StoreOptions, service: ServiceOptions = ServiceOptions()) -> None:
    """Serve a store over HTTP: accept records, publish releases, and show them on a live page.

    If the store has no tokens, everyone on this machine has full access, and other machines have
    no access. Create tokens with hushfade token. Ctrl-C or SIGTERM stops the service after it has
    finished the requests in progress.

    `hushfade serve --store releases.db`
    """
    try:
        from hushfade.serve.guard import Guard
        from hushfade.serve.process import serve as served
        from hushfade.serve.service import Service
    except ModuleNotFoundError as error:
        message = f"the service needs {error.name}: pip install 'hushfade[serve]'"
        raise Refused(message) from None
    from hushfade.store import tokens

    host = service.host
    with naming_options(service):
        check.count(port=service.port, least=0, most=65535)
        check.count(max_body=service.max_body, least=1024)
        check.positive(rate=service.rate)
    store = opened(place.store, place.mark, new_epoch=place.new_epoch)
    try:
        guard = Guard(
            tokens.kept(store),
            max_body=service.max_body,
            rate=service.rate,
            public=service.public,
        )
        guard.may_listen(host)
        _log()
        served(
            Service(store, guard),
            host,
            service.port,
            started=lambda port: _greet(place.store, host, port, guard),
        )
    finally:
        store.close()


def _log() -> None:
    """Log one line per request to stderr: method, route, status and time."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("hushfade.serve", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO if name == "hushfade.serve" else logging.WARNING)
        logger.propagate = False


def _greet(place: str, host: str, port: int, guard: Guard) -> None:
    address = f"[{host}]" if ":" in host else host
    console.note(f"Serving {shown(place)} on http://{address}:{port}/. Press Ctrl-C to stop.")
    if guard.open:
        console.note("The store has no tokens: everyone on this machine has full access.")
