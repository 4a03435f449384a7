"""hushfade token: who may use the service of a store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hushfade.cli import console
from hushfade.cli.options import ReportOptions
from hushfade.cli.options.parameters import OptionGroup, flag, option, option_group
from hushfade.cli.store_access import MarkFile, Where, check_exists, opened, reader_of
from hushfade.errors import InUse, InvalidValue

if TYPE_CHECKING:
    from hushfade.store import Store


@option_group("Token")
class TokenOptions(OptionGroup):
    """The token, and what to do with it."""

    name: Annotated[str | None, option("Whose token it is.", "NAME")] = None
    scope: Annotated[
        tuple[str, ...],
        option(
            "What the token allows: ingest to send records, read to read releases, admin for "
            "everything. May be repeated.",
            "SCOPE",
            default=False,
        ),
    ] = ()
    revoke: Annotated[bool, flag("Remove the token of this name.")] = False
    list: Annotated[
        bool, flag("List the names and scopes of all tokens, also while the service runs.")
    ] = False


@option_group("Store")
class MarkOptions(OptionGroup):
    """The high-water mark of the store."""

    mark: MarkFile = None


def token(
    where: Where,
    /,
    *,
    of: TokenOptions = TokenOptions(),
    place: MarkOptions = MarkOptions(),
    output: ReportOptions = ReportOptions(),
) -> None:
    """Create a token for the service of a store, and show it once. Only its digest is stored.

    Stop the service first, or let it create and revoke tokens itself, at /v1/tokens. Send a token
    as the header Authorization: Bearer TOKEN.

    `hushfade token releases.db --name sensors --scope ingest`
    """
    if of.list:
        if of.given("name", "scope", "revoke"):
            raise InvalidValue("--list must be given without --name, --scope and --revoke")
        _list(where, as_json=output.json)
    elif of.name is None:
        raise InvalidValue("--name must be given, or --list")
    elif of.revoke:
        if of.scope:
            raise InvalidValue("--scope must be given for a new token only")
        _revoke(where, of.name, place.mark, as_json=output.json)
    else:
        _check_scopes(of.scope)
        _create(where, of.name, of.scope, place.mark, as_json=output.json)


def _check_scopes(scopes: Sequence[str]) -> None:
    from hushfade.store.tokens import SCOPES

    known = f"{', '.join(SCOPES[:-1])} or {SCOPES[-1]}"
    if not scopes:
        raise InvalidValue(f"--scope must be given: {known}")
    for scope in scopes:
        if scope not in SCOPES:
            raise InvalidValue(
                f"must be {known}", argument="--scope", got=repr(scope), remedy="repeat the option"
            )


def _list(where: str, *, as_json: bool) -> None:
    from hushfade.store import tokens

    with reader_of(where) as reader:
        kept = tokens.kept(reader)
    if as_json:
        console.document({"tokens": [{"name": x.name, "scopes": list(x.scopes)} for x in kept]})
        return
    for token in kept:
        console.out().print(f"{token.name}: {', '.join(token.scopes)}", soft_wrap=True)
    if not kept:
        console.note("The store has no tokens.")


def _create(
    where: str, name: str, scopes: Sequence[str], mark: Path | None, *, as_json: bool
) -> None:
    from hushfade.store import tokens

    with closing(_opened(where, mark)) as store:
        made = tokens.add(store, name, scopes)
    if as_json:
        console.document({"name": name, "scopes": list(scopes), "token": made})
    else:
        sys.stdout.write(made + "\n")
        console.note("It is shown only once.")


def _revoke(where: str, name: str, mark: Path | None, *, as_json: bool) -> None:
    from hushfade.store import tokens

    check_exists(where)  # a store is not created only to find no such token
    with closing(_opened(where, mark)) as store:
        tokens.revoke(store, name)
        left = tokens.kept(store)
    console.note(f"The token of {name!r} is removed.")
    if not left:
        console.note("It was the last token: everyone on this machine may do everything now.")
    elif not any(token.allows("admin") for token in left):
        console.note("No token has the scope admin now: the service cannot create another.")
    if as_json:
        console.document({"name": name, "revoked": True})


def _opened(where: str, mark: Path | None) -> Store:
    try:
        return opened(where, mark, new_epoch=False)
    except InUse as error:
        raise InUse(
            f"{error}: if it is the service, ask the service, with POST or DELETE at /v1/tokens"
        ) from None
