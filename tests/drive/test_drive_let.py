# SPDX-License-Identifier: Apache-2.0
"""The drive with set-points under logical execution time: the torque is that of the same steps called one
after another, to the bit, in virtual time and on this machine, wherever the controller is computed.
"""

from __future__ import annotations

import ctypes
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from consort.record.ran import STATUS
from effort import PATIENCE, VERDICTS, examples
from ruamel.yaml import YAML

pytestmark = pytest.mark.realtime

ROOT = Path(__file__).parents[2]
DRIVE = ROOT / "examples" / "drive"
CONSORT = Path(sys.executable).with_name("consort")
LATE = STATUS["deadline_misses"] | STATUS["unserved"] | STATUS["outputs_held"]
# Servo jobs in a period of the panel, whose choice can be seen one period after it was made.
LOOK = 400

# By hand, without anything of Consort's: each step of the plant sees the torque of the job before it.
REFERENCE = """
#include "arm.hpp"
#include "hmi.hpp"
#include "servo.hpp"
using namespace drive;
extern "C" void torques(const float* chosen, unsigned rows, unsigned look, unsigned jobs, float* torque) {
    arm::State plant{};
    control::State controller{};
    hmi::State panel{};
    SetPoint made{}, seen{};
    float command = 0;
    for (unsigned i = 0; i < jobs; ++i) {
        if (i % look == 0) {
            seen = made;
            hmi::Out out{};
            hmi::step({chosen[i / look % rows], {}}, panel, out);
            made = out.target;
        }
        arm::Out moved{};
        arm::step({command}, plant, moved);
        control::Out out{};
        control::step({seen, moved.measured}, controller, out);
        torque[i] = command = out.torque;
    }
}
"""


def expected(folder: Path, jobs: int, each: int) -> list[float]:
    (folder / "reference.cpp").write_text(REFERENCE)
    made = folder / "reference.so"
    flags = [
        "-std=c++20",
        "-O2",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
        f"-I{DRIVE}",
        f"-I{ROOT / 'include'}",
    ]
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, *flags, str(folder / "reference.cpp"), "-o", str(made)], check=True)
    # By its path: other examples have an inputs.py too, and a test before this one may have imported it.
    choices = runpy.run_path(str(DRIVE / "inputs.py"))["choices"]
    chosen = np.ascontiguousarray(choices(np.dtype([("chosen", "<f4")]), each=each)["chosen"])
    torque = np.zeros(jobs, np.float32)
    ctypes.CDLL(str(made)).torques(
        chosen.ctypes.data_as(ctypes.c_void_p),
        chosen.size,
        LOOK,
        jobs,
        torque.ctypes.data_as(ctypes.c_void_p),
    )
    return torque.tolist()


def variant(folder: Path, each: int, **tasks: Any) -> Path:
    """Set-points under LET; what the monitor finds is not shown, since a queue's batches depend on times."""
    shutil.copytree(DRIVE, folder / "drive")
    shutil.copytree(ROOT / "examples" / "servo", folder / "servo")
    file = folder / "drive" / "system.yaml"
    data = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    del data["channels"]["health"], data["chains"]["diagnosis"], data["modes"]
    data["tasks"]["hmi"]["reads"] = {"chosen": "operator"}
    data["tasks"]["monitor"].pop("writes")
    data["channels"]["set-points"] = {"kind": "sporadic", "communication": "let", "memory": "shm"}
    data["chains"]["command"]["communication"] = "let"
    data["devices"]["operator"]["arguments"] = {"each": each}
    for name, changes in tasks.items():
        data["tasks"][name] |= changes
    # JSON is YAML, and keeps the order.
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def runs(file: Path, *arguments: str) -> dict[str, tuple[list[float], int]]:
    """The torques of each configuration, by job, and the number of jobs due before any job was late."""
    done = subprocess.run(
        [str(CONSORT), "run", str(file), "--root", str(file.parent / "runs"), "--json", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode in VERDICTS, done.stderr
    data = json.loads(done.stdout)
    found = {}
    for configuration in data["configurations"]:
        folder = Path(data["path"]) / configuration["key"]
        table = pq.read_table(folder / "jobs.parquet").to_pydict()
        jobs = {name: np.array(table[name]) for name in ("task", "seq", "release_ns", "status")}
        assert not (jobs["status"] & STATUS["output_errors"]).any()
        outputs = pq.read_table(folder / "outputs-servo.parquet").to_pydict()
        torques = dict(zip(outputs["seq"], outputs["torque"], strict=True))
        late = jobs["release_ns"][(jobs["status"] & LATE) != 0]
        first = late.min() if late.size else np.inf
        servo = jobs["seq"][(jobs["task"] == "servo") & (jobs["release_ns"] < first)]
        found[configuration["key"]] = ([torques[seq] for seq in sorted(servo.tolist())], servo.size)
    return found


def test_in_virtual_time(tmp_path: Path) -> None:
    jobs = examples(6000)
    torque = expected(tmp_path, jobs, each=2)
    assert len(set(torque)) > jobs // 2
    for seed, tasks in ((1, {}), (2, {"hmi": {"bcet": "1us", "wcet": "15ms"}, "servo": {"wcet": "24us"}})):
        folder = tmp_path / str(seed)
        folder.mkdir()
        file = variant(folder, 2, **tasks)
        found = runs(file, "--for", "virtual", "--iterations", str(jobs), "--seed", str(seed))
        assert set(found) == {"local-off", "offloaded-off"}
        for torques, compared in found.values():
            assert compared == jobs
            assert torques == torque


def test_on_this_machine(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("an offloaded task needs two CPUs")
    jobs = 1000
    torque = expected(tmp_path, jobs, each=1)
    file = variant(tmp_path, 1)
    compared = 0
    for scale in ("40", "200"):
        found = runs(file, "--time-scale", scale, "--iterations", str(jobs), "--only", "offloaded-off")
        torques, compared = found["offloaded-off"]
        assert torques == torque[:compared]
        if compared == jobs:
            break
    assert compared > 0
