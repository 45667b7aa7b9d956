# SPDX-License-Identifier: Apache-2.0
"""Events counted by kind: how many, from when to when, and how long the longest lasted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.record.ran import Ran
from consort.record.raw import Event, RawTable
from consort.record.status import CAUSES_OF_DISTURBANCE, EVENTS, NONE, TIMED_EVENTS
from consort.record.ticks import to_ns

# An event that begins a state, and those that end it: how long it lasted lies between them.
ENDED_BY: dict[str, tuple[str, ...]] = {
    "worker-silent": ("worker-back", "worker-restarted", "worker-lost", "worker-died"),
    "worker-lost": ("worker-back", "worker-restarted"),
}


def summarised(
    table: RawTable | None,
    events: Sequence[Event],
    ran: Ran | None,
    origin: int,
    ticks_per_second: float,
) -> list[dict[str, Any]]:
    """One entry for each kind of event, task, core and cause, in the order of their first occurrence.

    Times are in ns since the recording's first time stamp. `longest_ns` and `total_ns` are None where the
    event has no duration; a state that was not left has none either.
    """

    def ns(ticks: NDArray[Any]) -> NDArray[np.int64]:
        return to_ns(ticks.astype(np.int64), ticks_per_second)

    found: list[dict[str, Any]] = []
    if table is not None and table.rows.size and ran is not None:
        rows = table.rows[np.argsort(table.rows["time"], kind="stable")]
        times = ns(rows["time"] - np.uint64(origin))
        for kind, task, core, cause in np.unique(rows[["kind", "task", "core", "cause"]]).tolist():
            name = EVENTS[kind]
            same = (rows["task"] == task) & (rows["core"] == core)
            mine = same & (rows["kind"] == kind) & (rows["cause"] == cause)
            lasted = None
            if name in TIMED_EVENTS:
                lasted = ns(rows["value"][mine])
            elif name in ENDED_BY:
                ends = np.isin(rows["kind"], [EVENTS.index(end) for end in ENDED_BY[name]])
                lasted = _until(times[mine], times[same & ends])
            found.append(
                _entry(
                    name,
                    times[mine],
                    lasted,
                    ran.task_names[task] if task != NONE else None,
                    ran.core_names[core] if core != NONE else None,
                    CAUSES_OF_DISTURBANCE[cause],
                )
            )
    found += _of_manifest(events, ns, origin)
    return sorted(found, key=lambda entry: (entry["first_ns"] is None, entry["first_ns"]))


def _of_manifest(events: Iterable[Event], ns: Any, origin: int) -> list[dict[str, Any]]:
    by_name: dict[str, list[int]] = {}
    for event in events:
        by_name.setdefault(event.name, []).append(event.tick)
    found = []
    for name, ticks in by_name.items():
        known = np.array([tick - origin for tick in ticks if tick], dtype=np.int64)
        found.append(_entry(name, ns(known), None, None, None) | {"count": len(ticks)})
    return found


def _until(begins: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Times from each beginning to the first end after it; beginnings without one are left out."""
    index = np.searchsorted(ends, begins, side="left")
    ended = index < ends.size
    lasted: NDArray[np.int64] = ends[index[ended]] - begins[ended]
    return lasted


def _entry(
    name: str,
    times: NDArray[np.int64],
    lasted: NDArray[np.int64] | None,
    task: str | None,
    core: str | None,
    cause: str = "",
) -> dict[str, Any]:
    has = lasted is not None and lasted.size > 0
    return {
        "name": name,
        "cause": cause,
        "task": task,
        "core": core,
        "count": int(times.size),
        "first_ns": int(times.min()) if times.size else None,
        "last_ns": int(times.max()) if times.size else None,
        "longest_ns": int(lasted.max()) if has and lasted is not None else None,
        "total_ns": int(lasted.sum()) if has and lasted is not None else None,
    }
