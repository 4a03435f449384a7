"""hushfade explain: what a plan or a release guarantees, for readers without the theory."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hushfade.cli import console, plain_words
from hushfade.cli.attacker_odds import odds, posterior
from hushfade.cli.options import PictureOptions
from hushfade.cli.options.parameters import option
from hushfade.cli.plan import considered, law_document
from hushfade.cli.protected_unit import ProtectedUnit
from hushfade.errors import InvalidValue, Refused
from hushfade.planning.epochs import Epochs
from hushfade.planning.mechanism_names import mechanism_name
from hushfade.planning.plan import Plan
from hushfade.planning.privacy_over_time import EpsilonAtAge, last_age, milestones
from hushfade.privacy.epsilon_search import epsilon_of_loss
from hushfade.privacy.guarantee import composed_mu, epsilon_of
from hushfade.privacy.loss import composed
from hushfade.privacy.rounding import epsilon_up, rounded_up
from hushfade.privacy.unit import unit_document
from hushfade.privacy.unit_words import words

if TYPE_CHECKING:
    from hushfade.releases.companion_file import Companion

_LIMIT = 1 << 27  # bytes

Files = Annotated[
    tuple[Path, ...],
    option(
        "Plan files (from hushfade plan -o) or files of releases (from hushfade run -o).",
        "FILES",
        default=False,
    ),
]


@dataclass(frozen=True)
class Described:
    """A plan, and further statements from the companion of a file of releases."""

    epochs: Epochs
    about: tuple[str, ...] = ()
    person: bool = False  # hushfade enforced the limits per person

    @property
    def plan(self) -> Plan:
        """The plan of the stream."""
        return self.epochs.plan


def explain(files: Files = (), /, *, output: PictureOptions = PictureOptions()) -> None:
    """Explain in plain words what a plan or a release guarantees, and what it does not guarantee.

    The explanation covers who is protected, how accurate the numbers are, how much an attacker can
    learn, and what must not be done. For several files, it states their joint guarantee. Without a
    file, it explains how the mechanism works.

    `hushfade explain plan.json`

    `hushfade explain counts.csv rates.csv --plot both.png`
    """
    output.check_files()
    if not files:
        if output.plot is not None:
            raise InvalidValue("--plot needs a plan file or a file of releases")
        mechanism = {"drawing": plain_words.DRAWING, "explanation": plain_words.MECHANISM}
        _show(mechanism, as_json=output.json)
        return
    described = {str(path): described_in(path) for path in files}
    if len(described) < len(files):
        raise InvalidValue("FILES must not contain a file twice")
    several = {name: each.epochs for name, each in described.items()}
    about = [line for each in described.values() for line in each.about]
    found: dict[str, Any]
    if len(several) == 1:
        ((name, epochs),) = several.items()
        explained = plain_words.explanation(epochs, described[name].person)
        found = {"file": name, **_numbers(epochs), "explanation": explained}
    else:
        if len({each.person for each in described.values()}) > 1:
            raise Refused(
                "the files have no joint guarantee: some protect a person, others a record"
            )
        found = _together(several, next(iter(described.values())).person)
    if about:
        found["explanation"] = {"About these releases": about, **found["explanation"]}
    if output.plot is not None:
        from hushfade import plots

        if len(several) == 1:
            drawn = plots.overview(epochs.plan, epochs)
        else:
            plans = {name: each.plan for name, each in several.items()}
            promised = {name: each.guarantee for name, each in several.items()}
            drawn = plots.plans(plans, guarantees=promised)
        plots.write(drawn, output.plot)
    _show(found, as_json=output.json)


def plan_file(path: Path) -> Path:
    """The file itself, or its companion if it is a file of releases."""
    from hushfade.releases import files as published

    if path.is_dir():
        raise console.Failure(f"cannot read {path}: it is a directory", console.Exit.FILE)
    companion = published.companion(path)
    return companion if companion.exists() else path


def described_in(path: Path) -> Described:
    """The plan in a plan file, in the companion of a file of releases, or in a companion."""
    from hushfade.releases import companion_file
    from hushfade.releases import files as published

    source = plan_file(path)
    with console.reading(source):
        with source.open("rb") as file:
            text = file.read(_LIMIT)
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            name = published.companion(path).name
            raise InvalidValue(
                f"the file is not a plan, and it has no companion file {name}"
            ) from None
        if not companion_file.is_companion(document):
            return Described(Epochs.one(Plan.from_json(text)))
        companion = companion_file.read(document)
    return Described(companion.epochs, tuple(_about(path.name, companion)), companion.person)


def _about(name: str, companion: Companion) -> Iterator[str]:
    """Statements about noise, epochs, limits and changes, from the companion of some releases."""
    void = " No statement about its privacy holds." if companion.unsafe else ""
    yield f"{name}: the noise is {_printable(companion.noise)}.{void}"
    epochs = companion.epochs
    if epochs.several:
        yield (
            f"{name}: the stream has {epochs.count} epochs. Each new epoch may publish steps of "
            "an earlier one again, with new noise, so it adds its own privacy loss. All numbers "
            "about privacy in this text are for all epochs together."
        )
    if companion.limits is not None:
        yield f"{name}: {companion.limits}"
    if companion.changed:
        ways = " and ".join(_printable(way).replace("_", "-") for way in companion.changed)
        yield (
            f"{name}: hushfade made the values {ways} after adding the noise. This costs no "
            "privacy, but the values are no longer unbiased."
        )


def _printable(text: str) -> str:
    """The text without control characters."""
    return "".join(letter for letter in text if letter.isprintable())


def _together(several: Mapping[str, Epochs], person: bool) -> dict[str, Any]:
    """The joint guarantee of several releases, for a unit that is in all of them."""
    units = {each.plan.relation: name for name, each in several.items()}
    if len(units) > 1:
        (one, first), (other, second), *_ = units.items()
        raise Refused(
            "the files have no joint guarantee, because they protect different units: "
            f"{first} {words(one)}, {second} {words(other)}"
        )
    rest = sum(each.rest for each in several.values())
    at = max(each.plan.guarantee.delta for each in several.values())  # the delta of the loss alone
    delta = at + rest
    unit = ProtectedUnit(next(iter(units)), person)
    loss = composed(each.privacy for each in several.values())
    mus = [each.mu for each in several.values()]
    gaussian = None not in mus
    if gaussian:
        mu = composed_mu(each.guarantee for each in several.values())
        epsilon, shown = epsilon_of(mu, delta), epsilon_up(mu, delta)
        adds = (
            f"together they have mu = {rounded_up(mu)}, the square root of the sum of squares, "
            f"which is epsilon = {shown}"
        )
        exact = "This is exact, even if one release was planned after another was seen. "
    else:
        guess = math.sqrt(sum(each.guarantee.epsilon**2 for each in several.values()))
        epsilon = epsilon_of_loss(loss, at, guess)
        adds = f"together they have epsilon = {rounded_up(epsilon)}"
        exact = "This holds if all plans were fixed before the first release. "
    return {
        "files": [{"file": name, **_numbers(each)} for name, each in several.items()],
        "composition": {
            "mu": mu if gaussian else None,
            "rho": mu * mu / 2 if gaussian else None,
            "epsilon": epsilon,
            "delta": delta,
        },
        "explanation": {
            "Together": [
                f"{unit.all_files(len(several))}, the privacy losses add up: {adds} at delta = "
                f"{rounded_up(delta, 3)}.",
                *odds(loss, epsilon, unit, rest),
                f"{exact}{unit.no_two_files()}, each guarantee holds separately.",
            ]
        },
    }


def _numbers(epochs: Epochs) -> dict[str, Any]:
    plan, guarantee = epochs.plan, epochs.guarantee
    n = plain_words.reported_steps(plan)
    return {
        "decay": repr(plan.decay),
        "mechanism": mechanism_name(plan.method, plan.law.name),
        "law": law_document(plan),
        "considered": considered(plan),
        "epochs": epochs.count,
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "mu": epochs.mu,
        "neighbours": guarantee.neighbours,
        "protects": unit_document(guarantee.protects),
        "steps": n,
        "stddev": plan.stddev(n),
        "max_stddev": plan.max_stddev(n),
        "ratio": None if plan.guarantee.pure else plan.certificate(n).ratio,
        "posterior": posterior(guarantee.epsilon),
        "over_time": [{"releases": age, "epsilon": epsilon} for age, epsilon in _over_time(epochs)],
        "digest": plan.digest.hex(),
    }


def _over_time(epochs: Epochs) -> Sequence[EpsilonAtAge]:
    """The privacy loss by age; of several epochs only the last age, which has all of the loss."""
    if not epochs.several:
        return milestones(epochs.plan)
    return [EpsilonAtAge(last_age(epochs.plan), float(epochs.guarantee.epsilon))]


def _show(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        console.document(found)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    page = console.out()
    if "file" in found:
        page.print(Text.assemble((found["file"], "bold"), f": {found['decay']}"))
    if "files" in found:
        table = Table(box=box.SIMPLE_HEAD)
        words = ("file", "decay", "law")
        for head in (*words, "epsilon", "delta", "mu", "error", "ratio"):
            table.add_column(head, justify="left" if head in words else "right")
        for row in found["files"]:
            numbers = (row[name] for name in ("epsilon", "delta", "mu", "max_stddev", "ratio"))
            cells = ("-" if number is None else rounded_up(number) for number in numbers)
            table.add_row(row["file"], row["decay"], row["law"]["name"], *cells)
        page.print(table)
        page.print(
            "mu: for Gaussian noise only. Error: the largest standard deviation of a sum; a "
            "statistic is computed from several sums. Ratio: an upper "
            "bound on the error divided by the smallest error of any Gaussian factorization.\n"
        )
    if "drawing" in found:
        page.print(found["drawing"])
    for title, lines in found["explanation"].items():
        page.print(title, style="bold cyan")
        for line in lines:
            bullet = Table.grid(padding=(0, 1))
            bullet.add_row(" -", line)
            page.print(bullet)
        page.print()
