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
    from hushfade.serve.limits import Limits


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


@option_group("Limits")
class LimitOptions(OptionGroup):
    """What the service keeps in memory for its clients, and the clock that it trusts."""

    proxy: Annotated[
        tuple[str, ...],
        option(
            "The address or network of a reverse proxy, whose header X-Forwarded-For hushfade "
            "trusts. May be repeated.",
            "ADDRESS",
            default="none",
        ),
    ] = ()
    connections: Annotated[
        int,
        count(
            "The largest number of connections. At the limit, idle connections make room for new "
            "connections.",
            "NUMBER",
        ),
    ] = 12_000
    listeners: Annotated[
        int, count("The largest number of clients that receive events.", "NUMBER")
    ] = 1000
    listeners_each: Annotated[
        int,
        count(
            "The largest number of these clients per token or address. All IPv6 addresses of a /64 "
            "network count as one address.",
            "NUMBER",
        ),
    ] = 250
    waiting_each: Annotated[
        int,
        count(
            "The number of large responses per token or address that may wait for memory.", "NUMBER"
        ),
    ] = 250
    listener_bytes: Annotated[
        int, count("The bytes that a client of events may leave unread, at least 1 MiB.", "BYTES")
    ] = 8 << 20
    response_bytes: Annotated[
        int, count("The memory for all large responses in progress, at least 1 MiB.", "BYTES")
    ] = 256 << 20
    response_bytes_each: Annotated[
        int,
        count(
            "The memory for the large responses of one token or address, at least 1 MiB.", "BYTES"
        ),
    ] = 64 << 20
    clock_jump: Annotated[
        float,
        number("The service holds all steps if the wall clock jumps by more than these seconds."),
    ] = 10.0


def serve(
    *,
    place: StoreOptions,
    service: ServiceOptions = ServiceOptions(),
    limits: LimitOptions = LimitOptions(),
) -> None:
    """Serve a store over HTTP: accept records, publish releases, and show them on a live page.

    If the store has no tokens, everyone on this machine has full access, and other machines have
    no access. Create tokens with hushfade token. Ctrl-C or SIGTERM stops the service after it has
    finished the requests in progress.

    `hushfade serve --store releases.db`
    """
    try:
        from hushfade.serve.client_address import Proxies
        from hushfade.serve.guard import Guard
        from hushfade.serve.opening import Opening
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
    with naming_options(limits):
        for name in ("listener_bytes", "response_bytes", "response_bytes_each"):
            check.count(**{name: getattr(limits, name)}, least=1 << 20)
        check.count(connections=limits.connections, least=10)
        for name in ("listeners", "listeners_each", "waiting_each"):
            check.count(**{name: getattr(limits, name)}, least=0)
        check.positive(clock_jump=limits.clock_jump)
        Proxies(limits.proxy)
    kept = _limits(limits)

    def begin() -> Service:
        store = opened(place.store, place.mark, new_epoch=place.new_epoch)
        try:
            guard = Guard(
                tokens.kept(store),
                max_body=service.max_body,
                rate=service.rate,
                public=service.public,
                proxies=limits.proxy,
                required=tokens.missing(store),
            )
            guard.may_listen(host)
            if not guard.open:
                tokens.remember(store)  # the mark may be in a new place
            return Service(store, guard, limits=kept)
        except BaseException:
            store.close()
            raise

    _log()
    # each new epoch charges the streams again, so another attempt is the operator's decision
    begun = Opening(begin, repeat=not place.new_epoch).wait(host, service.port, kept)
    if begun is None:
        return
    made, sockets = begun
    try:
        served(
            made,
            host,
            service.port,
            sockets=sockets,
            started=lambda port: _greet(place.store, host, port, made.guard),
        )
    finally:
        made.store.close()


def _limits(given: LimitOptions) -> Limits:
    from hushfade.serve.limits import Limits

    return Limits(
        responses=given.response_bytes,
        responses_each=given.response_bytes_each,
        listeners=given.listeners,
        listeners_each=given.listeners_each,
        waiting_each=given.waiting_each,
        listener=given.listener_bytes,
        connections=given.connections,
        clock_jump=given.clock_jump,
    )


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
