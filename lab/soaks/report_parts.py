"""The parts of the page: the claims, measurements and controls of each soak."""

from __future__ import annotations

import os
from collections.abc import Iterator
from unittest.mock import patch

from hushfade.store import schema
from hushfade.store.open_store import Settled
from lab.findings import Finding, Part
from lab.postgres_server import Server, server
from lab.progress import progress
from lab.soaks import (
    concurrent_charges,
    concurrent_writers,
    damaged_logs,
    disk_faults,
    failing_disk,
    service_kills,
    service_process,
    store_kills,
)

_EXACT = "0 lost or counted twice, 0 drawn twice, published bytes unchanged"
_FRESH = "0 drawn twice, published bytes unchanged"


def killed(count: int) -> Part:
    """The store's process, killed `count` times with each kind of noise."""
    findings = [
        _store(store_kills.soak(count, seeded=True), "noise fixed per step", _EXACT),
        _store(store_kills.soak(count, seeded=False), "fresh noise", _FRESH),
    ]
    found = store_kills.soak(max(40, count // 6), seeded=False, control=True)
    progress(f"control: {found}")
    findings.append(
        _bug(
            f"a build that publishes before it commits, {found.kills} kills",
            "steps with two published values",
            f"{found.drawn_twice} of {found.steps} steps",
            caught=found.drawn_twice > 0,
        )
    )
    return Part(
        "kill -9 of a store",
        "A process accepts batches and closes steps.  The soak kills it at random moments and at "
        f"each of {len(store_kills.POINTS)} points within a step, and starts it again.",
        findings,
    )


def served_and_killed(count: int) -> Part:
    """The service's process, killed `count` times under load, and its seeded bugs."""
    findings = [
        _service(service_kills.soak(count, seeded=True), "noise fixed per step", _EXACT),
        _service(service_kills.soak(count // 2, seeded=False), "fresh noise", _FRESH),
    ]
    few = max(24, count // 8)
    early = service_kills.soak(few, seeded=False, build=service_process.publishing_before_commit)
    hasty = service_kills.soak(few, build=service_process.acknowledging_before_commit)
    forgetful = service_kills.soak(few, build=service_process.forgetting_senders)
    progress(f"seeded bugs: {early}, {hasty}, {forgetful}")
    findings += [
        _bug(
            f"a build that publishes before it commits, {few} kills",
            "steps with two published releases",
            f"{early.drawn_twice} of {early.steps} steps",
            caught=early.drawn_twice > 0,
        ),
        _bug(
            f"a build that acknowledges before it commits, {few} kills",
            "acknowledged batches that were lost",
            f"{hasty.lost} of {hasty.acknowledged} batches",
            caught=hasty.lost > 0,
        ),
        _bug(
            f"a build that does not store its senders, {few} kills",
            "batches that were counted twice",
            f"{forgetful.twice} of {forgetful.acknowledged} batches",
            caught=forgetful.twice > 0,
        ),
    ]
    return Part(
        "kill -9 of the service",
        f"`hushfade serve` under load over HTTP.  {len(service_kills.SENDERS)} senders repeat "
        "each batch until it is acknowledged.  One client closes steps.  One client follows the "
        "releases as events and reads earlier releases again.  The soak kills the service at "
        "random moments and at the same points, and starts it again.  If the noise is fixed per "
        "step, the clients subtract it and compute from the releases how often each batch was "
        "counted.",
        findings,
    )


def on_postgres(count: int) -> Part:
    """Kills of store and service on PostgreSQL, and crashes of its server."""
    with server() as found:
        findings = list(_postgres(found, count))
    return Part(
        "PostgreSQL",
        "The same on PostgreSQL.  A crash is an immediate shutdown of its server at a random "
        "moment, while a store is working.  The store stops, and the next store continues.",
        findings,
    )


def _postgres(server: Server, count: int) -> Iterator[Finding]:
    yield _store(store_kills.soak(count, seeded=True, server=server), "a store", _EXACT)
    crashes = max(3, count // 5)
    for seeded, name in ((True, "noise fixed per step"), (False, "fresh noise")):
        found = store_kills.crashes(crashes, server, seeded=seeded)
        yield _store(found, name, _EXACT if seeded else _FRESH, deed="crashes of the server")
    yield _service(service_kills.soak(count, server=server), "the service", _EXACT)
    yield _contest(concurrent_writers.contest(max(3, count // 10), server=server), 2)


def damaged(stride: int) -> Part:
    """Logs that are truncated or have a flipped bit."""
    findings = []
    for how, found in damaged_logs.damaged(stride).items():
        progress(f"log {how}: {found}")
        findings.append(
            Finding(
                f"log {how} at {found.tried} offsets",
                "always a committed prefix; opened only with everything that the mark records",
                f"{found.prefixes} prefixes, of {len(found.lengths)} lengths; {found.opened} "
                f"opened, {found.refused} refused; {found.wrong} wrong",
                passed=found.wrong == 0 and found.prefixes == found.tried and found.opened > 0,
            )
        )
    name = "hushfade.store.store.settle"
    with patch(name, lambda database, *_, new_epoch: Settled(schema.name(database))):
        control = damaged_logs.damaged(max(stride, 499))["cut"]
    progress(f"control: {control}")
    findings.append(
        _bug(
            "a build that does not read the mark",
            "opens logs that are too short",
            f"{control.wrong} of {control.tried}",
            caught=control.wrong > 0,
        )
    )
    every = "every offset" if stride == 1 else f"every {stride}th offset"
    return Part(
        "Damaged logs",
        f"The soak damages the write-ahead log of a small store, with a batch, two steps and a "
        f"batch, at {every}.  The store opens each damaged log, and SQLite reads it.",
        findings,
    )


def failing() -> Part:
    """Disks that fail at every write and every sync."""
    findings = []
    for kind in failing_disk.KINDS:
        ways = [(0.0, "")]
        if kind.startswith("power"):
            ways = [(0.0, ", unsynced data lost"), (0.5, ", half of the unsynced data lost")]
        for kept, how in ways:
            plain = disk_faults.everywhere(kind, kept=kept)
            copied = disk_faults.everywhere(kind, kept=kept, checkpoint=True)
            tried, stopped = plain.tried + copied.tried, plain.stopped + copied.stopped
            wrong = plain.wrong + copied.wrong
            progress(f"disk, {kind}{how}: {plain}, {copied}")
            findings.append(
                Finding(
                    _FAULTS[kind] + how,
                    "stops, no premature answer, continues bit for bit after a restart",
                    f"{tried} faults: stopped {stopped} times, {wrong} wrong",
                    passed=wrong == 0 and stopped > 0,
                )
            )
    control = disk_faults.everywhere("power at a write", synchronous="NORMAL")
    progress(f"control: {control}")
    findings.append(
        _bug(
            "a build that does not sync its commits, loss of power",
            "acknowledged data are lost",
            f"{control.wrong} of {control.tried} faults",
            caught=control.wrong > 0,
        )
    )
    return Part(
        "Failing disks",
        "A store accepts a batch and closes a step, on a disk that fails at the n-th write or the "
        "n-th sync of SQLite and of the mark, for every n.  The soak runs with SQLite's default "
        "checkpoints, and with SQLite copying its log back at every commit.",
        findings,
    )


_FAULTS = {
    "full": "disk full from the n-th write on",
    "sync": "n-th sync fails",
    "power at a write": "power lost at the n-th write",
    "power at a sync": "power lost at the n-th sync",
}


def contested(rounds: int) -> Part:
    """Processes that open one store at the same moment."""
    findings = [
        _contest(concurrent_writers.contest(rounds, processes=number), number) for number in (2, 4)
    ]
    with patch("hushfade.store.process_lock.locked", lambda path: os.open(os.devnull, os.O_RDONLY)):
        control = concurrent_writers.contest(10)
    progress(f"control: {control}")
    findings.append(
        _bug(
            "a build without a lock",
            "rounds in which not exactly one process opened the store",
            f"{control.rounds - control.one_won} of {control.rounds}",
            caught=control.one_won < control.rounds,
        )
    )
    return Part(
        "One writer",
        "Processes open one SQLite file at the same moment.  The winner closes a step.  Every "
        "second round ends with kill -9 of all processes.",
        findings,
    )


def charged(requests: int) -> Part:
    """Threads that charge streams to two budgets, with kills."""
    found = concurrent_charges.charges(requests)
    progress(f"charges: {found}")
    with patch("hushfade.privacy.account.Account.affords", lambda account, spending: True):
        control = concurrent_charges.charges(max(requests // 20, 100))  # each one costs a commit
    progress(f"control: {control}")
    return Part(
        "Concurrent charges",
        "Eight threads of one process charge small streams to two budgets, one by the squares of "
        "mu, one by epsilon and delta.  Every fifth request charges two streams together.  The "
        "process is killed at random moments.",
        [
            Finding(
                f"{found.asked} requests, {found.kills} kills",
                "no budget is overspent, no charge is lost or counted twice",
                f"{found.granted} granted, {found.together} of them together, {found.overspent} "
                f"budgets overspent, {found.lost} lost, "
                f"{found.twice} twice; ledger {'verified' if found.verified else 'BROKEN'}",
                passed=found.sound and found.granted < found.asked,
            ),
            _bug(
                "a build that affords everything",
                "budgets overspent",
                f"{control.overspent} of 2",
                caught=control.overspent > 0,
            ),
        ],
    )


def requested(count: int) -> Part:
    """Requests, most of them malformed."""
    from lab.soaks import request_fuzzing

    found = request_fuzzing.fuzzed(count)
    progress(f"requests: {found} {found.faults}")
    answers = ", ".join(f"{number} {kind}" for kind, number in found.classes.items())
    return Part(
        "Requests",
        "Well-formed and malformed requests, made from the service's own OpenAPI document, with "
        "tokens of every scope and without a token.  The soak compares each answer with the "
        "document.  A refusal must leave the store unchanged, and neither the answer nor the log "
        "may repeat content of the request.",
        [
            Finding(
                f"{found.requests} requests",
                "no failure, no undeclared answer, no missing scope check, no leak, no change",
                f"{answers}; {found.failed} failed, {found.undeclared} undeclared, "
                f"{found.unguarded} unguarded, {found.leaks} leaks, {found.changes} changes",
                passed=found.clean,
            )
        ],
    )


def _store(found: store_kills.Outcome, name: str, claim: str, deed: str = "kills") -> Finding:
    progress(f"{deed}, {name}: {found}")
    lost = f"{found.lost} lost, " if claim == _EXACT else ""
    return Finding(
        f"{found.kills} {deed}, {name}",
        claim,
        f"{found.acknowledged} batches acknowledged, {found.steps} steps: {lost}"
        f"{found.drawn_twice} drawn twice, {found.changed} changed; ledger "
        f"{'verified' if found.verified else 'BROKEN'}",
        passed=found.lost + found.drawn_twice + found.changed == 0 and found.verified,
    )


def _service(found: service_kills.Outcome, name: str, claim: str) -> Finding:
    progress(f"service, {name}: {found}")
    lost = ""
    if claim == _EXACT:
        lost = f"{found.lost} lost, {found.twice} twice, {found.unexplained} unexplained, "
    return Finding(
        f"{found.kills} kills, {found.at_points} of them at points, {name}",
        claim,
        f"{found.acknowledged} batches acknowledged, {found.steps} steps, {found.events} events: "
        f"{lost}{found.drawn_twice} drawn twice, {found.changed} changed, {len(found.odd)} odd "
        f"answers; ledger {'verified' if found.verified else 'BROKEN'}",
        passed=found.flawless and found.starts > found.kills // 3 and found.at_points > 0,
    )


def _contest(found: concurrent_writers.Contest, processes: int) -> Finding:
    progress(f"{processes} processes: {found}")
    return Finding(
        f"{processes} processes, {found.rounds} rounds",
        "one process opens the store, all others are refused",
        f"exactly one in {found.one_won} rounds, {found.steps} steps; ledger "
        f"{'verified' if found.verified else 'BROKEN'}",
        passed=found.one_won == found.steps == found.rounds and found.verified,
    )


def _bug(subject: str, claim: str, measurement: str, *, caught: bool) -> Finding:
    return Finding(subject, claim, measurement, passed=caught, is_bug=True)
