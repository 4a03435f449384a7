import json
import math
import re
from contextlib import closing
from unittest.mock import patch

import pytest
from scipy import stats

import hushfade as hf
from hushfade.cli.console import Exit
from hushfade.privacy.rounding import rounded_up
from hushfade.releases import files
from hushfade.store import Store
from tests.cli.command import document, run

ONE = hf.Guarantee(1, 1e-6)
PLANS = {
    "rate.json": hf.plan(hf.Exponential(half_life=24), hf.Guarantee(1, 1e-6)),
    "window.json": hf.plan(hf.SlidingWindow(7), hf.Guarantee(0.5, 1e-7), keys=["a", "b"]),
    "root.json": hf.plan(hf.Exponential(half_life=24), hf.Guarantee(1, 1e-6), method="square_root"),
    "gauss.json": hf.plan(
        hf.SlidingWindow(7), hf.Guarantee(0.5, 1e-7), method="square_root", keys=["a", "b"]
    ),
    "pure.json": hf.plan(hf.SlidingWindow(7), hf.Guarantee(1, 0), resolution=1),
    "values.json": hf.plan(hf.PowerLaw(1), hf.Guarantee(1, 1e-6, "replace"), low=0, high=9),
}


MANY = hf.plan(hf.SlidingWindow(7), hf.Guarantee(1, 1e-6, protects=hf.Person(steps=2)))


def companion(plan, noise="fresh, from the operating system"):
    meaning = files.Meaning(plan.keys, None)
    return files.document(plan, meaning, steps={"count": 1}, noise=noise)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, plan in PLANS.items():
        (tmp_path / name).write_text(plan.to_json())
    return tmp_path


@pytest.mark.parametrize("name", PLANS)
def test_the_document_has_the_plan_s_numbers(folder, name):
    found, plan = document(f"explain {name}"), PLANS[name]
    assert found["digest"] == plan.digest.hex()
    assert found["epsilon"] == plan.guarantee.epsilon
    assert found["stddev"] == plan.stddev(1000)
    pure = plan.guarantee.pure
    assert found["ratio"] == (None if pure else plan.certificate(1000).ratio)
    assert found["law"]["name"] == plan.law.name
    assert (found["mu"] is None) == (plan.law.name != "gaussian")
    odds = math.exp(plan.guarantee.epsilon)
    assert found["posterior"] == pytest.approx(odds / (1 + odds), rel=1e-15)
    assert found["over_time"][0]["releases"] == 1
    assert found["over_time"][-1]["epsilon"] == plan.guarantee.epsilon
    for row in found["over_time"]:
        exact = plan.privacy_at_age(row["releases"]).epsilon(plan.guarantee.delta)
        # both are upper bounds: one within 1e-6 of the smallest, one within 0.2 %
        assert exact * (1 - 2e-6) <= row["epsilon"] <= exact * 1.01


@pytest.mark.parametrize("name", PLANS)
def test_the_page_has_every_line_of_the_document(folder, name):
    shown = " ".join(run(f"explain {name}").stdout.split())
    for title, lines in document(f"explain {name}")["explanation"].items():
        assert title in shown
        for line in lines:
            assert line in shown


def test_releases_are_explained_by_the_plan_beside_them(folder):
    (folder / "out.csv").write_text("step,value\n1,3.5\n")
    (folder / "out.csv.plan.json").write_text(companion(PLANS["rate.json"]))
    by_releases, by_plan = document("explain out.csv"), document("explain out.csv.plan.json")
    assert by_releases.pop("file") == "out.csv"
    assert by_plan.pop("file") == "out.csv.plan.json"
    for found, name in ((by_releases, "out.csv"), (by_plan, "out.csv.plan.json")):
        (line,) = found["explanation"].pop("About these releases")
        assert line == f"{name}: the noise is fresh, from the operating system."
    assert by_releases == by_plan
    assert by_plan["digest"] == PLANS["rate.json"].digest.hex()


def test_what_releases_say_of_themselves_is_told_first(folder):
    text = companion(MANY, noise="NOT PRIVATE: a known seed\x1b[2J")
    beside = json.loads(text) | {"changed": ["non_negative", "whole"]}
    (folder / "out.csv.plan.json").write_text(json.dumps(beside))
    (folder / "many.json").write_text(MANY.to_json())
    for line in ("explain out.csv", "explain out.csv many.json"):
        first, lines = next(iter(document(line)["explanation"].items()))
        assert first == "About these releases"
        assert lines[0].startswith(
            "out.csv: the noise is NOT PRIVATE: a known seed[2J. No statement"
        )
        assert lines[1].startswith("out.csv: hushfade assumes, and does not enforce, these limits")
        assert "non-negative and whole" in lines[2]
        assert "NOT PRIVATE" in run(line).stdout


OF_ONE_EPOCH = r"epsilon = 1(?!\.?\d)"


def another_process():
    """A block in which this process has not released a step yet."""
    return patch("hushfade.stream.ownership._turns", {})


def releases_of_new_epochs(folder, law, epochs, guarantee=ONE):
    """A file of releases: `epochs` - 1 times an older copy continued as a new epoch."""
    plan = hf.plan(hf.SlidingWindow(7), guarantee, law=law)
    with closing(Store.open("e.db")) as store:
        store.add_dataset("people", hf.Guarantee(5 * epochs, 1e-4))
        store.add_stream("a", plan, dataset="people")
        store.close_step("a", 1, closed=0)
    assert run("store backup e.db -o copy.db").exit_code == 0
    for _ in range(epochs - 1):
        with another_process(), closing(Store.open("e.db")) as store:
            store.close_step("a", 2, closed=0)
        with another_process():
            assert run("store restore e.db --from copy.db --force").exit_code == 0
            Store.open("e.db", new_epoch=True).close()
        (folder / "copy.db").unlink()
        assert run("store backup e.db -o copy.db").exit_code == 0
    assert run("store releases e.db --stream a -o x.csv").exit_code == 0
    return plan


@pytest.mark.parametrize(("law", "epochs"), [("laplace", 2), ("laplace", 3), ("gaussian", 2)])
def test_releases_of_several_epochs_have_the_epsilon_of_all_of_them(folder, law, epochs):
    plan = releases_of_new_epochs(folder, law, epochs)
    epsilon = epochs if law == "laplace" else hf.epsilon_of(math.sqrt(epochs) * ONE.mu, 1e-6)
    found = document("explain x.csv")
    assert found["epochs"] == epochs
    assert found["epsilon"] == pytest.approx(epsilon, rel=1e-9)
    assert found["over_time"][-1]["epsilon"] == found["epsilon"]
    assert found["posterior"] == pytest.approx(1 / (1 + math.exp(-epsilon)), rel=1e-9)
    if law == "gaussian":
        assert found["mu"] == pytest.approx(math.sqrt(epochs) * plan.guarantee.mu, rel=1e-9)
    shown = " ".join(run("explain x.csv").stdout.split())
    assert f"epsilon = {rounded_up(epsilon)}, delta" in shown
    assert not re.search(OF_ONE_EPOCH, shown)
    assert f"the stream has {epochs} epochs" in shown
    sure = float(shown.partition("the attacker is at most ")[2].partition(" %")[0])
    exact = 100 / (1 + math.exp(-epsilon))
    assert exact <= sure <= exact + 0.1  # three digits, rounded up
    right = float(shown.partition("the guess is right at most ")[2].partition(" times")[0])
    # the best attack on this many releases of the same record, computed from the laws
    assert right >= 100 * best_guess(plan, epochs)
    said = json.loads((folder / "x.csv.plan.json").read_text())["guarantee"]
    assert f"(epsilon = {rounded_up(epsilon)})" in said


def best_guess(plan, releases):
    """How often the best attack is right, if a record shifts the noise of each release by 1."""
    if plan.law.name == "gaussian":
        return stats.norm.cdf(math.sqrt(releases) * plan.guarantee.mu / 2)
    # a loss is epsilon or -epsilon, and the sum of the losses is binomial
    q = 1 / (1 + math.exp(-plan.guarantee.epsilon))
    ties = stats.binom.pmf(releases / 2, releases, q) if releases % 2 == 0 else 0.0
    return stats.binom.sf(releases // 2, releases, q) + ties / 2


def test_the_joint_statement_adds_the_charges_of_all_epochs(folder):
    releases_of_new_epochs(folder, "laplace", 2)
    for name in ("x.csv", "x.csv.plan.json"):
        (folder / f"second-{name}").write_bytes((folder / name).read_bytes())
    found = document("explain x.csv second-x.csv")
    # four losses of 1 or -1: their sum is 4 with probability 0.29, so delta is met only near 4
    q = 1 / (1 + math.exp(-1))
    least = 4 + math.log1p(-1e-6 / q**4)
    assert least <= found["composition"]["epsilon"] <= 4.01
    assert [each["epsilon"] for each in found["files"]] == [2.0, 2.0]
    alone = document("explain x.csv rate.json")["composition"]["epsilon"]
    assert 2.5 < alone <= 3.01


def test_the_epsilon_and_delta_of_charges_bound_what_an_attacker_learns(folder):
    guarantee = hf.Guarantee(1, 1e-6)
    plan = releases_of_new_epochs(folder, "huber", 2, guarantee)
    found = document("explain x.csv")
    assert (found["epsilon"], found["delta"], found["mu"]) == (2.0, 2e-6, None)
    shown = " ".join(run("explain x.csv").stdout.split())
    twice = plan.privacy + plan.privacy
    sure = float(shown.partition("the attacker is at most ")[2].partition(" %")[0]) / 100
    except_for = float(shown.partition("probability of at most ")[2].partition(". ")[0])
    level = math.log(sure / (1 - sure))
    below = 0.99 * level  # delta(e) >= (1 - exp(e - level)) P[loss > level]
    assert twice.delta(below) <= except_for
    right = float(shown.partition("the guess is right at most ")[2].partition(" times")[0])
    assert right >= 100 * (1 + twice.delta(0)) / 2


@pytest.mark.parametrize("files", ["x.csv", "x.csv rate.json"])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_a_picture_of_several_epochs_states_their_epsilon(folder, law, files):
    releases_of_new_epochs(folder, law, 2)
    document(f"explain {files} --plot picture.svg")
    drawn = (folder / "picture.svg").read_text()
    epsilon = rounded_up(document("explain x.csv")["epsilon"])
    assert f"epsilon = {epsilon}" in drawn
    assert (re.search(OF_ONE_EPOCH, drawn) is None) == (files == "x.csv")


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 1.0},
        {"epsilon": 1.0, "epochs": 1},
        {"epsilon": 3.0},
        {"delta": 1e-3},
        {"epochs": 1},
        {"epochs": 0},
        {"epochs": 4},
        {"epochs": "two"},
        {"mu": 0.3},
        {"epsilon": math.inf},
        {"more": 1},
        None,
    ],
)
def test_a_companion_whose_numbers_and_words_disagree_is_refused(folder, change):
    releases_of_new_epochs(folder, "laplace", 2)
    path = folder / "x.csv.plan.json"
    beside = json.loads(path.read_text())
    beside["composed"] = None if change is None else beside["composed"] | change
    path.write_text(json.dumps(beside))
    result = run("explain x.csv")
    assert (result.exit_code, result.stdout) == (Exit.DATA, "")


@pytest.mark.parametrize(
    "change",
    [
        {"guarantee": "Nothing is revealed."},
        {"unit": "person"},
        {"unit": "house"},
        {"limits": "Each person counts once."},
        {"noise": None},
        {"changed": "whole"},
        {"confidence": 95},
    ],
)
def test_a_companion_that_contradicts_its_plan_is_refused(folder, change):
    beside = json.loads(companion(PLANS["rate.json"])) | change
    (folder / "out.csv.plan.json").write_text(json.dumps(beside))
    result = run("explain out.csv")
    assert (result.exit_code, result.stdout) == (Exit.DATA, "")


def test_several_files_are_composed(folder):
    found = document("explain root.json gauss.json")
    parts = [PLANS["root.json"].guarantee, PLANS["gauss.json"].guarantee]
    mu = math.sqrt(sum(part.mu**2 for part in parts))
    assert found["composition"]["mu"] == pytest.approx(mu, rel=1e-15)
    assert found["composition"]["delta"] == 1e-6
    # δ(ε) of the composition, from the definition: what was found must reach it
    epsilon = found["composition"]["epsilon"]
    assert hf.delta_of(mu, epsilon) == pytest.approx(1e-6, rel=1e-6)
    assert [row["file"] for row in found["files"]] == ["root.json", "gauss.json"]


def test_files_of_other_laws_are_composed_by_their_losses(folder):
    for names in (["rate.json", "window.json"], ["rate.json", "root.json"]):
        found = document("explain " + " ".join(names))["composition"]
        assert found["mu"] is None
        total = PLANS[names[0]].privacy + PLANS[names[1]].privacy
        assert total.delta(found["epsilon"]) <= found["delta"] == 1e-6
        assert found["epsilon"] <= total.epsilon(1e-6) * 1.0021


@pytest.mark.parametrize("files", ["rate.json", "rate.json window.json"])
def test_a_picture_is_written(folder, files):
    document(f"explain {files} --plot picture.png")
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_without_a_file_the_mechanism_is_drawn_on_one_screen():
    shown = run("explain").stdout
    for half in ("private half", "the crossing", "public half"):
        assert half in shown
    assert shown.count("\n") <= 40
    assert "drawing" in document("explain")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, Exit.FILE),
        ("step,value\n1,3.5\n", Exit.DATA),
        ("[]", Exit.DATA),
        ('{"format": "hushfade releases draft"}', Exit.DATA),
        ('{"format": "hushfade releases 1"}', Exit.DATA),
        ('{"format": "hushfade plan 9"}', Exit.DATA),
        ("[" * 100_000, Exit.DATA),
        (PLANS["rate.json"].to_json().replace("24.0", "25.0"), Exit.DATA),
    ],
)
def test_what_is_no_plan_is_refused(folder, content, code):
    if content is not None:
        (folder / "bad.json").write_text(content)
    result = run("explain bad.json --json")
    assert (result.exit_code, result.stdout) == (code, "")
    assert "bad.json" in json.loads(result.stderr)["error"]


def test_different_neighbours_have_no_promise_together(folder):
    result = run("explain rate.json values.json")
    assert (result.exit_code, result.stdout) == (Exit.REFUSED, "")
    assert "because they protect different units" in result.stderr
    assert "values.json one record, replaced" in result.stderr


def test_a_file_counts_once_and_a_picture_needs_one(folder):
    assert run("explain rate.json rate.json").exit_code == Exit.USAGE
    assert run("explain --plot picture.png").exit_code == Exit.USAGE


# The unit of privacy --------------------------------------------------------------------------

DAYS = {"decay": hf.SlidingWindow(7), "every": "1d", "resolution": 1, "method": "input"}
PROTECTED = {  # the unit, and what every sentence about the attacker must contain
    "record": (hf.Record(), "one particular record"),
    "limited": (hf.Person(steps=3), "one particular person, who has at most 1 record per step, in "
                                    "at most 3 steps of 1d,"),
    "stretch": (hf.Person(within=7), "a person's records from one stretch of seven consecutive "
                                     "days"),
    "week": (hf.Person(period="week", steps=3), "a person's records from the steps that begin in "
                                                "one calendar week (UTC)"),
}  # fmt: skip
ATTACKER = ("an attacker", "the guess is right")


def about_the_attacker(found):
    lines = [line for part in found["explanation"].values() for line in part]
    return [line for line in lines if any(word in line for word in ATTACKER)]


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("name", PROTECTED)
def test_every_sentence_about_the_attacker_names_the_protected_unit(folder, name, neighbours):
    unit, words = PROTECTED[name]
    plan = hf.plan(guarantee=hf.Guarantee(1, 0, neighbours, protects=unit), **DAYS)
    for file in ("one.json", "two.json"):
        (folder / file).write_text(plan.to_json())
    for command in ("explain one.json", "explain one.json two.json"):
        sentences = about_the_attacker(document(command))
        assert len(sentences) == 2
        for sentence in sentences:
            assert words.removeprefix("one particular ") in sentence
    text = run("explain one.json").stdout
    for persons in ("each person", "A person with at most 1 record"):
        assert name != "record" or persons not in " ".join(text.split())


def test_all_records_of_a_person_are_the_unit_where_hushfade_enforces_the_limits(folder):
    (folder / "visits.csv").write_text("at,who\n2026-03-01,ann\n2026-03-02,ann\n")
    told = {}
    for name, options in (("all", "--person-steps 2"), ("week", "--within 7d")):
        result = run(
            "run visits.csv --time at --every 1d --start 2026-03-01 --steps 3 --window 7 "
            f"--user who {options} --epsilon 1 --delta 1e-6 -o {name}.csv"
        )
        assert result.exit_code == 0, result.stderr
        told[name] = about_the_attacker(document(f"explain {name}.csv"))
    assert all("one particular person, with all their records," in line for line in told["all"])
    assert len(told["week"]) == 2
    assert all("from one stretch of seven consecutive days are" in line for line in told["week"])


def test_no_sentence_is_contradicted_by_a_person_with_a_record_on_every_day_of_a_year(folder):
    """The best attack on all 365 records, by the exact law of their privacy loss."""
    plan = hf.plan(guarantee=hf.Guarantee(1, 0, protects=hf.Person(within=7)), **DAYS)
    (folder / "week.json").write_text(plan.to_json())
    # each record shifts the Laplace noise of its own step: its loss is 1/7 or -1/7
    q = 1 / (1 + math.exp(-1 / 7))

    def right(days):  # an odd number: the guess is right if most losses are positive
        return 100 * stats.binom.sf(days // 2, days, q)

    assert right(365) == pytest.approx(91.4, abs=0.05)
    sentences = about_the_attacker(document("explain week.json"))
    for sentence in sentences:
        assert "from one stretch of seven consecutive days" in sentence
    stated = float(sentences[1].partition("the guess is right at most ")[2].partition(" ")[0])
    assert right(7) <= stated <= right(7) + 0.1  # three digits, rounded up
    lines = [
        line for part in document("explain week.json")["explanation"].values() for line in part
    ]
    for line in re.split(r"(?<=[.]) ", " ".join(lines)):
        assert not re.search(r"(a|the) person is in the data", line)
        assert (
            "hides" not in line
            or "one stretch of seven consecutive days" in line
            or (line.startswith("Random noise"))
        )


def test_a_limit_that_nothing_enforces_is_in_the_published_sentence(folder):
    (folder / "visits.csv").write_text("at,who\n2026-03-01,ann\n2026-03-01,ann\n")
    command = (
        "run visits.csv --time at --every 1d --start 2026-03-01 --steps 3 --window 7 "
        "--protect person --epsilon 1 --delta 1e-6"
    )
    assumed = run(f"{command} -o assumed.csv")
    said = json.loads((folder / "assumed.csv.plan.json").read_text())["guarantee"]
    assert said.endswith(
        "This assumes that each person has at most 1 record per step, in at most 1 step of 1d: "
        "hushfade did not enforce this limit."
    )
    assert said in " ".join(assumed.stderr.split())
    run(f"{command} --user who -o enforced.csv")
    kept = json.loads((folder / "enforced.csv.plan.json").read_text())["guarantee"]
    assert "assumes" not in kept


def test_noise_on_the_inputs_spends_the_privacy_loss_of_a_record_in_one_release(folder):
    lines = document("explain pure.json")["explanation"]["Privacy loss over time"]
    assert lines[0].startswith("The whole privacy loss of a record, epsilon = 1, is spent in")
    assert "everything" not in " ".join(lines)
