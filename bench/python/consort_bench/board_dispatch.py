# SPDX-License-Identifier: Apache-2.0
"""Instructions from a release to the first one of its job's step, counted on emulated boards.

The systems under bench/board/dispatch, a core each: a long job that is begun on an idle core, and a more
urgent one that preempts it. Steps leave their core's counter in their output; the releases are the plan's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from consort.base.toolchain.builds import need_source_tree
from consort.base.waiting import Progress
from consort.board import executive
from consort.board.application import BEGIN, prepare_board
from consort.board.description import CoreSpec
from consort.model import load_system

# An instruction takes 2^6 = 64 ns then, more than a tick of every board's counter (at most 40 ns).
SHIFT = 6
# The state that a task's release finds: an idle core, or a less urgent job under way.
TASKS = {"dispatch": "longer", "preempt": "urgent"}


@dataclass(frozen=True)
class Counted:
    """The fewest and the most instructions of all jobs but the first, which begins a run."""

    core: CoreSpec
    figure: str
    jobs: int
    least: float
    most: float


def systems() -> dict[str, Path]:
    """The system that counts on each core."""
    folder = need_source_tree("counting instructions") / "bench" / "board" / "dispatch"
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}


def count(file: Path, jobs: int, progress: Progress) -> list[Counted]:
    """Both figures of a system's core. Two counts are equal."""
    run = prepare_board(load_system(file), progress)
    ((name, core),) = run.where.bare.items()
    period = next(iter(run.plan.tasks.values())).period_ps
    recorded = executive.run(run.request(jobs * period, counted=True, shift=SHIFT), progress=progress)
    tick = 10**9 // core.clock.hertz
    found = []
    for figure, task in TASKS.items():
        rows = recorded.jobs[recorded.jobs["task"] == list(run.plan.tasks).index(task)]
        released = (rows["release"].astype(np.int64) - BEGIN) // tick + recorded.starts[name]
        read = recorded.outputs[task]["counter"].astype(np.int64)
        # The counter's lower half: it may have begun anew in between.
        instructions = ((read - released) & 0xFFFFFFFF)[1:] * tick / 2**SHIFT
        least, most = float(instructions.min()), float(instructions.max())
        found.append(Counted(core, figure, len(instructions), least, most))
    return found
