# SPDX-License-Identifier: Apache-2.0
"""Names of a recording's numbers: bits of a job's status, kinds of events and of channel operations.

They are defined in include/consort/task/job.hpp; the test of the layouts holds the two against each other.
"""

from __future__ import annotations

# Bits of a job's status word.
STATUS: dict[str, int] = {
    "deadline_misses": 1 << 0,
    "outputs_held": 1 << 1,
    "local_fallbacks": 1 << 2,
    "worker_lost": 1 << 3,
    "late_answers_discarded": 1 << 4,
    "output_errors": 1 << 5,
    "late_releases": 1 << 6,
    "unserved": 1 << 7,
    "aborted": 1 << 8,
}
# Names in reports and traces.
LABELS: dict[str, str] = {
    "deadline_misses": "deadline miss",
    "outputs_held": "output held",
    "local_fallbacks": "local fallback",
    "worker_lost": "worker lost",
    "late_answers_discarded": "late answer discarded",
    "output_errors": "output error",
    "late_releases": "late release",
    "unserved": "unserved",
    "aborted": "aborted",
}
# Why a job missed its deadline: the first of these bits that it carries, in the words of a report.
CAUSES: tuple[tuple[str, str], ...] = (
    ("unserved", "unserved"),
    ("aborted", "aborted"),
    ("worker_lost", "worker lost"),
    ("outputs_held", "no answer in time"),
    ("local_fallbacks", "fallback late"),
    ("late_releases", "started late"),
)
FINISHED_LATE = "finished late"

# Kinds of events, by their number.
EVENTS: tuple[str, ...] = (
    "worker-lost",
    "worker-silent",
    "worker-back",
    "worker-restarted",
    "worker-died",
    "queue-full",
    "overrun",
    "over-budget",
    "crashed",
    "let-late-write",
    "let-lap",
    "disturbed",
    "started",
    "ended",
    "slot-missed",
    "slot-overrun",
    "release-lost",
    "block-corrupt",
    "early-arrival",
    "mode-requested",
    "mode-idle",
    "mode-entered",
    "state-given",
    "state-taken",
    "core-died",
    "state-prepared",
    "state-copied",
    "remote-faults",
    "remote-waits",
    "link-failed",
    "link-died",
    "executed",
    "preempted",
)
# Why a disturbed thread did not run, as far as known, by its number (Event::Cause); "" for other events.
CAUSES_OF_DISTURBANCE: tuple[str, ...] = ("", "stopped", "interrupted", "woken late", "taken", "rested")
# Events whose value is a time in ticks.
TIMED_EVENTS = frozenset(
    (
        "over-budget",
        "disturbed",
        "executed",
        "preempted",
        "early-arrival",
        "state-given",
        "state-taken",
        "core-died",
        "state-prepared",
        "state-copied",
        "remote-waits",
    )
)

# Kinds of channel operations, by their number.
OPERATIONS: tuple[str, ...] = (
    "read",
    "write",
    "write-dropped",
    "read-overtaken",
    "write-late",
    "read-corrupt",
    "delivered",
)

# The kinds of a slice of a simulation, for a core or the DMA, by their numbers (engine/sim/record.hpp).
SLICES: tuple[str, ...] = (
    "execute",
    "context switch",
    "load",
    "unload",
    "send",
    "receive",
    "fallback",
    "wait",
)

# A task, core or channel that a row does not have.
NONE = 0xFFFF
