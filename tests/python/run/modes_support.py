# SPDX-License-Identifier: Apache-2.0
"""A system that goes from mode to mode: a task with a state moves between cores, one is offloaded in one of
the modes, one rests in another. What the moving tasks give is known from the number of the job alone."""

from __future__ import annotations

import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from consort.model import load_system
from consort.record import Ran, RawRun, Run, RunWriter
from consort.record.ran import OPERATIONS, STATUS
from consort.record.stays import Stay, stays_of
from consort.run import Options, Prepared, prepare
from consort.run.flow import record_configuration
from effort import beside_others, own_time
from run_support import silent, write

STEPS = Path(__file__).parent / "moves" / "steps.hpp"
LONG = 2**64


def value_of(jobs: int) -> list[int]:
    """The outputs of the first jobs of the step, one after another, wherever they are computed."""
    total, words, found = 1, [0] * 40, []
    for job in range(jobs):
        total = (total * 6364136223846793005 + job) % LONG
        words[job % 40] ^= total >> 32
        found.append((total >> 32) ^ words[((job + 1) * 7) % 40])
    return found


def described(folder: Path, requests: Sequence[tuple[int, str]], *, jobs: int = 60, **more: Any) -> Path:
    """`requests`: when [us], and the mode; without any the task `pilot` asks."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(STEPS, folder)
    common = {"period": "10ms", "bcet": "10us", "wcet": {"host": "100us"}, "footprint": {"data": "176B"}}
    tasks = {
        "mover": {**common, "step": "steps.hpp::moves::step", "on": "master-0", "writes": {"value": "moved"}},
        "away": {
            **common,
            "step": "steps.hpp::moves::step",
            "execution": "offloaded",
            "on": "worker-0",
            "master": "master-0",
            "wcet": {"host": {"local": "120us", "offloaded": "100us"}},
        },
        "reader": {**common, "step": "steps.hpp::moves::relay", "on": "master-1", "reads": {"seen": "moved"}},
        "pilot": {**common, "step": "steps.hpp::moves::pilot", "on": "master-0", "offset": "3ms"},
        "extra": {**common, "step": "steps.hpp::moves::step", "on": "master-1", "period": "4ms"},
    }
    modes = {
        "first": {
            "tasks": ["mover", "away", "reader", "pilot"],
            "overrides": {"away": {"execution": "local", "on": "master-0"}},
        },
        "second": {
            "tasks": ["mover", "away", "reader", "pilot", "extra"],
            "overrides": {"mover": {"on": "master-1", "period": "6ms"}},
        },
    }
    asks = {"task": "pilot", "member": "wanted", "modes": ["first", "second"]}
    changes = {
        "start": "first",
        "agreement": "1ms",
        "state_through": "shm",
        **({} if requests else {"asked_by": [asks]}),
        **({"requests": [{"at": f"{at}us", "to": mode} for at, mode in requests]} if requests else {}),
    }
    parts = {
        "assumed": "for a test",
        "tasks": tasks,
        "channels": {
            "moved": {"kind": "sporadic"},
            "away.in": {"memory": "shm", "size": "8B"},
            "away.out": {"memory": "shm", "size": "8B"},
        },
        "modes": modes,
        "mode_changes": changes,
        "run": {"iterations": jobs, "time_base": "sleep", "interference": []},
    }
    return write(folder, {**parts, **more})


def resting(folder: Path) -> Path:
    """A writer and a reader of a mailbox and of a queue that is never empty; one rests, then the other."""
    task = {"period": "10ms", "wcet": "50us", "bcet": "10us", "step": "stand-in"}
    channel = {"memory": "shm", "size": "16B"}
    parts = {
        "assumed": "for a test",
        "tasks": {
            "writer": {**task, "on": "master-0", "writes": ["box", "line"]},
            "reader": {**task, "on": "master-1", "offset": "5ms", "reads": ["box", "line"]},
        },
        "channels": {
            "box": {**channel, "kind": "periodic"},
            "line": {**channel, "kind": "queue", "capacity": 8},
        },
        "modes": {
            "both": {"tasks": ["writer", "reader"]},
            "one": {"tasks": ["writer"]},
            "two": {"tasks": ["reader"]},
        },
        "mode_changes": {
            "start": "both",
            "agreement": "1ms",
            # Each time a block is left.
            "requests": [
                {"at": "103ms", "to": "one"},
                {"at": "203ms", "to": "both"},
                {"at": "303ms", "to": "two"},
                {"at": "403ms", "to": "both"},
            ],
        },
        "run": {"iterations": 60, "time_base": "sleep", "interference": []},
    }
    return write(folder, parts)


def left_over(found: RanModes) -> list[str]:
    """Operations on channels of which an end rests, and blocks of one stay that were read in another."""
    begins = [stay.begin for stay in found.stays]
    operations = np.array(found.raw.tables["operations"].rows)
    operations = operations[np.argsort(operations["time"], kind="stable")]
    wrong, written, newest = [], {}, {}
    for one in operations:
        stay = max(bisect_right(begins, int(one["time"])) - 1, 0)
        kind, mode = OPERATIONS[one["kind"]], found.modes[found.stays[stay].mode]
        key = int(one["channel"])
        block = (key, int(one["sequence"]))
        if kind == "write":
            written[block] = stay
            if mode != "both":
                wrong.append(f"block {block} is written in mode {mode}")
        elif kind != "read":
            wrong.append(f"block {block}: {kind}")
        elif block[1] != newest.get(key, 0):
            newest[key] = block[1]
            if written.get(block) != stay:
                wrong.append(f"block {block} of stay {written.get(block)} is read in stay {stay}")
    return wrong


PLAYED = """\
#pragma once
struct playing {
    struct In { double at; };
    struct State {};
    struct Out { double at; };
    static void step(const In& in, State&, Out& out) { out.at = in.at; }
};
"""


def playing(folder: Path) -> Path:
    """Two tasks whose outputs are the recorded instants [ms] of their inputs, in a mode four times as long as
    in the other. One of them changes its core."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "played.hpp").write_text(PLAYED)
    (folder / "played.csv").write_text("time,at\n0,0\n100,100000\n")
    recording = {"file": "played.csv", "time": "time", "time_unit": "s", "columns": {"at": "at"}}
    common = {"period": "10ms", "wcet": "100us", "step": "played.hpp::playing::step"}
    whole = {**common, "on": "master-0", "footprint": {"data": "0B"}, "input": recording}
    member = {"recording": {**recording, "columns": {"value": "at"}}}
    parts = {
        "assumed": "for a test",
        "tasks": {"whole": whole, "member": {**common, "on": "master-1", "reads": {"at": "recorded"}}},
        "devices": {"recorded": member},
        "modes": {
            "first": {"tasks": ["whole", "member"]},
            "second": {
                "overrides": {"whole": {"period": "40ms", "on": "master-1"}, "member": {"period": "15ms"}}
            },
        },
        "mode_changes": {
            "start": "first",
            "agreement": "1ms",
            "state_through": "shm",
            "requests": [{"at": "105ms", "to": "second"}, {"at": "307ms", "to": "first"}],
        },
        "run": {"iterations": 60, "time_base": "sleep", "interference": []},
    }
    return write(folder, parts)


def misplaced(found: RanModes) -> list[str]:
    """Jobs that did not read the row of their time: each goes on from the one before by its mode's period."""
    wrong = []
    periods = {"whole": {"first": 10, "second": 40}, "member": {"first": 10, "second": 15}}
    begins = [stay.begin for stay in found.stays]
    jobs = np.array(found.raw.tables["jobs"].rows)
    for name, period in periods.items():
        number = found.system.task_names.index(name)
        rows = np.array(found.raw.tables[f"outputs-{number}"].rows)
        outputs = dict(zip(rows["seq"].tolist(), rows["at"].tolist(), strict=True))
        expected = 0
        for job in np.sort(jobs[jobs["task"] == number], order="seq"):
            if int(job["seq"]) not in outputs:
                continue  # it was not served
            if outputs[int(job["seq"])] != expected:
                wrong.append(f"{name}, job {job['seq']}: {outputs[int(job['seq'])]}, not {expected}")
            stay = found.stays[max(bisect_right(begins, int(job["release"])) - 1, 0)]
            expected += period[found.modes[stay.mode]]
    return wrong


@dataclass(frozen=True)
class Settled:
    """A change that follows from the requests and from the instants that were seen."""

    old: str
    new: str
    requested: int


def settled(requests: Sequence[tuple[int, str]], stays: Sequence[Stay], start: str) -> list[Settled]:
    """The changes that the protocol makes of `requests`, in ticks, whenever the idle instants were: of the
    requests until an idle instant the last one counts, of those between it and the release the last one is
    taken at the release."""
    mode, at, found = start, 0, []
    for stay in stays[:-1]:
        assert stay.idle is not None and stay.end is not None
        while requests[at][1] == mode:
            at += 1
        first, new = requests[at][0], requests[at][1]
        while at < len(requests) and requests[at][0] <= stay.idle:
            new = requests[at][1]
            at += 1
        while at + 1 < len(requests) and requests[at + 1][0] < stay.end:
            at += 1
        found.append(Settled(mode, new, first))
        mode = new
    assert all(to == mode for _, to in requests[at:]), "each request was taken"
    return found


@dataclass
class RanModes:
    """One run, with the recording of all of its modes."""

    run: Run
    raw: RawRun
    stays: list[Stay]
    prepared: Prepared

    @property
    def system(self) -> Ran:
        """The plan of all modes."""
        assert self.raw.ran is not None
        return self.raw.ran

    @property
    def modes(self) -> tuple[str, ...]:
        changes = self.system.plan.changes
        assert changes is not None
        return changes.modes

    def outputs(self, name: str) -> list[int]:
        number = self.system.task_names.index(name)
        rows = np.array(self.raw.tables[f"outputs-{number}"].rows)
        rows = rows[np.argsort(rows["seq"])]
        jobs = self.raw.tables["jobs"].rows
        served = (jobs["task"] == number) & ((jobs["status"] & STATUS["unserved"]) == 0)
        assert rows["seq"].tolist() == sorted(jobs["seq"][served].tolist()), (
            "each served job is computed once"
        )
        return [int(value) for value in rows["value"]]

    @property
    def reasons(self) -> list[str]:
        return [
            *self.run.data["verdict"]["reasons"],
            *(r for c in self.run.configurations for r in c["verdict"]["reasons"]),
        ]

    def settled(self, requests: Sequence[tuple[int, str]], scale: int) -> list[Settled]:
        """The changes that must have been made of `requests`, at their unscaled instants [us]."""
        config = self.raw.manifest.config
        per_us = self.raw.manifest.clock.ticks_per_second / 1e6
        # Nanoseconds are made ticks by multiplication there: a tick or two less.
        ticks = [(config["start_tick"] + int(at * scale * per_us) - 2, to) for at, to in requests]
        return settled(ticks, self.stays, self.modes[self.stays[0].mode])

    @property
    def changes(self) -> list[list[Any]]:
        """The rows of the report's table."""
        return next(s["rows"] for s in self.run.data["sections"] if s["title"].startswith("Changes of mode"))


def ran_modes(file: Path, into: str = "kept", key: str = "offloaded-off", **options: Any) -> RanModes:
    system = load_system(file)
    wanted = Options(**options)
    with beside_others():
        prepared = prepare(system, silent, wanted)
    scratch = Path(tempfile.mkdtemp(prefix=into, dir=file.parent))
    with RunWriter("test", "application", file.parent / "runs") as writer:
        with own_time(wanted.target == "linux"):
            record_configuration(prepared, key, wanted, writer, silent, scratch=scratch)  # type: ignore[arg-type]
        run = writer.finish()
    raw = RawRun.load(scratch / "raw")
    return RanModes(run, raw, stays_of(raw), prepared)
