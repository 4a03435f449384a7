"""The commands of the service, as far as they go without serving."""

import csv
import os
import socket
import stat
from contextlib import closing

import pytest

import hushfade as hf
from hushfade.store import Store, tokens
from tests.cli.command import document, run

TOKEN = "--name sensors --scope ingest"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where a store of the name releases.db may be made."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(place):
    return sorted(path.name for path in place.iterdir())


# Tokens -------------------------------------------------------------------------------------


def test_that_a_store_is_new_is_said_once(place):
    assert "Created the store releases.db.\n" in run(f"token releases.db {TOKEN}").stderr
    assert "new store" not in run("token releases.db --name page --scope read").stderr


def test_tokens_are_listed_also_while_the_service_runs(place):
    secret = run(f"token releases.db {TOKEN}").stdout.strip()
    run("token releases.db --name page --scope admin --scope read")
    with closing(Store.open("releases.db")):
        shown = run("token releases.db --list")
        assert document("token releases.db --list") == {
            "tokens": [
                {"name": "page", "scopes": ["read", "admin"]},
                {"name": "sensors", "scopes": ["ingest"]},
            ]
        }
    assert shown.stdout == "page: read, admin\nsensors: ingest\n"
    assert secret not in shown.output


def test_a_store_without_tokens_has_none_to_list(place):
    Store.open("releases.db").close()
    assert document("token releases.db --list") == {"tokens": []}
    assert "has no tokens" in run("token releases.db --list").stderr


def test_what_revoking_opens_is_said(place):
    for name, scope in (("us", "admin"), ("page", "read")):
        run(f"token releases.db --name {name} --scope {scope}")
    assert "No token with scope admin" in run("token releases.db --name us --revoke").stderr
    shown = run("token releases.db --name page --revoke").stderr
    assert "It was the last token: everyone on this machine" in shown


def test_while_the_service_runs_it_is_to_be_asked_itself(place):
    Store.open("releases.db").close()
    with closing(Store.open("releases.db")):
        for line in (f"token releases.db {TOKEN}", "token releases.db --name page --revoke"):
            shown = run(line)
            assert shown.exit_code == 4
            assert "another process writes to releases.db" in shown.stderr
            assert "/v1/tokens" in shown.stderr
        shown = run("serve --store releases.db")
        expected = "another process writes to releases.db: stop it, or wait until it has ended"
        assert shown.stderr == f"error: {expected}\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--name both", "--scope must be given: ingest, read or admin"),
        ("--name both --scope read,ingest", "got 'read,ingest': repeat the option"),
        ("--scope read", "--name or --names-file must be given, or --list"),
        ("--name a --names-file b --scope read", "--name or --names-file must be given"),
        ("--names-file none.txt --scope read", "cannot read none.txt"),
        ("--names-file none.txt --revoke", "--revoke needs --name"),
        ("--list --name both", "--list must be given without"),
        ("--list --revoke", "--list must be given without"),
        ("--name both --revoke --scope read", "--scope must be given for a new token only"),
        ("--name both --revoke", "cannot read releases.db: the file does not exist"),
        ("--list", "cannot read releases.db: the file does not exist"),
    ],
)
def test_a_token_that_cannot_be_is_refused_and_no_store_is_made(place, line, told):
    shown = run(f"token releases.db {line}")
    assert shown.exit_code in (2, 5)
    assert told in shown.stderr
    assert names(place) == []


def test_many_tokens_are_made_at_once_for_their_owner_alone(place):
    (place / "clinics.txt").write_text("north\nsouth, old\nwest\n")
    line = "token releases.db --names-file clinics.txt --scope ingest"
    shown = run(f"{line} -o tokens.csv")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout == ""
    assert "Wrote the new tokens to tokens.csv" in shown.stderr
    assert (place / "tokens.csv").stat().st_mode & 0o777 == 0o600
    with (place / "tokens.csv").open() as file:
        made = {row["name"]: row["token"] for row in csv.DictReader(file)}
    with closing(Store.open(place / "releases.db")) as store:
        kept = tokens.kept(store)
    assert [token.name for token in kept] == ["north", "south, old", "west"]
    for name, text in made.items():
        assert tokens.bearer(kept, text).name == name
        assert tokens.bearer(kept, text).scopes == ("ingest",)
    again = run(f"{line} -o more.csv")  # the names are taken: nothing is written
    assert again.exit_code == 4
    assert "'north' already exists" in again.stderr
    assert not (place / "more.csv").exists()
    assert run(f"{line} -o tokens.csv").exit_code == 5


def test_many_tokens_are_shown_as_a_table_or_as_a_document(place):
    (place / "names.txt").write_text("a\nb\n")
    shown = run("token releases.db --names-file names.txt --scope ingest")
    header, *rows = shown.stdout.splitlines()
    assert header == "name,token"
    assert [row.split(",")[0] for row in rows] == ["a", "b"]
    assert all(row.split(",")[1].startswith("hushfade_") for row in rows)
    (place / "names.txt").write_text("c\n")
    told = document("token releases.db --names-file names.txt --scope read --scope ingest")
    (made,) = told["tokens"]
    assert made.keys() == {"name", "scopes", "token"}
    (place / "names.txt").write_text("d\nd\n")
    shown = run("token releases.db --names-file names.txt --scope read")
    assert shown.exit_code == 3
    assert "names must not contain a name twice" in shown.stderr


# Serving ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("directory", "directory is a directory: choose a file"),
        ("text.db", "text.db is not a SQLite database: choose another file"),
        ("no/where.db", "the directory no does not exist: create it first"),
    ],
)
@pytest.mark.parametrize("command", ["serve --store", "token --name a --scope read"])
def test_where_no_store_can_be_it_is_said_and_nothing_is_made(place, command, where, told):
    (place / "directory").mkdir()
    (place / "text.db").write_text("no store", encoding="utf-8")
    shown = run(f"{command} {where}")
    assert shown.exit_code == 5
    assert shown.stderr == f"error: {told}\n"
    assert names(place) == ["directory", "text.db"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--rate 0", "--rate must be > 0, got 0.0"),
        ("--rate nan", "--rate must be > 0, got nan"),
        ("--max-body 10", "--max-body must be an integer >= 1024, got 10"),
    ],
)
def test_an_option_out_of_range_is_named_as_it_was_given(place, line, told):
    shown = run(f"serve --store releases.db {line}")
    assert (shown.exit_code, shown.stderr) == (2, f"error: {told}\n")
    assert names(place) == []


def test_a_port_in_use_is_told_and_nothing_is_said_to_be_served(place):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        shown = run(f"serve --store releases.db --port {port}")
    assert shown.exit_code == 4
    assert "Serving" not in shown.output
    assert f"port {port}" in shown.stderr
    assert "is in use" in shown.stderr
    Store.open("releases.db").close()  # it was closed


@pytest.mark.parametrize("host", ["192.0.2.1", "nohost.invalid"])
def test_an_address_that_is_not_ours_is_told(place, host):
    run(f"token releases.db {TOKEN}")
    shown = run(f"serve --store releases.db --host {host} --port 0")
    assert shown.exit_code == 4
    assert "Serving" not in shown.output
    assert "address of this machine" in shown.stderr


def test_the_greeting_has_the_port_that_was_found(place, monkeypatch):
    def served(service, host, port, *, sockets, started):
        assert port == 0
        started(4321)

    monkeypatch.setattr("hushfade.serve.process.serve", served)
    shown = run("serve --store releases.db --port 0")
    assert "Created the store releases.db.\n" in shown.stderr
    assert "Serving releases.db on http://127.0.0.1:4321/. Press Ctrl-C to stop.\n" in shown.stderr
    shown = run("serve --store releases.db --port 0 --host ::1")
    assert "http://[::1]:4321/" in shown.stderr


def test_what_a_new_epoch_did_is_said(place, monkeypatch):
    monkeypatch.setattr("hushfade.serve.process.serve", lambda *_, **__: None)
    one, two = (hf.Guarantee(epsilon=epsilon, delta=1e-6) for epsilon in (1, 2))
    plan = hf.plan(hf.SlidingWindow(length=7), one)
    with closing(Store.open("releases.db")) as store:
        for dataset, budget in (("clinics", two), ("schools", one)):
            store.add_dataset(dataset, budget)
            store.add_stream(f"late {dataset}", plan, dataset=dataset)
    (place / "releases.db.mark").unlink()
    shown = run("serve --store releases.db --new-epoch").stderr
    assert "Started a new epoch, and charged 1 stream again." in shown
    assert "Ended these streams, because their budgets are spent: 'late schools'." in shown


# Databases elsewhere ------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["serve --store", "token --name a --scope read"])
@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://me:secret@nohost.invalid/none", "the host name is unknown"),
        ("postgresql://me:se@secret@nohost.invalid/none", "the host name is unknown"),
        (
            "postgresql://me:sec%zzret@127.0.0.1/none",
            "its address must have the form postgresql://",
        ),
        ("postgresql://me@127.0.0.1:secret/none", "its address must have the form postgresql://"),
        ("mysql://me:secret@127.0.0.1/none", "STORE must be a file, or postgresql://"),
    ],
)
def test_why_a_database_cannot_be_opened_is_told_without_its_password(
    place, command, address, told
):
    pytest.importorskip("psycopg")
    shown = run(f"{command} {address} --mark mark")
    assert shown.exit_code in (2, 5)
    assert told in shown.stderr
    assert "ret" not in shown.output


def test_a_server_that_does_not_listen_is_told_without_the_password(place):
    pytest.importorskip("psycopg")
    address = "postgresql://me:secret@127.0.0.1:1/none"
    shown = run(f"token --name a --scope read {address} --mark mark")
    assert shown.exit_code == 5
    assert "no server listens on this host and port" in shown.stderr
    assert "ret" not in shown.output


def test_a_database_elsewhere_needs_a_mark(place):
    shown = run("serve --store postgresql://me:secret@127.0.0.1:1/none")
    assert shown.stderr == "error: --mark FILE must be given for a postgresql:// database\n"


def test_a_new_store_is_for_its_owner_alone(place):
    before = os.umask(0)
    try:
        run(f"token releases.db {TOKEN}")
    finally:
        os.umask(before)
    for path in place.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
