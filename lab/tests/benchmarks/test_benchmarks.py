import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, plan
from lab import environments
from lab.benchmarks import peer_process, report
from lab.benchmarks.memory import array_bytes
from lab.benchmarks.peer_rounds import Found, Theirs, compared, section
from lab.benchmarks.peers.protocol import NORMALS, Round, Work, measured
from lab.benchmarks.pictures import Picture, draw
from lab.benchmarks.report import GOAL_COLUMNS, PeerRow, Section
from lab.benchmarks.timing import ratio
from lab.environments import Absent
from lab.paths import ROOT


def rounds(*normals, slower=1.0):
    """Rounds whose steps cost this many normals, on a machine slower by these factors."""
    return [Round(cost * slower, 1, NORMALS * slower) for cost in normals]


def goals(*rows):
    return Section("Jobs", "As said.", ("job", "best", *GOAL_COLUMNS), rows)


# Ratios --------------------------------------------------------------------------------------


def test_a_ratio_does_not_depend_on_the_speed_of_either_process():
    there = rounds(10, 20, slower=7.0)
    found = compared(there, rounds(5, 5))
    assert found.best == pytest.approx(2)
    assert found.spread == pytest.approx((2, 4))


def test_the_best_ratio_is_of_the_shortest_times_and_the_spread_of_single_rounds():
    found = compared(rounds(10, 8), rounds(4, 2))
    assert found.best == pytest.approx(8 / 2)
    assert found.spread == pytest.approx((10 / 4, 8 / 2))
    assert ratio("", [10.0, 8.0], [4.0, 2.0]).spread == pytest.approx((10 / 4, 8 / 2))


def test_a_yardstick_that_was_disturbed_in_one_round_does_not_make_the_best_better():
    calm, disturbed = Round(10.0, 1, NORMALS), Round(10.0, 1, 5 * NORMALS)
    assert Found([calm, disturbed]).normals.best == pytest.approx(10)
    assert Found([calm, disturbed]).normals.spread == pytest.approx((2, 10))


def test_a_measurement_is_of_one_run_between_two_yardsticks():
    runs = []
    found = measured(Work(lambda: runs.append(1), count=5))
    assert (len(runs), found.count) == (1, 5)
    assert found.seconds > 0
    assert found.yardstick > 0


# The page ------------------------------------------------------------------------------------


def test_a_goal_is_met_at_its_edge_and_missed_beyond_it_or_if_nothing_is_known():
    assert report.goal_cells(4.0, 4.0) == ("≤ 4", "met")
    assert report.goal_cells(np.nextafter(4.0, 5.0), 4.0) == ("≤ 4", "missed")
    assert report.goal_cells(float("nan"), 4.0) == ("≤ 4", "missed")


def test_the_summary_counts_rows_with_goals_only_and_names_each_that_is_not_met():
    found = report.summary(
        [
            goals(
                ("fast", "1×", "≤ 2×", "met"),
                ("slow", "3×", "≤ 2×", "missed"),
                ("unknown", "-", "≤ 2×", "not measured"),
                ("shown", "9×", "-", "-"),
            ),
            Section("Shown", "As said.", ("job", "best"), [("fast", "1×")]),
        ]
    )
    assert "**1 of 3 goals met.**" in found
    assert "| Jobs | ≤ 2× | 1 of 3 |" in found
    assert "- missed: Jobs: slow: best 3×; goal ≤ 2×." in found
    assert "- not measured: Jobs: unknown; goal ≤ 2×." in found
    assert "shown" not in found


def test_a_missed_goal_is_explained_where_there_is_a_reason(monkeypatch):
    monkeypatch.setitem(report.REASONS, "Jobs: slow", "It waits.")
    monkeypatch.setitem(report.REASONS, "Jobs: fast", "It does not.")
    found = report.summary([goals(("slow", "3×", "≤ 2×", "missed"), ("fast", "1×", "≤ 2×", "met"))])
    assert found.endswith("goal ≤ 2×.  It waits.")


def test_a_page_has_the_summary_first_and_links_its_pictures():
    picture = Picture("x", "A picture", "t", "s", {"a": [(1, 1)]})
    line = PeerRow("ours", "1 µs", "theirs", "2 µs", "2.00×")
    text = report.page(
        [
            goals(("fast", "1×", "≤ 2×", "met")),
            Section("Others", "As said.", ("job",), [("a",)], picture, peer_rows=[line]),
        ],
        rounds=3,
    )
    places = [text.index(part) for part in ("1 of 1 goals", "| ours | 1 µs |", "## Jobs")]
    assert places == sorted(places)
    assert "![A picture](../images/bench-x.png)" in text


def test_a_page_without_goals_counts_none():
    text = report.page([Section("Jobs", "As said.", ("job",), [("a",)])], 3, "spark")
    assert text.startswith("# Benchmarks: Spark\n")
    assert "goals met" not in text


def test_a_picture_is_drawn_from_a_single_point_and_from_a_flat_line(tmp_path):
    lines = {"point": [(8, 2.0)], "flat": [(8, 1.0), (16, 1.0)]}
    draw(Picture("x", "A picture", "t", "s", lines, yardstick="flat"), tmp_path)
    assert (tmp_path / "bench-x.png").read_bytes().startswith(b"\x89PNG")


# Peers ---------------------------------------------------------------------------------------


def test_a_peer_that_fails_stays_in_the_table_with_its_reason():
    there, missing = Theirs("opendp", "draws", "ours"), Theirs("pandas", "ewm", "ours")
    other = {there.name: Found(rounds(6)), missing.name: Found(why="no wheel")}
    found = section("T", "S", [there, missing], {"ours": Found(rounds(2))}, other)
    assert [row[0] for row in found.rows] == ["**ours**", "OpenDP: draws", "pandas: ewm"]
    assert found.rows[1][4:6] == ("ours", "3.00×")
    assert found.rows[2][1] == "not measured: no wheel"
    assert [line.times for line in found.peer_rows] == ["3.00×", "-"]
    assert found.peer_rows[1].peer_time == "not measured: no wheel"


def test_every_peer_has_a_script_a_title_and_pinned_versions_and_no_script_imports_hushfade():
    scripts = {path.stem for path in (ROOT / "lab" / "benchmarks" / "peers").glob("*.py")}
    assert set(peer_process.PEERS) == set(peer_process.TITLES) == scripts - {"__init__", "protocol"}
    assert all("==" in one for wanted in peer_process.PEERS.values() for one in wanted)
    for path in (ROOT / "lab" / "benchmarks" / "peers").glob("*.py"):
        assert "import hushfade" not in path.read_text()
        assert "from hushfade" not in path.read_text()


SCRIPT = """
from lab.benchmarks.peers import protocol
from lab.benchmarks.peers.protocol import Work, serve

def fails():
    raise ValueError("too few")

def told():
    print("chatter")
    return Work(lambda: made.append(1), count=7)

made = []
serve({"good": told, "bad": fails}, ["numpy"])
"""


def test_a_script_answers_each_question_with_one_line_whatever_libraries_print_and_goes_on():
    questions = "".join(json.dumps({"job": job}) + "\n" for job in ("bad", "good", "none", "good"))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=questions,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    first, bad, good, none, again = map(json.loads, done.stdout.splitlines())
    assert first["versions"]["numpy"] == np.__version__
    assert bad == {"job": "bad", "failed": "ValueError: too few"}
    assert peer_process.measurement(good).count == peer_process.measurement(again).count == 7
    assert none["failed"].startswith("KeyError")
    assert "chatter" in done.stderr
    with pytest.raises(Absent, match="ValueError: too few"):
        peer_process.measurement(bad)


def test_a_peer_whose_script_ends_is_absent_for_the_reason_it_gave(monkeypatch):
    monkeypatch.setattr(peer_process, "installed", lambda name: Path(sys.executable))
    with pytest.raises(Absent, match="No module named"), peer_process.peer("nobody"):
        pass


def test_a_peer_that_cannot_be_installed_is_absent(monkeypatch, tmp_path):
    monkeypatch.setattr(peer_process, "PLACE", tmp_path)
    monkeypatch.setitem(peer_process.PEERS, "nobody", ("no-such-library==1",))
    monkeypatch.setattr(environments.venv, "create", lambda place, **_: Path(place).mkdir())
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: no match at https://host/simple\n")
    monkeypatch.setattr(environments, "ran", lambda command, **_: failed)
    with pytest.raises(Absent, match=r"^ERROR: no match at \.\.\.$"):
        peer_process.installed("nobody")
    assert not (tmp_path / "nobody" / "holds").exists()
    done = subprocess.CompletedProcess([], 0, "", "")
    monkeypatch.setattr(environments, "ran", lambda command, **_: done)
    (tmp_path / "nobody").rmdir()
    assert peer_process.installed("nobody") == tmp_path / "nobody" / "bin" / "python"
    assert (tmp_path / "nobody" / "holds").read_text() == "no-such-library==1"


# Memory --------------------------------------------------------------------------------------


def test_an_array_counts_once_with_all_views_of_it():
    array = np.zeros(10)
    assert array_bytes((array, [array[1:]], array.reshape(2, 5))) == 80


def test_what_a_stream_holds_is_a_multiple_of_its_keys():
    guarantee = Guarantee(epsilon=1, delta=1e-6)

    def made(count):
        keys = map(str, range(count))
        return plan(Exponential(half_life=3), guarantee, keys=keys, method="square_root")

    sizes = [array_bytes(made(count).start()) for count in (2000, 3000, 4000)]
    # what does not grow is the same; each key has at least 8 bytes of x and 8 of u for each lag
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] >= 1000 * 2 * 8 * 8
