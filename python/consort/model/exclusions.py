# SPDX-License-Identifier: Apache-2.0
"""Features that exclude each other in one description, on whatever cores: the table that its rules read.

Those that exclude each other on one core are in `conflicts`, those that a target lacks in `plan.lacks`. What
no row names works.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exclusion:
    """Two features of which a description has one at most. `why` may name what has them."""

    feature: str
    beside: str
    why: str


_CLOSE = (
    "where modes change, nothing says how close the last release of one mode and the first of the next may"
    " come; remove {key!r}, or 'modes'"
)
_LEAST = (
    "a three-phase task is released by a least distance only; remove {key!r}, and write the shortest one as"
    " 'min_interarrival'"
)
_VERSIONS = (
    "under logical execution time a channel is a ring of versions, each read from its writer's deadline on,"
    " and no {implementation}; write 'kind: sporadic' without 'implementation', or make its chains implicit"
)
_ONE_READER = (
    "a block of a {implementation} is taken out by one reader, and here are {readers}; give each a channel of"
    " its own, or write 'kind: sporadic'"
)

EXCLUSIONS: tuple[Exclusion, ...] = (
    Exclusion(
        "three-phase tasks",
        "mode_changes",
        "three-phase cores run one table of slots, which no change of mode replaces; write local or"
        " offloaded, or remove 'mode_changes'",
    ),
    Exclusion(
        "arrival",
        "mode_changes",
        "where modes change, tasks are released by time: the blocks of a channel would not be counted in"
        " the modes in which the task rests; write 'min_interarrival' only",
    ),
    Exclusion(
        "on_miss: stop",
        "mode_changes",
        "where modes change, no task stops the run: a change to a safe mode takes its place; write"
        " hold-last-output or local-fallback",
    ),
    Exclusion(
        "supply",
        "mode_changes",
        "{core!r} has tasks of modes that change, which takes whole cores; remove 'supply', or"
        " 'mode_changes'",
    ),
    Exclusion("min_distances", "modes", _CLOSE),
    Exclusion("burst", "modes", _CLOSE),
    Exclusion(
        "accelerators",
        "modes",
        "what clients of accelerators are given is the same in all modes, and a mode changes who asks; remove"
        " 'modes', or the accelerators",
    ),
    Exclusion(
        "a priority of several tasks",
        "tasks that are not local",
        "the task {other!r} on {core!r} has priority {priority} too; give each its own: only local tasks may"
        " share one",
    ),
    Exclusion("min_distances", "three-phase tasks", _LEAST),
    Exclusion("burst", "three-phase tasks", _LEAST),
    Exclusion(
        "burst",
        "min_distances",
        "the distances of a burst follow from it; remove 'burst', or 'min_distances'",
    ),
    Exclusion(
        "offset",
        "min_interarrival",
        "a sporadic task comes when it comes and has no offset; remove 'offset', or write 'period'",
    ),
    Exclusion(
        "a plant",
        "min_interarrival",
        "a plant advances with the periods of its task, and {task!r} is sporadic; write 'period'",
    ),
    Exclusion(
        "communication: let",
        "min_interarrival",
        "logical execution time needs periodic tasks, and {task!r} is sporadic; write"
        " 'communication: implicit'",
    ),
    *(
        Exclusion("communication: let", kind, _VERSIONS)
        for kind in ("queue", "mailbox", "double-buffer", "snapshot")
    ),
    *(Exclusion(kind, "several readers", _ONE_READER) for kind in ("queue", "mailbox")),
    Exclusion(
        "arbitration: tdma",
        "arbitration: round-robin",
        "one DMA engine has one arbitration; here are {cores}",
    ),
)
_WHY = {(row.feature, row.beside): row.why for row in EXCLUSIONS}


def excluded(feature: str, beside: str, **names: str) -> str:
    """The reason of a row, with the names of what has the two features."""
    return _WHY[feature, beside].format(**names)
