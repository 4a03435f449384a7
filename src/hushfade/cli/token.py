"""hushfade token: who may use the service of a store."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hushfade.cli import console
from hushfade.cli.options import ReportOptions
from hushfade.cli.options.name_lists import names_in
from hushfade.cli.options.parameters import OptionGroup, flag, option, option_group
from hushfade.cli.store_access import MarkFile, Where, check_exists, opened, reader_of
from hushfade.errors import InUse, InvalidValue

if TYPE_CHECKING:
    from hushfade.store import Store


@option_group("Token")
class TokenOptions(OptionGroup):
    """The token, and what to do with it."""

    name: Annotated[str | None, option("Whose token it is.", "NAME")] = None
    names_file: Annotated[
        Path | None,
        option(
            "Create a token for each name in this UTF-8 file with one name per line: all of them, "
            "or none.",
            "FILE",
        ),
    ] = None
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


@option_group("Output")
class TokenOutputOptions(ReportOptions):
    """Where new tokens go."""

    output: Annotated[
        Path | None,
        option(
            "Write the new tokens to this new CSV file, which only its owner may read.",
            "FILE",
            alias="-o",
        ),
    ] = None


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
    output: TokenOutputOptions = TokenOutputOptions(),
) -> None:
    """Create tokens for the service of a store, and show them once. Only digests are stored.

    A token is a trust domain: whoever has it can send in the name of each of its senders. Give
    senders that do not trust each other tokens of their own.

    Stop the service first, or let it create and revoke tokens itself, at /v1/tokens. Send a token
    as the header Authorization: Bearer TOKEN.

    `hushfade token releases.db --name sensors --scope ingest`

    `hushfade token releases.db --names-file clinics.txt --scope ingest -o tokens.csv`
    """
    if of.list:
        if of.given("name", "names_file", "scope", "revoke"):
            raise InvalidValue(
                "--list must be given without --name, --names-file, --scope and --revoke"
            )
        _list(where, as_json=output.json)
        return
    if (of.name is None) == (of.names_file is None):
        raise InvalidValue("--name or --names-file must be given, or --list")
    if of.revoke:
        if of.scope:
            raise InvalidValue("--scope must be given for a new token only")
        if of.name is None:
            raise InvalidValue("--revoke needs --name: revoke one token at a time")
        _revoke(where, of.name, place.mark, as_json=output.json)
        return
    _check_scopes(of.scope)
    if of.names_file is not None:
        _create(where, names_in(of.names_file, "names"), of, place.mark, output)
    elif of.name is not None:
        _create(where, (of.name,), of, place.mark, output)


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
    where: str,
    names: Sequence[str],
    of: TokenOptions,
    mark: Path | None,
    output: TokenOutputOptions,
) -> None:
    from hushfade.store import tokens

    file = output.output
    if file is not None and file.exists():  # asked before a store is made
        raise console.Failure(f"{file} exists: choose a new file", console.Exit.FILE)
    texts = {name: tokens.new_text() for name in names}
    with closing(_opened(where, mark)) as store:
        if file is None:
            tokens.add_all(store, texts, of.scope)
        else:
            with console.written(file, new=True, mode=0o600) as part:
                part.write_text(_table(texts), encoding="utf-8")
                tokens.add_all(store, texts, of.scope)
    if output.json:
        made = [
            {"name": name, "scopes": list(of.scope), **({} if file else {"token": text})}
            for name, text in texts.items()
        ]
        console.document(made[0] if of.name is not None else {"tokens": made})
    elif file is not None:
        console.note(f"The new tokens are in {file}, and nowhere else.")
    else:
        sys.stdout.write(f"{texts[names[0]]}\n" if of.name is not None else _table(texts))
        console.note("A token is shown only once.")


def _table(texts: Mapping[str, str]) -> str:
    """The tokens as CSV."""
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([("name", "token"), *texts.items()])
    return table.getvalue()


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
