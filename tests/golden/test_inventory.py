"""The lists of commands, routes and names are the present ones."""

import difflib

import pytest

from tests.golden import inventory


@pytest.mark.parametrize("name", inventory.FILES)
def test_the_list_is_the_present_one(name):
    listed = (inventory.FOLDER / name).read_text(encoding="utf-8").splitlines()
    present = inventory.text(name).splitlines()
    changed = list(difflib.unified_diff(listed, present, "listed", "present", n=0, lineterm=""))
    how = "\nIf a change intends this, a commit writes it: python -m tests.golden.inventory"
    assert not changed, "\n".join(changed[:60]) + how


def test_a_list_has_every_command_route_and_name():
    commands = inventory.text("commands.txt")
    for part in ("$ hushfade run --help", "--half-life", "--epsilon", "$ hushfade token --help"):
        assert part in commands
    routes = inventory.text("routes.txt").splitlines()
    assert "POST /v1/streams/{name}/records scope=ingest" in routes
    assert "  application/json" not in routes
    names = inventory.text("names.txt")
    for part in ("\nStream(", "\n  .step(self, records: Any = ()) -> Release", "\nstore.Store("):
        assert part in names
