# SPDX-License-Identifier: Apache-2.0
"""The executive in virtual time against the simulator: descriptions from Python, many random systems in C++,
and executives with a rule changed, each of which the comparison must find."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small
from consort import _engine
from consort.simulate.build import prepare
from consort.simulate.engine import JOBS, SLICES
from effort import PATIENCE
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[3]


@st.composite
def described(draw: st.DrawFn) -> Any:
    """Systems of up to three kinds of core."""
    masters = [f"m-{i}" for i in range(draw(st.integers(1, 2)))]
    workers = [f"w-{i}" for i in range(draw(st.integers(1, 2)))]
    pads = [f"spm-{i}" for i in range(draw(st.integers(1, 3)))]
    tasks: dict[str, dict[str, Any]] = {}
    for i in range(draw(st.integers(1, 7))):
        period = draw(st.integers(4, 60))
        wcet = draw(st.integers(1, max(1, period // 3)))
        task: dict[str, Any] = {
            draw(st.sampled_from(["period", "min_interarrival"])): period,
            "deadline": draw(st.integers(1, 2 * period)),
            "jitter": draw(st.sampled_from([0, 0, 3, 20])),
            "bcet": draw(st.integers(1, wcet)),
            "wcet": wcet,
            "priority": i + 1,
        }
        kind = draw(st.sampled_from(["local", "local", "offloaded", "three-phase"]))
        if kind != "three-phase" and draw(st.booleans()):
            apart = draw(st.lists(st.integers(1, 2 * period), min_size=1, max_size=4))
            # The first of them must act: it is longer than the interval, or jitter shortens that.
            sums = [sum(apart[: n + 1]) for n in range(len(apart))]
            if "period" in task:
                sums = [min(n * period, least) for n, least in enumerate(sums, 1)]
            if task["jitter"] or ("period" not in task and sums[0] > period):
                task["min_distances"] = [f"{least}us" for least in sums]
        if "period" in task:
            task["offset"] = draw(st.integers(0, period - 1))
        if kind == "local":
            task["on"] = draw(st.sampled_from(masters))
            if draw(st.booleans()):
                task["self_suspension"] = draw(st.integers(1, 8))
        elif kind == "offloaded":
            task |= {
                "on": draw(st.sampled_from(workers)),
                "master": draw(st.sampled_from(masters)),
                "execution": "offloaded",
                "on_miss": draw(st.sampled_from(["hold-last-output", "local-fallback", "stop"])),
                "wcet": {"w": {"offloaded": f"{wcet}us"}, "m": {"local": f"{wcet + 1}us"}},
                "bcet": {"w": {"offloaded": f"{task['bcet']}us"}},
                "dispatch": {
                    "send": f"{draw(st.integers(0, 2))}us",
                    "receive": f"{draw(st.integers(0, 2))}us",
                },
            }
        else:
            task |= {"on": draw(st.sampled_from(pads)), "execution": "three-phase"}
            task["footprint"] = {"code": f"{draw(st.integers(1, 4000))}B", "data": "200B"}
        tasks[f"t{i}"] = task
    scheduling: dict[str, Any] = {}
    for master in masters:
        policy = draw(st.sampled_from(["fixed-priority", "fixed-priority-non-preemptive", "edf"]))
        scheduling[master] = {"policy": policy, "context_switch": f"{draw(st.integers(0, 2))}us"}
        if policy == "edf":
            for task in tasks.values():
                if master in (task["on"], task.get("master")):
                    task.pop("priority", None)
    # All tasks of a core have a priority, or none has: also those that a worker computes for several masters.
    for core in 3 * sorted({task["on"] for task in tasks.values()} | set(masters)):
        mine = [task for task in tasks.values() if core in (task["on"], task.get("master"))]
        if any("priority" not in task for task in mine):
            for task in mine:
                task.pop("priority", None)
    arbitration = draw(st.sampled_from(["tdma", "round-robin"]))
    scheduling["spm"] = {"policy": "three-phase", "slot": "auto", "arbitration": arbitration}
    used = {task["on"].split("-")[0] for task in tasks.values()}
    if "spm" not in used:
        del scheduling["spm"]
    released = {task.get("master", task["on"]) for task in tasks.values()}
    scheduling = {k: v for k, v in scheduling.items() if k == "spm" or k in released}
    return small.system(tasks, scheduling=scheduling)


def rows(result: dict[str, Any]) -> tuple[Any, Any]:
    jobs, slices = result["jobs"].view(JOBS), result["slices"].view(SLICES)
    # A stretch may be recorded in two pieces.
    merged: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for s in np.sort(slices, order=["begin"]):
        pieces = merged.setdefault((int(s["core"]), int(s["task"]), int(s["seq"]), int(s["doing"])), [])
        begin, end = int(s["begin"]), int(s["end"])
        if pieces and pieces[-1][1] == begin:
            begin = pieces.pop()[0]
        pieces.append((begin, end))
    return np.sort(jobs, order=["task", "seq"]).tolist(), merged


class TestEquality:
    @pytest.mark.representative
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(system=described(), waiting=st.sampled_from(["sleep", "spin"]), seed=st.integers(0, 2**63))
    def test_of_descriptions(self, system, waiting, seed):
        prepared = prepare(system, waiting=waiting)
        arguments = (prepared.engine, 400_000_000, seed, "edges", "edges", True)
        simulated = _engine.sim_run(*arguments)
        try:
            executed = _engine.sim_run_in_virtual_time(*arguments)
        except OverflowError:
            # Its room for waiting jobs of an overloaded three-phase core is bounded, and it says so.
            reject()
        assert rows(executed) == rows(simulated)
        assert executed["tasks"] == simulated["tasks"]
        assert executed["stopped"] == simulated["stopped"]

    def test_what_virtual_time_has_not_is_refused(self):
        core = _engine.SimCore("three-phase")
        core.slot, core.partitions = 4, 3
        dma = _engine.SimDma()
        dma.round = 4
        system = _engine.SimSystem([core], [dma], [_engine.SimTask()])
        with pytest.raises(ValueError, match="core 0: the kernel of three-phase cores has two partitions"):
            _engine.sim_run_in_virtual_time(system, 10)


# --- random systems in C++

COMPARED = ("tests/virtual/equality.cpp", "tests/virtual/compare.cpp", "engine/sim/run.cpp")
EXECUTED = (
    "engine/sim/in_virtual_time.cpp",
    "engine/sim/modes.cpp",
    "ports/virtual/src/machine.cpp",
    "ports/virtual/src/fiber.cpp",
)


def compile_all(sources: tuple[str, ...], tree: Path, into: Path, optimise: str = "-O1") -> list[Path]:
    """Object files of the sources; headers of the target library and of the port from `tree`."""
    compiler = os.environ.get("CXX", "g++")
    launcher = [found] if (found := shutil.which("ccache")) else []
    objects = []
    for source in sources:
        objects.append(into / (Path(source).stem + ".o"))
        at = tree / source if (tree / source).exists() else ROOT / source
        includes = [f"-I{tree / 'include'}", f"-I{tree / 'ports/virtual/include'}", f"-I{ROOT / 'engine'}"]
        options = ["-std=c++20", optimise, *includes, f"-I{ROOT / 'tests/virtual'}"]
        command = [*launcher, compiler, *options, "-c", str(at), "-o", str(objects[-1])]
        subprocess.run(command, check=True)
    return objects


def linked(objects: list[Path], into: Path) -> Path:
    subprocess.run(
        [os.environ.get("CXX", "g++"), *map(str, objects), "-o", str(into / "equality")], check=True
    )
    return into / "equality"


@pytest.mark.slow
def test_of_a_hundred_thousand_systems(tmp_path):
    program = linked(compile_all(COMPARED + EXECUTED, ROOT, tmp_path, "-O2"), tmp_path)
    # Others than `make test` has.
    ended = subprocess.run(
        [program, "100000", "1000000"], capture_output=True, text=True, timeout=10 * PATIENCE, check=False
    )
    assert ended.returncode == 0, ended.stdout
    assert re.match(r"100000 systems, 0 differences", ended.stdout)


# A rule of the executive, of its dispatcher, of its kernel or of the clock, and another one in its place.
MUTANTS = {
    "an equally urgent job preempts": (
        "include/consort/app/executive.hpp",
        "ready_->key < running_;",
        "ready_->key <= running_;",
    ),
    "of equally urgent jobs the last comes first": (
        "include/consort/app/executive.hpp",
        "before->next->key <= task.key",
        "before->next->key < task.key",
    ),
    "non-preemptive cores preempt": (
        "include/consort/app/executive.hpp",
        "policy_ == plan::Policy::fixed_priority ? plan.threshold : 0;",
        "plan.threshold;",
    ),
    "a job given up stays on the stack": (
        "ports/virtual/include/consort/virtual/timed_executive.hpp",
        "task.frame->signal = Frame::Signal::withdrawn;",
        "",
    ),
    "what was preempted goes on before others are seen": (
        "ports/virtual/include/consort/virtual/timed_executive.hpp",
        "port().decide();",
        "",
    ),
    "a completion is followed at once": (
        "ports/virtual/src/core.hpp",
        "if (clock_->stage == Stage::completing) {",
        "if (false) {",
    ),
    "preemption a tick late": (
        "ports/virtual/src/core.hpp",
        "clock_->stage == Stage::deciding && clock_->now >= begins_ &&",
        "clock_->stage == Stage::deciding && clock_->now > begins_ &&",
    ),
    "no switch back to a preempted job": (
        "ports/virtual/src/core.hpp",
        "begins_ = app::after(clock_->now, switch_);\n                if",
        "begins_ = clock_->now;\n                if",
    ),
    "releases before completions": (
        "ports/virtual/src/machine.cpp",
        "        clock_.stage = Stage::completing;\n        for (ReleasingCore* core : releasing_) {",
        "        clock_.stage = Stage::handling;\n        for (ReleasingCore* core : releasing_) {\n"
        "            if (core->armed() <= now) {\n                core->release_jobs();\n"
        "            }\n        }\n"
        "        clock_.stage = Stage::completing;\n        for (ReleasingCore* core : releasing_) {",
    ),
    "masters give up before answers come": (
        "ports/virtual/src/machine.cpp",
        "            while (!messages_.empty() && messages_.front().at == now) {",
        "            for (ReleasingCore* core : releasing_) {\n"
        "                core->end_waits();\n            }\n"
        "            while (!messages_.empty() && messages_.front().at == now) {",
    ),
    "a stop a tick late": (
        "ports/virtual/src/core.hpp",
        "clock_->stopped = clock_->until = clock_->now;",
        "clock_->stopped = clock_->now, clock_->until = clock_->now + 1;",
    ),
    "earliest deadline first goes by priority": (
        "include/consort/app/executive.hpp",
        "policy_ != plan::Policy::edf",
        "policy_ == plan::Policy::edf",
    ),
    "a fallback begins earlier": (
        "ports/virtual/include/consort/virtual/timed_executive.hpp",
        "app::after(task.job.release, plan.give_up)",
        "app::after(task.job.release, plan.give_up - plan.give_up / 16)",
    ),
    "a late answer is not noted": (
        "ports/virtual/include/consort/virtual/timed_executive.hpp",
        "task.late_answer = true;",
        "task.late_answer = false;",
    ),
    "releases are skipped a tick early": (
        "include/consort/app/executive.hpp",
        "if (now > task.last_begin) [[unlikely]] {",
        "if (now >= task.last_begin) [[unlikely]] {",
    ),
    "waiting costs nothing where cores spin": (
        "ports/virtual/include/consort/virtual/timed_executive.hpp",
        "if (part == Part::last || !keeps(task)) {",
        "if (true) {",
    ),
    "the worker takes the last of equals": (
        "include/consort/app/serve.hpp",
        "queue_[i].rank < queue_[found].rank",
        "queue_[i].rank <= queue_[found].rank",
    ),
    "a newer request goes to the end": (
        "include/consort/app/serve.hpp",
        "                queue_[i] = request;\n                return;",
        "                for (; i + 1 < count_; ++i) {\n                    queue_[i] = queue_[i + 1];\n"
        "                }\n                queue_[i] = request;\n                return;",
    ),
    "what is written at an instant is read later": (
        "ports/virtual/src/channels.hpp",
        "published[newest - 1] > as_of",
        "published[newest - 1] >= as_of",
    ),
    "a LET output is there when the job ends": (
        "ports/virtual/src/channels.hpp",
        "let ? std::max(deadline, now) : now",
        "now",
    ),
    "a LET job reads when it begins": (
        "ports/virtual/src/channels.hpp",
        "system_->channels[c].let ? b.job.release : b.now",
        "b.now",
    ),
    "a LET block releases a job when its writer ends": (
        "ports/virtual/src/machine.cpp",
        "announce(let ? std::max(deadline, clock_.now) : clock_.now)",
        "announce(clock_.now)",
    ),
    "blocks release jobs at the next event only": (
        "ports/virtual/src/machine.cpp",
        "more = !arrived_.empty() || (!messages",
        "more = (!messages",
    ),
    "a block is forgotten while its task's job runs": (
        "ports/virtual/src/machine.cpp",
        "        if (system_->tasks[task].arrival != app::plan::none) {\n"
        "            arrived_.push_back(task);\n        }\n",
        "",
    ),
    "a block may not come late by its jitter": (
        "include/consort/app/release.hpp",
        "arrival - jitter > earliest ? arrival - jitter : earliest",
        "arrival > earliest ? arrival : earliest",
    ),
    "unload before load": (
        "include/consort/spm/io_core.hpp",
        "(core.loaded < partitions && begin_load(c, at, now)) || begin_unload(c, at, now)",
        "begin_unload(c, at, now) || (core.loaded < partitions && begin_load(c, at, now))",
    ),
    "the same core twice in turn": (
        "include/consort/spm/io_core.hpp",
        "turn_ = (c + 1) % count_;",
        "turn_ = c;",
    ),
    "a finish at a slot's start comes too late": (
        "include/consort/spm/io_core.hpp",
        "if (status != Status::ok || finish > at) {",
        "if (status != Status::ok || finish >= at) {",
    ),
}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    return compile_all(COMPARED, ROOT, tmp_path_factory.mktemp("compared"))


class TestMutants:
    @pytest.mark.parametrize("name", MUTANTS)
    def test_its_rule_stands_in_one_place(self, name):
        where, rule, _ = MUTANTS[name]
        assert (ROOT / where).read_text().count(rule) == 1

    def test_the_unchanged_executive_differs_in_nothing(self, compared, tmp_path):
        program = linked([*compared, *compile_all(EXECUTED, ROOT, tmp_path)], tmp_path)
        ended = subprocess.run([program, "2000"], capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout

    @pytest.mark.slow
    @pytest.mark.parametrize("name", MUTANTS)
    def test_every_changed_rule_is_found(self, compared, tmp_path, name):
        where, rule, other = MUTANTS[name]
        tree = tmp_path / "tree"
        for part in ("include", "ports/virtual"):
            shutil.copytree(ROOT / part, tree / part)
        text = (tree / where).read_text()
        assert text.count(rule) == 1, f"{where} has {text.count(rule)} times: {rule}"
        (tree / where).write_text(text.replace(rule, other))
        program = linked([*compared, *compile_all(EXECUTED, tree, tmp_path)], tmp_path)
        # A changed rule may also end in a trap or in no end.
        try:
            ended = subprocess.run([program, "20000"], capture_output=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return
        assert ended.returncode != 0
