"""The soaks of load and failures, in small; the long ones start processes and measure."""

from hushfade.store import Store
from lab.soaks.load import builds
from lab.soaks.load.group_kills import group_kills
from lab.soaks.load.http_clients import Tally


def test_a_group_of_steps_is_all_or_nothing_after_kills_and_the_control_is_caught():
    part = group_kills(8)
    assert [finding.verdict for finding in part.findings] == ["passed", "caught"]


def test_a_tally_counts_what_was_refused():
    tally = Tally()
    for status, seconds in ((200, 0.1), (503, 0.2), (200, 0.3)):
        tally.statuses[status] += 1
        tally.seconds.append(seconds)
    assert (tally.refused, tally.slowest, tally.quantile(0.5)) == (1, 0.3, 0.2)


def test_the_clock_of_a_build_is_set_by_a_file(tmp_path, monkeypatch):
    place = tmp_path / "clock"
    monkeypatch.setenv(builds.CLOCK, str(place))
    before = builds.wall()
    place.write_text(str(10**15), encoding="ascii")
    assert builds.wall() - before >= 10**15
    store = Store.open(tmp_path / "releases.db")
    assert builds.as_it_is(store).clock is builds.wall
    store.close()
