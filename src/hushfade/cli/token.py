"""hushfade token: create, list and revoke the tokens of a store's service."""

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
from hushfade.cli.store_access import MarkFile, Where, check_exists, opened, reader_of, shown
from hushfade.errors import InUse, InvalidValue

if TYPE_CHECKING:
    from hushfade.store import Store


@option_group("Token")
class TokenOptions(OptionGroup):
    """The token, and what to do with it."""

    name: Annotated[str | None, option("The name of the token's owner.", "NAME")] = None
    names_file: Annotated[
        Path | None,
        option(
            "Create a token for each name in this UTF-8 file with one name per line. If one name "
            "is rejected, no token is created.",
            "FILE",
        ),
    ] = None
    scope: Annotated[
        tuple[str, ...],
        option(
            "What the token allows. ingest: send records. read: read releases. admin: everything. "
            "May be repeated.",
            "SCOPE",
            default=False,
        ),
    ] = ()
    revoke: Annotated[bool, flag("Revoke the token with this name.")] = False
    list: Annotated[
        bool, flag("List the names and scopes of all tokens. Works while the service runs.")
    ] = False


@option_group("Output")
class TokenOutputOptions(ReportOptions):
    """The file for new tokens, and the form of the report."""

    output: Annotated[
        Path | None,
        option(
            "Write the new tokens to this new CSV file, which only you can read.",
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
    """Create, list or revoke the access tokens of a store's service.

    hushfade shows a new token once and stores only its digest. Clients send the token in the
    header Authorization: Bearer TOKEN. Whoever has a token can send records as any of its senders,
    so give separate tokens to senders that do not trust each other.

    To create or revoke tokens with this command, stop the service first. While the service runs,
    use its endpoint /v1/tokens instead.

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
    if file is not None and file.exists():  # checked before a store is created
        raise console.Failure(f"{file} already exists: choose a new file", console.Exit.FILE)
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
        console.note(f"Wrote the new tokens to {file}. hushfade cannot show them again.")
    else:
        sys.stdout.write(f"{texts[names[0]]}\n" if of.name is not None else _table(texts))
        console.note("Copy the token now: hushfade cannot show it again.")


def _table(texts: Mapping[str, str]) -> str:
    """The tokens as CSV."""
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([("name", "token"), *texts.items()])
    return table.getvalue()


def _revoke(where: str, name: str, mark: Path | None, *, as_json: bool) -> None:
    from hushfade.store import tokens

    check_exists(where)  # do not create a store just to report a missing token
    with closing(_opened(where, mark)) as store:
        tokens.revoke(store, name)
        left = tokens.kept(store)
    console.note(f"Revoked the token {name!r}.")
    if not left:
        console.note("It was the last token: everyone on this machine now has full access.")
    elif not any(token.allows("admin") for token in left):
        console.note("No token with scope admin is left: the service cannot create tokens now.")
    if as_json:
        console.document({"name": name, "revoked": True})


def _opened(where: str, mark: Path | None) -> Store:
    try:
        return opened(where, mark, new_epoch=False)
    except InUse:
        raise InUse(
            f"another process writes to {shown(where)}. If the service uses it, create or revoke "
            "tokens through the service, with POST or DELETE at /v1/tokens"
        ) from None
