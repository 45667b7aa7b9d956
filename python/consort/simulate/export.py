# SPDX-License-Identifier: Apache-2.0
"""A simulation's jobs and slices as CSV; times in picoseconds, empty for events that did not happen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from consort.record.status import SLICES
from consort.simulate.engine import Simulation
from consort.simulate.rows import ABSENT, TIMES


def write_csv(simulation: Simulation, folder: Path) -> list[Path]:
    """Writes jobs.csv and slices.csv into a folder, which is made."""
    assert simulation.jobs is not None and simulation.slices is not None
    folder.mkdir(parents=True, exist_ok=True)
    names, cores = np.array(simulation.prepared.tasks), np.array(simulation.prepared.cores)
    jobs = simulation.jobs[np.lexsort((simulation.jobs["task"], simulation.jobs["release"]))]
    core_of = np.array([simulation.prepared.plan.tasks[n].computed_on for n in simulation.prepared.tasks])
    columns = {"task": pa.array(names[jobs["task"]]), "core": pa.array(core_of[jobs["task"]])}
    columns["job"] = pa.array(jobs["seq"])
    for field in (*TIMES, "compute"):
        values = np.ascontiguousarray(jobs[field])
        columns[f"{field}_ps"] = pa.array(values, mask=values == ABSENT)
    columns["status"] = pa.array(jobs["status"])
    columns["preemptions"] = pa.array(jobs["preemptions"])
    slices = simulation.slices[np.argsort(simulation.slices["begin"], kind="stable")]
    stretches = {
        "begin_ps": pa.array(np.ascontiguousarray(slices["begin"])),
        "end_ps": pa.array(np.ascontiguousarray(slices["end"])),
        "core": pa.array(cores[slices["core"]]),
        "doing": pa.array(np.array(SLICES)[slices["doing"]]),
        "task": pa.array(names[slices["task"]]),
        "job": pa.array(np.ascontiguousarray(slices["seq"])),
    }
    files = []
    for name, table in (("jobs", columns), ("slices", stretches)):
        files.append(folder / f"{name}.csv")
        pyarrow.csv.write_csv(pa.table(table), files[-1])
    return files
