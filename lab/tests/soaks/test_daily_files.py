"""Daily files through a job that is killed: a short soak, with the builds that it must catch."""

from lab.soaks import daily_data, daily_files, daily_process
from lab.soaks.daily_data import LIFE, WEEK, WITHIN, Unit, Visit
from lab.soaks.daily_process import Kill


def test_a_job_that_is_killed_is_equal_to_one_run_and_forgets_each_week():
    found = daily_files.soak(daily_data.year(5), WEEK, build=daily_process.as_it_is)
    assert found.kills > 0
    assert found.flawless, found
    assert found.people[3] == 0  # 4 January 2026 is a Sunday
    assert min(found.people[:3]) > 100


def test_a_build_that_forgets_people_is_caught():
    found = daily_files.soak(
        daily_data.year(3), LIFE, build=daily_process.forgetting_people, killed=0.0
    )
    assert found.wrong_steps == 2  # nobody is forgotten on the first day
    assert not found.same_output
    assert not found.flawless


def test_a_build_that_commits_people_after_the_steps_is_caught():
    found = daily_files.soak(
        daily_data.year(3),
        LIFE,
        build=daily_process.recording_people_later,
        points=("after mark",),
        killed=1.0,
        at_points=1.0,
    )
    assert found.stages[daily_files.RELEASED] > 0
    assert found.wrong_steps > 0
    assert found.wrong_people > 0


def test_a_new_process_dies_at_its_point(tmp_path):
    daily_data.write(tmp_path / "1.csv", [Visit("ann", 0, 0, 1)])
    words = ["run", "1.csv", "--store", "r.db", "--stream", "s", "--end", daily_data.end_of(0)]
    words += ["-o", "out.csv", *daily_files.plan_words(WITHIN)]
    assert daily_process.ended(words, tmp_path, Kill(point="before mark")).code is None
    assert not (tmp_path / "out.csv").exists()
    again = daily_process.ended(words, tmp_path, Kill())
    assert again.code == 4
    assert "released already" in " ".join(again.errors.split())


def test_the_independent_count_is_right_for_a_few_visits():
    unit = Unit("", (), 2, 2, 1, lambda day: day // 4)  # two days of four, two days apart
    visits = [(0, "ann", 3), (0, "ann", 5), (1, "ann", 7), (1, "bob", 99), (2, "ann", 4),
              (3, "bob", -1), (4, "ann", 2)]  # fmt: skip
    files = [[Visit(who, d, 0, v) for d, who, v in visits if d == day] for day in range(5)]
    files[4].append(Visit("bob", 3, 0, 1))
    found = daily_data.count(files, unit)
    assert found.totals == [3, 10, 4, 0, 2]
    assert found.counted == [1, 1, 1, 1, 1]
    assert found.over_limit == [1, 1, 0, 0, 0]
    assert found.late == [0, 0, 0, 0, 1]
    assert found.people == [1, 2, 2, 0, 1]
