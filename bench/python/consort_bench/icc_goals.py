# SPDX-License-Identifier: Apache-2.0
"""The goals of `consort bench icc`: ratios of figures of one run, for each regime that the run saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from consort_bench.icc_rows import Figures, Key
from consort_bench.registry import goal

IOX = "iceoryx2-pubsub"
BOOST = "Boost.Lockfree spsc_queue"
NO_BOOST = "Boost.Lockfree is not installed (apt-get install libboost-dev)"
DROPPED = "every block was dropped: the floors never agreed; run it again with more --seconds"

Measured = Mapping[Key, float | None]


@dataclass(frozen=True)
class Wanted:
    """One goal: its value from a regime's ratios and streams, and what is wanted of it."""

    name: str
    sense: str
    limits: float | dict[str, float]  # one, or by regime
    value: Callable[[Measured, Measured], float | None]
    # The time of a bare copy of that size of the same floor: where it misses the limit, too, the machine
    # does.
    copy: Callable[[Measured], float | None] | None = None
    peer: str = ""

    def limit(self, regime: str) -> float:
        return self.limits[regime] if isinstance(self.limits, dict) else self.limits


def over(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def over_floor(what: str, size: int, spin: str, limit: float, name: str, peer: str = "") -> Wanted:
    return Wanted(
        name,
        "<=",
        limit,
        lambda links, _: links.get((what, size, spin)),
        lambda links: links.get(("copy", size, spin)),
        peer,
    )


def stream(size: int, least: float) -> Wanted:
    return Wanted(
        f"queue_stream_{size}_over_boost",
        ">=",
        least,
        lambda _, streams: over(streams.get(("Queue", size, "64")), streams.get((BOOST, size, "64"))),
        peer=BOOST,
    )


PAUSE_FLOOR: Key = ("floor", 4, "pause")
# A word that goes and comes back in one line, as a small message of a Duplex does.
ONE_LINE_FLOOR: Key = ("floor, one line both ways", 4, "pause")

WANTED: tuple[Wanted, ...] = (
    over_floor("Mailbox", 8, "bare", 1.1, "mailbox_8_over_floor"),
    over_floor("Mailbox", 48, "bare", 1.1, "mailbox_48_over_floor"),
    Wanted(
        "mailbox_8_pause_over_pause_floor",
        "<=",
        1.1,
        lambda links, _: over(links.get(("Mailbox", 8, "pause")), links.get(PAUSE_FLOOR)),
        lambda links: over(links.get(("copy", 8, "pause")), links.get(PAUSE_FLOOR)),
    ),
    Wanted(
        "mailbox_48_over_copy",
        "<=",
        1.1,
        lambda links, _: over(links.get(("Mailbox", 48, "bare")), links.get(("copy", 48, "bare"))),
        lambda links: links.get(("copy", 48, "bare")),
    ),
    Wanted(
        "mailbox_1024_over_copy",
        "<=",
        1.1,
        lambda links, _: over(links.get(("Mailbox", 1024, "pause")), links.get(("copy", 1024, "pause"))),
        lambda links: links.get(("copy", 1024, "pause")),
    ),
    over_floor("Duplex", 8, "bare", 1.0, "duplex_8_over_floor"),
    # How much cheaper one line is than two differs between processors.
    Wanted(
        "duplex_8_pause_over_floor",
        "<=",
        1.1,
        lambda links, _: over(links.get(("Duplex", 8, "pause")), links.get(ONE_LINE_FLOOR)),
    ),
    over_floor("Queue", 8, "bare", 1.1, "queue_8_over_floor"),
    stream(8, 3.0),
    stream(48, 1.2),
    stream(128, 1.2),
    stream(1024, 1.0),
    over_floor("Snapshot", 8, "bare", 1.7, "snapshot_8_over_floor"),
    Wanted(
        "iceoryx2_over_mailbox",
        ">=",
        # The far floor is five times the near one, and what iceoryx2 computes beside it is the same.
        {"near": 5.0, "far": 3.0},
        lambda links, _: over(links.get((IOX, 8, "pause")), links.get(("Mailbox", 8, "pause"))),
        peer=IOX,
    ),
    Wanted(
        "boost_over_mailbox",
        ">=",
        1.5,
        lambda links, _: over(links.get((BOOST, 8, "pause")), links.get(("Mailbox", 8, "pause"))),
        peer=BOOST,
    ),
)


def goals(figures: Figures, latest: list[dict[str, Any]], iox_reason: str) -> list[dict[str, Any]]:
    """Every goal, with its value in each regime of this run.

    `value` and `limit` are those of the regime that the run saw most of; `met` holds for all of them.
    """
    by_key = {row["key"]: row for row in latest}
    flat = by_key["snapshot-flat"]
    return [
        *(_goal(wanted, figures, iox_reason) for wanted in WANTED),
        goal("snapshot_torn", flat["torn"] + flat["backward"], "reads", "<=", 0, provenance="counted"),
        # The tail of an idle read is the machine's own.
        goal(
            "snapshot_p999_over_idle",
            flat["p999_over_idle"],
            "ratio",
            "<=",
            4,
            reason="no round has enough reads of both kinds: other work had the processors",
        ),
    ]


def _goal(wanted: Wanted, figures: Figures, iox_reason: str) -> dict[str, Any]:
    by_regime: dict[str, dict[str, Any]] = {}
    regimes = figures.present()
    for regime in regimes:
        links = figures.ratios[regime]
        value = wanted.value(links, figures.streams[regime])
        made = goal(wanted.name, value, "ratio", wanted.sense, wanted.limit(regime))
        by_regime[regime] = {k: made[k] for k in ("value", "limit", "met")}
        if wanted.copy is not None:
            by_regime[regime]["raw_copy"] = wanted.copy(links)
    measured = [r for r in regimes if by_regime[r]["value"] is not None]
    main = measured[0] if measured else None
    made = goal(
        wanted.name,
        by_regime[main]["value"] if main else None,
        "ratio",
        wanted.sense,
        wanted.limit(main or "near"),
        reason=_reason(wanted, figures, iox_reason),
    )
    if main is not None:
        made["met"] = all(by_regime[r]["met"] for r in measured)
    made |= {"regime": main, "by_regime": by_regime}
    if wanted.copy is not None:
        made["raw_copy"] = by_regime[main]["raw_copy"] if main else None
    return made


def _reason(wanted: Wanted, figures: Figures, iox_reason: str) -> str:
    """The reason that a goal has no value."""
    if wanted.peer == IOX and iox_reason:
        return iox_reason
    there = {key[0] for regime in figures.ratios.values() for key in regime}
    return NO_BOOST if wanted.peer == BOOST and BOOST not in there else DROPPED
