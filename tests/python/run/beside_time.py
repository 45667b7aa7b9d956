# SPDX-License-Identifier: Apache-2.0
"""Random descriptions whose structure does not depend on time, and the structure of their runs.

A frame has slots. Jobs of one core may share a slot, and come by urgency; jobs of different cores are
released in slots of their own, and take a small part of one, so that the order of all that they do is known.
Requests for a worker that serves a long job wait for it, and are served by urgency.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from consort.record import RawRun
from consort.record.ran import OPERATIONS, STATUS, executes_ns
from run_support import Ran, ran, write

# [us], as described; a run takes SCALE times as long, so that a machine with two CPUs can play all cores.
SCALE = 2
SLOT, SLOTS, FRAMES = 5000, 16, 5
FRAME = SLOT * SLOTS
MASTERS = ("master-0", "master-1")
# Bits of a job's status beside times.
MEANT = sum(STATUS[k] for k in ("outputs_held", "local_fallbacks", "worker_lost", "unserved", "aborted"))
WRITES = {OPERATIONS.index("write-late"): OPERATIONS.index("write")}


def described(number: int) -> dict[str, Any]:
    """The description of a number."""
    chance = random.Random(number)
    slots = itertools.count(1)
    tasks: dict[str, Any] = {}
    for core in MASTERS:
        for _ in range(chance.randint(1, 2)):
            slot = next(slots)
            for _ in range(chance.choice((1, 1, 2))):
                tasks[f"local-{len(tasks)}"] = _local(chance, core, slot)
    where = chance.choice(("none", "one", "queue", "late"))
    if where == "one":
        tasks["away"] = _away(chance, next(slots), 500)
    elif where == "late":
        tasks["away"] = _away(chance, next(slots), 30_000) | {"deadline": f"{SLOT * 5 // 2}us"}
        tasks["away"]["on_miss"] = chance.choice(("hold-last-output", "local-fallback"))
    elif where == "queue":
        # The first one is served while the others come.
        first = next(slots)
        tasks["long"] = _away(chance, first, 25_000)
        for place in (1, 2):
            tasks[f"waits-{place}"] = _away(chance, first + place, 500)
        for _ in range(5):
            next(slots)
    data: dict[str, Any] = {
        "tasks": tasks,
        "channels": {},
        "scheduling": _scheduling(chance, tasks),
        "run": {"interference": [], "seed": number, "time_base": "sleep"},
    }
    for name, task in tasks.items():
        if task.get("execution") == "offloaded":
            data["channels"] |= {f"{name}.{end}": {"size": "64B"} for end in ("in", "out")}
    for place in range(chance.randint(1, 3)):
        _join(chance, data, f"channel-{place}")
    # Where modes change, tasks are released by time.
    more = chance.choice((None, None, _follow, _change))
    if more is not None:
        more(chance, data)
    return data


def _local(chance: random.Random, core: str, slot: int) -> dict[str, Any]:
    return {
        "period": f"{FRAME // chance.choice((1, 1, 2))}us",
        "offset": f"{slot * SLOT}us",
        "deadline": f"{SLOT * chance.choice((2, 3, 4)) + SLOT // 2}us",
        "wcet": f"{chance.choice((50, 100, 300))}us",
        "on": core,
    }


def _away(chance: random.Random, slot: int, wcet: int) -> dict[str, Any]:
    return {
        "period": f"{FRAME}us",
        "offset": f"{slot * SLOT}us",
        "deadline": f"{SLOT * 9 + SLOT // 2}us",
        "wcet": {"host": {"offloaded": f"{wcet}us", "local": "100us"}},
        "on": "worker-0",
        "master": chance.choice(MASTERS),
        "execution": "offloaded",
        "on_miss": chance.choice(("hold-last-output", "local-fallback")),
    }


def _scheduling(chance: random.Random, tasks: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    # Those of requests for a worker are of both masters' tasks.
    ranks = iter(chance.sample(range(1, 30), 2 * len(tasks)))
    for core in MASTERS:
        mine = [task for task in tasks.values() if core in (task["on"], task.get("master"))]
        if any("master" in task for task in mine):
            # The other policies have one thread here, which does nothing else while it awaits an answer.
            found[core] = {"policy": "fixed-priority", "wait": "sleep"}
        else:
            policy = chance.choice(("fixed-priority", "fixed-priority-non-preemptive", "edf"))
            found[core] = {"policy": policy}
        for task, rank in zip(mine, ranks, strict=False):
            if found[core]["policy"] == "edf":
                # One of two jobs that come at once is more urgent.
                task["deadline"] = f"{int(task['deadline'].removesuffix('us')) - rank}us"
            else:
                task["priority"] = rank
    return found


def _join(chance: random.Random, data: dict[str, Any], name: str) -> None:
    """A channel between two tasks, or three."""
    tasks = data["tasks"]
    writer, *readers = chance.sample(list(tasks), min(len(tasks), chance.choice((2, 2, 3))))
    if not readers:
        return
    alike = all(tasks[reader]["period"] == tasks[writer]["period"] for reader in readers)
    kind = chance.choice(("queue", "sporadic", *(("periodic",) if alike else ())))
    channel: dict[str, Any] = {"kind": kind, "size": "4B"}
    if kind != "sporadic":
        readers = readers[:1]
    if kind == "queue":
        channel["capacity"] = chance.choice((2, 4))
    elif kind == "sporadic":
        choice = chance.choice(({}, {"communication": "let"}, {"implementation": "double-buffer"}))
        channel |= choice
        if "implementation" in choice:
            readers = readers[:1]
    data["channels"][name] = channel
    tasks[writer].setdefault("writes", []).append(name)
    for reader in readers:
        tasks[reader].setdefault("reads", []).append(name)


def _follow(chance: random.Random, data: dict[str, Any]) -> None:
    """A task that another one's blocks release, on a core of its own."""
    writer = chance.choice([name for name, task in data["tasks"].items() if "master" not in task])
    data["channels"]["wakes"] = {"kind": "queue", "capacity": 4, "size": "4B"}
    data["tasks"][writer].setdefault("writes", []).append("wakes")
    data["tasks"]["follows"] = {
        "min_interarrival": f"{FRAME // 4}us",
        "arrival": "wakes",
        "reads": ["wakes"],
        "wcet": "50us",
        "on": "master-2",
    }


def _change(chance: random.Random, data: dict[str, Any]) -> None:
    """Two modes; a request comes in a slot that nobody has."""
    names = list(data["tasks"])
    rests = chance.choice(names)
    left = [name for name in names if name != rests]
    changed = chance.choice(left)
    data["modes"] = {
        "one": {"tasks": names},
        "two": {"tasks": left, "overrides": {changed: {"deadline": f"{SLOT * 6 + 1}us"}}},
    }
    data["mode_changes"] = {
        "start": "one",
        "agreement": "100us",
        "requests": [{"at": f"{(2 * SLOTS - 1) * SLOT + SLOT // 4}us", "to": "two"}],
    }


def run(number: int, folder: Path, target: str) -> Ran:
    data = described(number)
    path = write(folder / target, data)
    duration = FRAMES * FRAME * SCALE * 10**6
    offloads = any("master" in task for task in data["tasks"].values())
    key = "offloaded-off" if offloads else "local-off"
    found = ran(path, key, stand_ins=True, target=target, time_scale=SCALE, duration_ps=duration)
    # All modes in one.
    return replace(found, raw=RawRun.load(found.scratch / "raw"))


@dataclass(frozen=True)
class Structure:
    """What a run did, of some of its jobs: no times, only what came after what."""

    jobs: dict[str, list[tuple[int, int]]]
    channels: dict[str, list[tuple[str, str, int, int, int]]]
    cores: dict[str, list[tuple[str, int]]]
    served: list[tuple[str, int]]
    modes: list[int]


Keep = Callable[[int, int], bool]


def structure(found: Ran, keep: Keep) -> Structure:
    """The structure of a run, of the jobs (task, number) that are kept."""
    tasks = found.system.task_names
    rows = _kept(np.array(found.raw.tables["jobs"].rows), keep)
    jobs = {
        name: [(int(job["seq"]), int(job["status"]) & MEANT) for job in sorted(_of(rows, place), key=_seq)]
        for place, name in enumerate(tasks)
    }
    begun = rows[rows["start"] > 0]
    cores = {
        core: [
            (tasks[job["task"]], int(job["seq"]))
            for job in begun[np.argsort(begun["start"], kind="stable")]
            if job["core"] == place
        ]
        for place, core in enumerate(found.system.core_names)
    }
    asked = rows[rows["worker_receive"] > 0]
    asked = asked[np.argsort(asked["worker_receive"], kind="stable")]
    served = [(tasks[job["task"]], int(job["seq"])) for job in asked]
    channels: dict[str, list[tuple[str, str, int, int, int]]] = {}
    if "operations" in found.raw.tables:
        operations = _kept(np.array(found.raw.tables["operations"].rows), keep)
        for place, channel in enumerate(found.system.channel_names):
            # The numbers of the blocks have the order.
            channels[channel] = sorted(
                (
                    tasks[one["task"]],
                    OPERATIONS[WRITES.get(int(one["kind"]), int(one["kind"]))],
                    int(one["seq"]),
                    int(one["sequence"]),
                    int(one["count"]),
                )
                for one in operations
                if one["channel"] == place
            )
    modes = [int(event["value"]) for event in found.events("mode-entered")]
    return Structure(jobs, channels, cores, served, modes)


def _kept(rows: np.ndarray, keep: Keep) -> np.ndarray:
    known = [row["task"] != 0xFFFF and keep(int(row["task"]), int(row["seq"])) for row in rows]
    return rows[np.array(known, dtype=bool)]


def _of(rows: np.ndarray, place: int) -> list[Any]:
    return [row for row in rows if row["task"] == place]


def _seq(row: Any) -> int:
    return int(row["seq"])


def frames_undisturbed(found: Ran) -> int:
    """The whole frames, from the first one on, in which the machine kept no job from its slot."""
    per_us = found.raw.manifest.clock.ticks_per_second / 1e6
    slot, frame = SCALE * SLOT * per_us, SCALE * FRAME * per_us
    jobs = np.array(found.raw.tables["jobs"].rows)
    times = {name: jobs[name].astype(np.float64) for name in ("release", "ready", "start", "finish", "sent")}
    origin = times["release"].min()
    waited = np.where(times["start"] > 0, times["start"] - times["ready"], np.inf)
    took = np.where((times["sent"] == 0) & (times["finish"] > 0), times["finish"] - times["start"], 0)
    computed = np.where(times["sent"] > 0, jobs["compute"].astype(np.float64) - _longest(found, jobs), 0)
    bad = [times["release"][(waited > slot / 2) | (took > slot / 2) | (computed > slot / 4)]]
    gaps = found.events("disturbed")
    bad.append((gaps["time"] - gaps["value"])[gaps["value"] > slot / 4].astype(np.float64))
    first = min((float(one.min()) for one in bad if one.size), default=origin + FRAMES * frame)
    # A job that begins in a frame may end in the next one.
    return max(0, int((first - origin) // frame) - 1)


def _longest(found: Ran, jobs: np.ndarray) -> np.ndarray:
    per_ns = found.raw.manifest.clock.ticks_per_second / 1e9
    longest = np.array([executes_ns(task) or 0 for task in found.system.tasks])
    return longest[jobs["task"]] * per_ns


def within(frames: int, found: Ran) -> Keep:
    """The jobs that a run in virtual time releases in the first so many frames."""
    jobs = np.array(found.raw.tables["jobs"].rows)
    until = frames * SCALE * FRAME * (found.raw.manifest.clock.ticks_per_second / 1e6)
    first = jobs["release"].astype(np.float64) - float(jobs["release"].min()) < until
    kept = {(int(job["task"]), int(job["seq"])) for job in jobs[first]}
    return lambda task, seq: (task, seq) in kept
