"""The page about kills of the service with limits per person."""

from __future__ import annotations

from lab import postgres_server
from lab.findings import Finding, Part
from lab.progress import progress
from lab.soaks import person_kills, service_kills, service_process, store_kills

_LIMITS = {
    "step": "at most 2 records per step",
    "stream": "at most 3 steps of the stream, 2 apart, 2 records per step",
    "period": "at most 2 steps per day, 3 records per step",
}
_PERSON_BUGS = {
    service_process.forgetting_persons: "a build that keeps persons only in memory",
    service_process.committing_persons_first: "a build that commits persons before the records",
    service_process.counting_repeated_persons: "a build in which repeated batches use up limits",
}


def killed(count: int) -> Part:
    """The service with limits per person, killed `count` times in all, and its seeded bugs."""
    shares = {"step": 2 * count // 5, "stream": 3 * count // 10, "period": 3 * count // 10}
    findings = [_persons(person_kills.soak(shares[kind], kind), _LIMITS[kind]) for kind in shares]
    if postgres_server.programs() is not None:
        with postgres_server.server() as found:
            findings += [
                _persons(
                    person_kills.soak(max(6, count // 30), kind, server=found),
                    f"{_LIMITS[kind]}, PostgreSQL",
                )
                for kind in shares
            ]
    few = max(16, count // 25)
    for kind in shares:
        for build, described in _PERSON_BUGS.items():
            outcome = person_kills.soak(few, kind, build=build)
            progress(f"seeded bug: {described}, {kind}: {outcome}")
            findings.append(
                Finding(
                    f"{described}, {few} kills; {_LIMITS[kind]}",
                    "totals that differ from the independent sums",
                    f"{outcome.too_much} above, {outcome.too_little} below, of "
                    f"{outcome.service.steps * len(person_kills.KEYS)}",
                    passed=outcome.too_much + outcome.too_little > 0,
                    is_bug=True,
                )
            )
    return Part(
        "kill -9 of the service with limits per person",
        f"`hushfade serve` under load over HTTP, killed at random moments and at each of "
        f"{len(store_kills.POINTS)} points within a step, and started again.  "
        f"{len(service_kills.SENDERS)} senders send records with `user`, and repeat each batch "
        "until it is acknowledged.  One more client sends their batches again at the same time.  "
        "One client closes steps, and one reads the releases.  Some persons have records from one "
        "sender, others from all senders, and most have more records than the limits allow.  The "
        "noise is fixed per step, so the soak subtracts it and knows the private totals.  One "
        "record in each batch shows in which step the batch was accepted, and how often.  From "
        "these steps the soak computes which records count, person by person, and compares the sum "
        f"per step and each of {len(person_kills.KEYS)} keys with the total.  An *interrupted* "
        "person has records before and after a kill in the stretch of time for which the limits "
        "hold.  A process that does not reach its point within 10 seconds is killed then.",
        findings,
    )


def _persons(found: person_kills.Outcome, limits: str) -> Finding:
    progress(f"persons, {limits}: {found}")
    service = found.service
    beyond = found.records - found.counted
    noted = "as" if beyond == found.over_limit else f"NOT {found.over_limit} as"
    return Finding(
        f"{service.kills} kills, {service.at_points} of them at points; {limits}",
        "no person exceeds the limits, no record is lost, none counts twice",
        f"{service.acknowledged} batches acknowledged, {service.steps} steps, {found.persons} "
        f"persons, {found.interrupted} interrupted; {found.counted} of {found.records} records "
        f"count, {beyond} beyond the limits, {noted} the store counts; {found.too_much} totals "
        f"too large, {found.too_little} too small; {service.lost} batches lost, {service.twice} "
        f"twice, {service.unexplained} unexplained, {service.drawn_twice} steps drawn twice, "
        f"{service.changed} changed, {len(service.odd)} odd answers; ledger "
        f"{'verified' if service.verified else 'BROKEN'}",
        passed=found.flawless
        and service.starts > service.kills // 3
        and service.at_points > 0
        and min(found.interrupted, beyond) > 0,
    )
