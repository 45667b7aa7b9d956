# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the programs of bench/loopback: two processes on two processors, recorded."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from consort.base.environment import usable_cpus
from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort.base.toolchain.builds import need_source_tree
from consort.base.toolchain.compiler import own_program
from consort.base.waiting import Progress
from consort.record import RawRun
from consort.record.columns import ACTIVITY, to_ns
from consort.record.raw import MANIFEST
from consort.record.summary import Summary, summarise
from consort.record.tables import SOURCES
from consort.run.far_memory import interfering
from consort.run.process import add_note, execute
from numpy.typing import NDArray

Class = Literal["ordinary", "realtime"]

# -O2 as a user's own program would be built; no flag that only a benchmark would have.
FLAGS = ("-std=c++20", "-O2", "-Wall", "-Wextra")
SHARED_CPUS = (
    "the machine has no CPU to spare: interference shares the CPUs of the two processes, and in the real-time"
    " class it runs only while both sleep between blocks, and in what the kernel keeps from real-time threads"
)


@dataclass(frozen=True)
class Recording:
    """One configuration: the program's record, and the load that ran beside it."""

    raw: RawRun
    interference: RawRun | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def refused(self) -> bool:
        """True if the real-time class was asked for and the machine did not give it."""
        wanted = self.raw.manifest.config["class"] == "realtime"
        return wanted and self.raw.manifest.realtime.get("policy") != "SCHED_FIFO"

    def ns(self, table: str) -> NDArray[np.int64]:
        """All times of a table in nanoseconds, in the order of recording."""
        ticks = np.ascontiguousarray(self.raw.tables[table].rows["time"]).view(np.int64)
        return to_ns(ticks, self.raw.manifest.clock.ticks_per_second)

    def summary(self, table: str) -> Summary:
        found = summarise(self.ns(table), "ns", self.raw.manifest.clock.provenance)
        assert found is not None
        return found

    def counter(self, name: str) -> int:
        return int(self.raw.manifest.counters[name])


def program(source: str) -> Path:
    """The program of bench/loopback/<source>.cpp, built if the cache does not hold it."""
    tree = need_source_tree("this benchmark")
    file = tree / "bench" / "loopback" / f"{source}.cpp"
    return own_program(source, file, (file.parent, tree / "ports" / "linux" / "tools"), FLAGS)


def choose_cpus() -> list[int]:
    """Two CPUs, isolated ones first, CPU 0 last."""
    usable = usable_cpus()
    if len(usable) < 2:
        raise EnvironmentLacks(
            "two CPUs are needed, one for each process", "widen the affinity mask, or use a larger machine"
        )
    return sorted(usable[:2])


def spare_cpus() -> list[int]:
    """The CPUs that a load can have for itself."""
    taken = choose_cpus()
    return [cpu for cpu in usable_cpus() if cpu not in taken]


def record(
    source: str,
    arguments: Sequence[str],
    *,
    scheduling: Class,
    sources: Sequence[str],
    seconds: float,
    folder: Path,
    progress: Progress,
    what: str,
) -> Recording:
    """Runs a program once in `scheduling`, with the named sources of interference beside it.

    It ends by itself after `seconds`, done or not. `folder` is made and must last as long as the recording.
    Changed contents do not raise: the counter `content_errors` says how many there were.
    """
    built = program(source)
    cpus = choose_cpus()
    raw = folder / "raw"
    raw.mkdir(parents=True)
    others = spare_cpus()
    command = [
        str(built),
        *("--raw", str(raw), "--class", scheduling, "--cpus", ",".join(map(str, cpus))),
        # The processes end with this one, also when it is killed.
        *("--seconds", f"{seconds:.1f}", "--parent", str(os.getpid()), *arguments),
    ]
    with interfering(sources, others or cpus, seconds + 60, folder / "interference") as state:
        status, words = execute(command, seconds, what, progress)
    if not (raw / MANIFEST).is_file():
        message = words or f"{built.name} ended with status {status}"
        if status == 2:
            raise BadInput(message)
        if status == 3:
            raise EnvironmentLacks(message, "see `consort doctor`")
        raise SystemFails(f"{what}: {message}; nothing was recorded")
    notes = list(state.notes)
    if sources and not others:
        notes.append(SHARED_CPUS)
    for note in notes:
        add_note(raw, note)
    recorded = RawRun.load(raw)
    load = None
    if state.raw is not None and (state.raw / MANIFEST).is_file():
        load = _during(RawRun.load(state.raw), recorded)
    return Recording(recorded, load, notes)


def moved_bytes_per_second(recording: Recording) -> dict[str, float]:
    """Bytes a second that each source of interference moved while the program measured; {} without any."""
    if recording.interference is None:
        return {}
    rate = recording.raw.manifest.clock.ticks_per_second
    rows = recording.interference.tables[ACTIVITY].rows
    moved: dict[str, float] = {}
    for source, name in SOURCES.items():
        mine = rows[rows["source"] == source]
        # A row holds what was moved since the row before it: the first one's began outside.
        if mine.size >= 2:
            moved[name] = float(mine["bytes"][1:].sum()) / (int(mine["t"][-1] - mine["t"][0]) / rate)
    return moved


def _window(raw: RawRun) -> tuple[int, int]:
    ticks = {event.name: event.tick for event in raw.manifest.events}
    return ticks["measuring-begins"], ticks["measuring-ends"]


def _during(load: RawRun, measured: RawRun) -> RawRun:
    """The load's record cut to the time in which the program measured: it also ran before and after."""
    begin, end = _window(measured)
    table = load.tables[ACTIVITY]
    inside = (table.rows["t"] >= begin) & (table.rows["t"] <= end)
    return dataclasses.replace(load, tables={ACTIVITY: table.of(table.rows[inside])})
