# SPDX-License-Identifier: Apache-2.0
"""Cores that die in a run on this machine, and others that go on with their tasks: from the last committed
job, on one core at a time. What takes how long is the machine's affair."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.analysis.figures import Figures
from consort.analysis.mode_changes import analyze_modes
from consort.analysis.offload_costs import checkpoint
from consort.model import BadDescription, load_system
from consort.plan import plan_in_modes
from consort.record.stays import deaths_of
from consort.run import Options, prepare
from consort.run.options import CoreFault, JobFault
from effort import wait_for
from modes_support import RanModes, described, ran_modes, value_of
from run_support import SKIPPED, beside_time, consort, processes, silent

pytestmark = pytest.mark.realtime(when="run")

# The machine may have fewer CPUs than the system has cores.
SCALE = 2
# Longer than a core of a loaded machine is kept from its CPU: it is not to be taken for dead.
DETECTION_MS = 200


def mortal(folder: Path, *, jobs: int = 40, **more: Any) -> Path:
    """`mover` goes on on master-1 when master-0 dies, and `reader` on master-0 when master-1 does."""
    file = described(folder, [(900_000_000, "second")], jobs=jobs)
    data = json.loads(file.read_text())
    data["tasks"].pop("away")
    data["tasks"]["mover"]["writes"] = {"value": "moved"}
    for name in ("away.in", "away.out"):
        data["channels"].pop(name)
    data["modes"] = {
        "first": {"tasks": ["mover", "reader", "pilot"]},
        "second": {"tasks": ["mover", "reader"], "overrides": {"mover": {"on": "master-1"}}},
        "third": {"tasks": ["mover", "reader"], "overrides": {"reader": {"on": "master-0"}}},
    }
    data["mode_changes"] = {
        "start": "first",
        "agreement": "1ms",
        "state_through": "shm",
        "detection": f"{DETECTION_MS}ms",
        "fail_over": [{"core": "master-0", "to": "second"}, {"core": "master-1", "to": "third"}],
    }
    data |= more
    file.write_text(json.dumps(data))
    return file


def outputs(found: RanModes, name: str) -> dict[int, int]:
    """The outputs of a task's executed jobs, by their numbers."""
    number = found.system.task_names.index(name)
    rows = np.array(found.raw.tables[f"outputs-{number}"].rows)
    assert len(set(rows["seq"].tolist())) == rows.size, "each job is recorded once"
    return {int(row["seq"]): int(row["value"]) for row in np.sort(rows, order="seq")}


def jobs_of(found: RanModes, name: str) -> Any:
    jobs = np.array(found.raw.tables["jobs"].rows)
    return jobs[jobs["task"] == found.system.task_names.index(name)]


def went_on(found: RanModes, task: str, died: int, goes_on: int, in_first_job: bool = False) -> None:
    """One core after the other had the task, and no job was lost from its state or computed twice."""
    # A core that dies in its first job leaves nothing to judge its tasks by in that mode.
    reasons = beside_time(found.reasons)
    assert [reason for reason in reasons if not (in_first_job and "nothing is known of it" in reason)] == []
    mine = jobs_of(found, task)
    death = deaths_of(found.raw)[0]
    assert death.core == died
    given = outputs(found, task)
    # A core that dies in the first job has ended none.
    assert set(mine["core"].tolist()) == {died, goes_on} - ({died} if 0 not in given else set())
    there = mine[mine["core"] == goes_on]
    here = mine[mine["core"] == died]
    assert death.noticed < there["start"][there["start"] > 0].min()
    assert (here["start"] <= death.noticed).all()
    assert list(given.values()) == value_of(len(given))
    # Only the job that was under way has no number any more, and those that a busy machine left no time for.
    skipped = set(mine["seq"][(mine["status"] & SKIPPED) != 0].tolist())
    assert len(set(range(max(given) + 1)) - set(given) - skipped) <= 1


def fail_overs(found: RanModes) -> list[list[Any]]:
    return next(s["rows"] for s in found.run.data["sections"] if s["title"].startswith("Fail-over"))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mortal(tmp_path_factory.mktemp("mortal") / "m")


@pytest.mark.representative
@pytest.mark.parametrize("kind", ["kill-core", "stop-core"])
def test_others_go_on_when_a_core_dies(file: Path, kind: Any) -> None:
    fault = CoreFault("master-0", 400_000_000, kind)
    found = ran_modes(file, kind, time_scale=SCALE, core_faults=[fault])
    went_on(found, "mover", 0, 1)
    assert [row[:2] for row in found.changes] == [["first", "second"]]
    rows = {row[2]: row for row in fail_overs(found)}
    assert rows.keys() == {"mover", "pilot"}
    noticed, idle, released, first, bound = rows["mover"][4:]
    assert 0 < noticed <= idle < released < first and bound > 0
    assert rows["pilot"][7] is None and rows["pilot"][8] is None


# In the middle of the commit, after it, and between the write to the channel and the rows: what `mover` goes
# on from is 96 words.
STEPS = (48, 97, 99)


def dies_in_job(file: Path, step: int, job: int = 15) -> None:
    fault = JobFault("mover", job, step)
    found = ran_modes(file, f"step-{step}-{job}", time_scale=SCALE, dies_in_job=fault)
    assert len(deaths_of(found.raw)) == 1
    went_on(found, "mover", 0, 1, in_first_job=job == 0)
    assert (job in outputs(found, "mover")) == (step > 96), "complete from its commit on, else lost"
    moved = list(outputs(found, "mover").values())
    read = [value for value in outputs(found, "reader").values() if value]
    assert read == sorted(read, key=moved.index), "no block comes twice, and none of an older state"


@pytest.mark.parametrize("step", STEPS)
def test_a_death_at_a_step_of_a_job_leaves_one_copy(file: Path, step: int) -> None:
    dies_in_job(file, step)


@pytest.mark.slow
@pytest.mark.parametrize("job", [0, 1, 31])
def test_a_death_at_any_step_of_a_job_leaves_one_copy(file: Path, job: int) -> None:
    for step in range(101):
        dies_in_job(file, step, job)


@pytest.mark.slow
def test_the_first_core_that_dies_may_be_the_other_one(file: Path) -> None:
    fault = CoreFault("master-1", 300_000_000, "kill-core")
    found = ran_modes(file, "other", time_scale=SCALE, core_faults=[fault])
    assert beside_time(found.reasons) == []
    assert [row[:2] for row in found.changes] == [["first", "third"]]
    # It does nothing but give on what it reads.
    read = [value for value in outputs(found, "reader").values() if value]
    moved = list(outputs(found, "mover").values())
    assert moved == value_of(len(moved)) and read == sorted(read, key=moved.index)
    assert set(jobs_of(found, "reader")["core"].tolist()) == {0, 1}


def test_both_cores_die_and_the_run_ends(file: Path) -> None:
    faults = [CoreFault(f"master-{k}", (300 + 300 * k) * 1_000_000, "kill-core") for k in (0, 1)]
    found = ran_modes(file, "both", time_scale=SCALE, core_faults=faults)
    assert any("the run ended before its last job" in reason for reason in found.reasons)
    assert [death.core for death in deaths_of(found.raw)] == [0]
    given = list(outputs(found, "mover").values())
    assert given == value_of(len(given))


@pytest.mark.parametrize(
    "policy", ["edf", pytest.param("fixed-priority-non-preemptive", marks=pytest.mark.slow)]
)
def test_every_policy_goes_on(tmp_path: Path, policy: str) -> None:
    scheduling = {core: {"policy": policy} for core in ("master-0", "master-1")}
    fault = CoreFault("master-0", 400_000_000, "kill-core")
    found = ran_modes(mortal(tmp_path / "m", scheduling=scheduling), time_scale=SCALE, core_faults=[fault])
    went_on(found, "mover", 0, 1)


def cores(program: Path) -> list[int]:
    """The processes of a run's cores, in their order: the supervisor's first children."""
    found = processes(program)
    mine = {process.pid for process in found}
    return sorted(process.pid for process in found if process.parent in mine)


@pytest.mark.parametrize("ms", [380, *(pytest.param(ms, marks=pytest.mark.slow) for ms in (100, 900))])
def test_a_core_that_was_only_stopped_never_runs_beside_the_other(file: Path, ms: int) -> None:
    """It is continued before it is suspected, about then, or long after."""
    program = prepare(load_system(file), silent, Options()).program

    def stop_and_continue() -> None:
        wait_for("the run has begun", lambda: len(cores(program)) >= 4)
        time.sleep(0.3)
        # The executive's children, in the order of the cores.
        victim = cores(program)[0]
        os.kill(victim, signal.SIGSTOP)
        time.sleep(ms / 1000)
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGCONT)

    thread = threading.Thread(target=stop_and_continue)
    thread.start()
    found = ran_modes(file, f"stopped-{ms}", time_scale=SCALE)
    thread.join()
    if deaths_of(found.raw):
        went_on(found, "mover", 0, 1)
    else:
        assert beside_time(found.reasons) == []
        given = list(outputs(found, "mover").values())
        assert given == value_of(len(given))


@pytest.mark.slow
def test_it_dies_while_modes_change(tmp_path: Path) -> None:
    """In the agreement of a change that takes its task away, and of one that brings it back."""
    for request, to in ((200, "second"), (201, "first")):
        file = mortal(tmp_path / str(request))
        data = json.loads(file.read_text())
        data["mode_changes"]["agreement"] = "20ms"
        data["mode_changes"]["requests"] = [{"at": "150ms", "to": "second"}, {"at": "200ms", "to": "first"}]
        file.write_text(json.dumps(data))
        at = {"second": 320, "first": 420}[to] * 1_000_000
        found = ran_modes(file, time_scale=SCALE, core_faults=[CoreFault("master-0", at, "kill-core")])
        assert beside_time(found.reasons) == []
        assert found.changes[-1][1] == "second"
        given = list(outputs(found, "mover").values())
        assert given == value_of(len(given))


class TestRefused:
    def refused(self, file: Path, change: Callable[[dict[str, Any]], None], said: str) -> None:
        data = json.loads(file.read_text())
        change(data)
        file.write_text(json.dumps(data))
        with pytest.raises(BadDescription) as refused:
            plan_in_modes(load_system(file), "linux")
        assert said in str(refused.value)

    def test_by_check_and_run_alike(self, tmp_path: Path) -> None:
        file = mortal(tmp_path / "m")
        data = json.loads(file.read_text())
        data["channels"]["moved"] = {"kind": "sporadic", "communication": "let"}
        file.write_text(json.dumps(data))
        for command in (("check", file, "--for", "linux"), ("run", file)):
            done = consort(*command)
            assert done.returncode == 2, done.stdout
            assert "channels.moved: when 'master-0' dies, 'mover' goes on in 'second'" in done.stderr

    def test_blocks_that_come_once(self, tmp_path: Path) -> None:
        def change(data: dict[str, Any]) -> None:
            data["channels"]["moved"] = {"kind": "queue", "capacity": 4, "memory": "shm", "size": "24B"}

        said = "the queue 'moved' has each block once, and one of a job that died would be lost"
        self.refused(mortal(tmp_path / "m"), change, said)

    def test_an_output_that_is_to_be_there_at_the_deadline(self, tmp_path: Path) -> None:
        def change(data: dict[str, Any]) -> None:
            data["channels"]["moved"] = {"kind": "sporadic", "communication": "let"}

        said = "'moved' is to be published at the deadline of a job that died"
        self.refused(mortal(tmp_path / "m"), change, said)

    def test_a_detection_that_is_too_short(self, tmp_path: Path) -> None:
        def change(data: dict[str, Any]) -> None:
            data["mode_changes"]["detection"] = "19ms"

        said = "a job of 'mover' may keep 'master-0' for 10ms without a sign of life"
        self.refused(mortal(tmp_path / "m"), change, said)

    def test_a_core_that_nobody_goes_on_for(self, file: Path) -> None:
        done = consort("run", file, "--kill-core", "worker-0@1s")
        assert done.returncode == 2 and "'worker-0' is not a core that may die here" in done.stderr
        done = consort("run", file, "--kill-core", "master-0")
        assert done.returncode == 2 and "names no core and time" in done.stderr
        done = consort("run", file, "--for", "virtual", "--stop-core", "master-0@1s")
        assert done.returncode == 2 and "in virtual time no core dies" in done.stderr


@pytest.mark.representative
def test_analysis_bounds_the_gap_and_counts_the_checkpoints(file: Path) -> None:
    system = load_system(file)
    found = analyze_modes(system)
    gap = found.gap("mover", "master-0", "first")
    assert gap is not None and gap.response is not None
    assert gap.response == sum(step.length * step.count for step in gap.explanation)
    parts = {step.label: step.length for step in gap.explanation}
    assert parts["detection"] == DETECTION_MS * 10**9
    assert parts["change first -> second"] == found.change("first", "second").response
    first = next(bound for bound in found.modes["second"] if bound.task == "mover")
    assert parts["first job of mover in second"] == first.response
    assert found.gap("pilot", "master-0", "first") is None
    # `mover` writes no checkpoint where nobody would go on with it.
    plans = found.plans
    assert plans["first"].tasks["mover"].checkpoint == "shm"
    assert plans["first"].tasks["pilot"].checkpoint is None
    saved = checkpoint(Figures(plans["first"]), plans["first"].tasks["mover"]).ps
    assert saved > 0
    data = json.loads(file.read_text())
    for key in ("fail_over", "detection"):
        del data["mode_changes"][key]
    data["mode_changes"]["requests"] = [{"at": "1s", "to": "second"}]
    immortal = file.with_name("immortal.yaml")
    immortal.write_text(json.dumps(data))
    plain = next(b for b in analyze_modes(load_system(immortal)).modes["first"] if b.task == "mover")
    mover = next(bound for bound in found.modes["first"] if bound.task == "mover")
    assert mover.response is not None and plain.response is not None
    assert mover.response >= plain.response + saved
    # In virtual time the checkpoints take their time, and nobody dies.
    run = ran_modes(file, "virtual", target="virtual")
    assert run.reasons == [] and run.changes == []
