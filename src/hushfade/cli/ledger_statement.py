"""The ledger of a store as a bank statement: date, stream, mechanism, charge, total."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushfade.planning.mechanism_names import mechanism_name
from hushfade.privacy import ledger
from hushfade.privacy.account import Loss
from hushfade.privacy.ledger_entries import streams_of
from hushfade.privacy.rounding import epsilon_up, rounded_up
from hushfade.privacy.unit_words import words

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.privacy.account import Account
    from hushfade.privacy.ledger import Line
    from hushfade.store import Reader


def lines(reader: Reader) -> list[dict[str, Any]]:
    """The entries that change a budget, as plain data; epsilons are rounded up."""
    names = {
        plan.digest.hex(): mechanism_name(plan.method, plan.law.name)
        for plan in map(reader.plan, reader.streams())
    }
    return [_line(line, names) for line in ledger.statement(reader.entries())]


def _line(line: Line, names: dict[str, str]) -> dict[str, Any]:
    content, account = line.entry.content, line.account
    return {
        "number": line.entry.number,
        "at": content["at"],
        "kind": line.entry.kind,
        "dataset": account.name,
        "stream": content.get("stream"),
        "streams": _streams(line),
        "joint": content.get("joint"),
        "epoch": content.get("epoch"),
        "mechanism": names.get(content.get("plan", "")),
        "charge": _charge(line),
        "spent_epsilon": account.spent_epsilon,
        "spent_delta": account.spent_delta,
        "epsilon": account.epsilon,
        "delta": account.delta,
    }


def _streams(line: Line) -> list[str] | None:
    """The streams of a joint charge, or the streams that it no longer pays for."""
    match line.entry.kind:
        case "joint":
            return [stream for stream, _ in streams_of(line.entry)]
        case "void":
            return list(line.entry.content["streams"])
    return None


def _charge(line: Line) -> dict[str, Any] | None:
    """The charge of an entry: mu with its epsilon at the dataset's delta, or epsilon and delta."""
    if line.spending is None:
        return None
    if isinstance(line.spending, Loss):
        return line.spending._asdict()
    epsilon = float(epsilon_up(line.spending, line.account.delta, 9))
    return {"mu": line.spending, "epsilon": epsilon, "delta": line.account.delta, "law": "gaussian"}


def table(statement: list[dict[str, Any]]) -> Table:
    """The statement as a table."""
    from rich.table import Table

    shown = Table(title="Ledger", title_justify="left", title_style="bold")
    for name in ("date", "dataset", "entry", "mechanism"):
        shown.add_column(name)
    for name in ("charge", "total"):
        shown.add_column(name, justify="right")
    for line in statement:
        shown.add_row(
            line["at"].replace("T", " ").removesuffix("Z"),
            line["dataset"],
            _entry(line),
            line["mechanism"] or (line["charge"] or {}).get("law") or "",
            _paid(line),
            "" if line["charge"] is None else _total(line),
        )
    return shown


def _entry(line: dict[str, Any]) -> str:
    match line["kind"]:
        case "dataset":
            return f"budget of epsilon = {rounded_up(line['epsilon'])}"
        case "lost":
            return "spent after the backup was made"
        case "joint":
            return f"joint charge {line['number']}: streams {', '.join(line['streams'])}"
        case "member":
            return f"stream {line['stream']}, of joint charge {line['joint']}"
        case "void":
            streams = ", ".join(line["streams"])
            return f"joint charge {line['joint']} no longer pays for: {streams}"
    epoch = f", epoch {line['epoch']}" if line["epoch"] else ""
    return f"stream {line['stream']}{epoch}"


def _paid(line: dict[str, Any]) -> str:
    """The charge in words; a stream of a joint charge costs nothing more."""
    if line["kind"] == "member":
        return "nothing more"
    return "" if line["charge"] is None else _epsilon(line["charge"])


def _epsilon(charge: dict[str, Any]) -> str:
    delta = f", delta = {rounded_up(charge['delta'], 3)}" if charge["delta"] else ""
    return f"epsilon = {rounded_up(charge['epsilon'])}{delta}"


def _total(line: dict[str, Any]) -> str:
    return _epsilon({"epsilon": line["spent_epsilon"], "delta": line["spent_delta"]})


def unit(account: Account) -> str:
    """The unit of privacy of all streams of a dataset, in words."""
    return words(account.relation)
