# SPDX-License-Identifier: Apache-2.0
"""Runs a three-phase system on the emulated Versal, whatever its platform: kernel, images, counted time.

Each core of the description is one of the two A72, the I/O core is the R5F. Instructions of an A72 say
nothing about the processor that the description means, so each job is held on its core until its WCET is
over: what is tried is the kernel, with the executions that the bounds are for. The steps are the real ones,
from images that move, and their outputs are held against the same steps in a row on this machine.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.analysis.result import Bound
from consort.analysis.scratchpad import (
    METHODS,
    NotAnalysable,
    ThreePhaseCore,
    core_of,
    moved,
    three_phase_cores,
)
from consort.analysis.three_phase import bound_core
from consort.board.generated import board_tables
from consort.board.image import COMMON, build
from consort.board.qemu import find, version
from consort.board.scratchpad import (
    APPLICATION_CORES,
    KINDS,
    KernelResult,
    KernelRun,
    KernelTask,
    TaskImage,
    image_of_text,
    make_image,
    run_kernel,
)
from consort.errors import BadInput
from consort.model import System
from consort.progress import Progress
from consort.record import RawRun, Run, RunWriter
from consort.record.columns import STATUS
from consort.record.raw_writer import write_manifest, write_table
from consort.record.three_phase import DURATIONS, JOB, STAMPS
from consort.runner.build import identifier
from consort.runner.three_phase import task_rows
from consort.simulate.build import prepare as prepare_simulation
from consort.simulate.engine import simulate
from consort.simulate.rows import DOING
from consort.source import need_source_tree

# The recording's clock begins before the first slot: a stamp of 0 means that the thing did not happen.
BEFORE = 1000
ORDINARY = ("release", "load_begin", "load_end", "unload_begin", "unload_end")
RESPONSES = "Longest executions and responses on the board, counted; bounds"
# The last outputs of a task, so many, are kept and checked; each rests on all before by the task's state.
KEPT = 16

Events = list[tuple[str, int, int, int]]  # what, core, task, job


@dataclass(frozen=True)
class Planned:
    """A description as the board's kernel runs it."""

    system: System
    cores: list[ThreePhaseCore]
    # Nanoseconds; jobs are released until then.
    duration: int
    run: KernelRun
    # What each task's last outputs must be, in the order of the jobs, and how many jobs there must be.
    expected: dict[str, list[bytes]]
    jobs: dict[str, int]


def plan_board(system: System, iterations: int | None, progress: Progress) -> Planned:
    """Builds images and tables; `BadInput` names what the board's kernel cannot run."""
    cores = _cores(system)
    first = next(iter(system.tasks.values()))
    duration = (iterations or system.run.iterations) * first.interval.nanoseconds
    progress("building", None)
    program = _host_program(system)
    tasks, expected, released = [], {}, {}
    for number, core in enumerate(cores):
        for planned in core.tasks:
            name = planned.name
            task = system.tasks[name]
            progress(f"building {name}", None)
            image = _image(system, name, program)
            rows = _inputs(system, name, image.inputs)
            jobs = -(-(duration - task.offset.nanoseconds) // task.interval.nanoseconds)
            kept = max(1, min(jobs, KEPT))
            load, unload = _operations(system, name, core)
            released[name] = jobs
            expected[name] = _golden(program, name, rows, image.outputs, jobs)[-kept:]
            tasks.append(
                KernelTask(
                    name=name,
                    core=number,
                    period=task.interval.nanoseconds,
                    deadline=task.deadline.nanoseconds,
                    offset=task.offset.nanoseconds,
                    budget=-(-planned.execution // 1000),
                    image=image,
                    inputs=rows,
                    outputs=kept,
                    lasting=[planned.execution // 1000],
                    load=load,
                    unload=unload,
                )
            )
    slots = [(number, -(-core.share.slot // 1000)) for number, core in enumerate(cores)]
    images = {task.name: task.image for task in tasks}
    run = KernelRun(
        tasks,
        slots,
        duration,
        arbitration=_arbitration(cores),
        tables=lambda images_at: board_tables(system, images, images_at),
    )
    return Planned(system, cores, duration, run, expected, released)


def _arbitration(cores: list[ThreePhaseCore]) -> str:
    return next(kind for kind, method in METHODS.items() if method == cores[0].method)


def _operations(system: System, name: str, core: ThreePhaseCore) -> tuple[int, int]:
    """How long the DMA is at a task, as the simulator has it; under TDMA a slot is a slot."""
    if core.method != "round-robin":
        return 0, 0
    load, unload = moved(system, name) or (core.share.slot, core.share.slot)
    return -(-load // 1000), -(-unload // 1000)


def _cores(system: System) -> list[ThreePhaseCore]:
    def refuse(message: str, field: str) -> BadInput:
        return BadInput(message, file=system.file, field=field)

    for name, task in system.tasks.items():
        if task.execution != "three-phase":
            raise refuse(
                "the board's scratchpad kernel runs three-phase tasks only", f"tasks.{name}.execution"
            )
        if task.step is None or "::" not in task.step.function:
            text = "a static function of a class is needed as step, such as step.hpp::filter::Task::step"
            raise refuse(text, f"tasks.{name}.step")
        if task.sporadic:
            raise refuse("only periodic tasks are run; write 'period'", f"tasks.{name}.min_interarrival")
    names = three_phase_cores(system)
    if len(names) > APPLICATION_CORES:
        text = f"{len(names)} cores with three-phase tasks; the board has {APPLICATION_CORES}"
        raise refuse(text, "tasks")
    try:
        cores = [core_of(system, name) for name in names]
    except NotAnalysable as error:
        raise BadInput(str(error), file=system.file) from None
    if len({core.method for core in cores}) > 1:
        raise refuse("one DMA has one arbitration: tdma or round-robin", f"scheduling.{names[0]}.arbitration")
    return cores


def _owner(system: System, name: str) -> tuple[str, str]:
    step = system.tasks[name].step_to_run
    return step.function, step.function.rpartition("::")[0]


def _image(system: System, name: str, program: Path) -> TaskImage:
    step = system.tasks[name].step_to_run
    code = image_of_text(
        '#include "consort/spm/step.hpp"\n'
        f'#include "{system.path(step.header).resolve()}"\n'
        'extern "C" __attribute__((section(".text.consort_entry")))\n'
        "void consort_entry(const consort::spm::Partition& parts) {\n"
        f"    consort::spm::ThreePhase<&::{step.function}>::run(parts);\n}}\n"
    )
    _, state, inputs, outputs = map(int, _ask(program, name, "sizes").split())
    content = _ask(program, name, "state")
    assert len(content) == state
    return make_image(code, _ask(program, name, "constants"), content, inputs, outputs)


def _host_program(system: System) -> Path:
    """What this machine knows of the tasks: sizes, constants, first states, and their outputs in a row."""
    root = need_source_tree("building for a board")
    headers = dict.fromkeys(system.path(t.step_to_run.header).resolve() for t in system.tasks.values())
    calls = []
    for name in system.tasks:
        step, owner = _owner(system, name)
        calls.append(
            f'    if (task == "{name}") return tell<consort::spm::ThreePhase<&::{step}>, ::{owner}>(what);\n'
        )
    text = (
        "#include <cstdio>\n#include <cstring>\n#include <string_view>\n"
        '#include "consort/spm/step.hpp"\n'
        + "".join(f'#include "{h}"\n' for h in headers)
        + _HOST
        + "int main(int argc, char** argv) {\n"
        + "    if (argc != 3) return 2;\n    const std::string_view task = argv[1], what = argv[2];\n"
        + "".join(calls)
        + "    return 2;\n}\n"
    )
    with tempfile.TemporaryDirectory(prefix="consort-tasks-") as folder:
        source = Path(folder) / "tasks.cpp"
        source.write_text(text, encoding="utf-8")
        return build(
            "g++", COMMON, [root / "include", root], [source], [], f"{identifier(system.file.stem)}-tasks"
        )


_HOST = """
template <class T>
void put(const T& value) {
    if constexpr (!std::is_empty_v<T>) std::fwrite(&value, sizeof value, 1, stdout);
}
template <class T, class Owner>
int tell(std::string_view what) {
    typename T::Constants constants{};
    if constexpr (requires { Owner::constants(); }) constants = Owner::constants();
    typename T::State state{};
    if (what == "sizes") {
        const auto size = T::footprint;
        std::printf("%u %u %u %u", size.code, size.data, size.inputs, size.outputs);
    } else if (what == "constants") {
        put(constants);
    } else if (what == "state") {
        put(state);
    } else {
        typename T::In in{};
        typename T::Out out;
        while (std::fread(&in, sizeof in, 1, stdin) == 1) {
            std::memset(static_cast<void*>(&out), 0, sizeof out);
            Owner::step(constants, in, state, out);
            put(out);
        }
    }
    return 0;
}
"""


def _ask(program: Path, task: str, what: str, given: bytes = b"") -> bytes:
    return subprocess.run([str(program), task, what], input=given, capture_output=True, check=True).stdout


def _inputs(system: System, name: str, size: int) -> list[bytes]:
    return [row.tobytes()[:size] for row in task_rows(system, name, size)[: 4 * KEPT]]


def _golden(program: Path, name: str, rows: list[bytes], size: int, jobs: int) -> list[bytes]:
    given = b"".join(rows[n % len(rows)] or b"\0" for n in range(jobs))
    found = _ask(program, name, "run", given)
    return [found[n * size : (n + 1) * size] for n in range(jobs)]


# --- the order of what happened


def board_events(result: KernelResult) -> tuple[Events, dict[int, Events]]:
    """What the I/O core did in its order, and what each core saw: its transfers and its executions."""
    kernel: list[tuple[int, int, str, int, int, int]] = []
    for n, e in enumerate(result.events):
        if KINDS[e["kind"]] in ORDINARY[1:]:
            kernel.append((int(e["at"]), n, KINDS[e["kind"]], int(e["core"]), int(e["task"]), int(e["job"])))
    jobs = result.jobs
    order = len(result.events)
    cores = {}
    for core in sorted({k[3] for k in kernel}):
        mine = [k for k in kernel if k[3] == core]
        for j in jobs[jobs["core"] == core]:
            who = (core, int(j["task"]), int(j["job"]))
            mine += [(int(j["start"]), order, "start", *who), (int(j["finish"]), -1, "finish", *who)]
        cores[core] = [k[2:] for k in sorted(mine)]
    return [k[2:] for k in kernel], cores


def simulated_events(planned: Planned) -> tuple[Events, dict[int, Events]]:
    """The same of the simulator, with every execution as long as its WCET."""
    prepared = prepare_simulation(planned.system)
    found = simulate(prepared, planned.duration * 1000, choice="worst", trace=True)
    assert found.slices is not None
    place = {t.name: (c, n) for c, core in enumerate(planned.cores) for n, t in enumerate(core.tasks)}
    # At one instant: what ends comes before what begins, and a core begins once the DMA has been given on.
    rank = {"finish": 0, "load_end": 1, "unload_end": 1, "load_begin": 2, "unload_begin": 2, "start": 3}
    rows: list[tuple[int, int, str, int, int, int]] = []
    executed: dict[tuple[int, int, int], tuple[int, int]] = {}
    for s in found.slices:
        core, task = place[prepared.tasks[s["task"]]]
        who = (core, task, int(s["seq"]))
        doing, begin, end = DOING[s["doing"]], int(s["begin"]), int(s["end"])
        if doing in ("load", "unload"):
            rows.append((begin, rank[f"{doing}_begin"], f"{doing}_begin", *who))
            rows.append((end, rank[f"{doing}_end"], f"{doing}_end", *who))
        else:
            # Context switches belong to the execution, as in its bound.
            before = executed.get(who, (begin, end))
            executed[who] = (min(before[0], begin), max(before[1], end))
    kernel = sorted(rows)
    for who, (begin, end) in executed.items():
        rows += [(begin, rank["start"], "start", *who), (end, rank["finish"], "finish", *who)]
    cores = {c: [r[2:] for r in sorted(rows) if r[3] == c] for c in sorted({r[3] for r in rows})}
    return [k[2:] for k in kernel], cores


def first_difference(planned: Planned, result: KernelResult) -> str | None:
    """Where the board's order of events leaves the simulator's; None: nowhere."""
    theirs, ours = board_events(result), simulated_events(planned)
    sequences = [("the I/O core", theirs[0], ours[0])]
    sequences += [
        (planned.cores[c].core, theirs[1].get(c, []), ours[1].get(c, []))
        for c in sorted(ours[1].keys() | theirs[1].keys())
    ]
    for where, board, simulated in sequences:
        for n in range(max(len(board), len(simulated))):
            pair = [
                _said(planned, events[n]) if n < len(events) else "nothing" for events in (board, simulated)
            ]
            if pair[0] != pair[1]:
                return f"{where}: event {n} is '{pair[0]}' on the board and '{pair[1]}' in the simulation"
    return None


def _said(planned: Planned, event: tuple[str, int, int, int]) -> str:
    what, core, task, job = event
    name = planned.cores[core].tasks[task].name
    return f"{what.replace('_', ' ')} of {name}, job {job}"


# --- the run


def run_three_phase_on_board(
    system: System,
    *,
    iterations: int | None,
    name: str | None,
    root: Path | None,
    command: list[str] | None,
    progress: Progress,
) -> Run:
    """Runs and records the system; the run's verdict says whether bounds, outputs and order held."""
    planned = plan_board(system, iterations, progress)
    label = name or system.file.resolve().parent.name or system.file.stem
    progress(f"{planned.duration / 1e9:g} s on the board", None)
    with RunWriter(label, "application", root, command=command, source=system.file.parent) as writer:
        writer.add_description(system.file)
        result = run_kernel(planned.run, seconds=120 + planned.duration / 1e6)
        wrong = {task: _wrong(planned, result, task) for task in planned.expected}
        with tempfile.TemporaryDirectory(prefix="consort-board-") as folder:
            for core, plan in enumerate(planned.cores):
                for task, one in enumerate(plan.tasks):
                    rows = _rows(system, one.name, result, core, task, wrong[one.name])
                    raw = _raw(system, one.name, rows, Path(folder))
                    writer.add_configuration(one.name, one.name, raw)
        _judge(writer, planned, result)
        return writer.finish()


def _wrong(planned: Planned, result: KernelResult, task: str) -> list[bool]:
    """Of the last outputs, in the order of the jobs; the board keeps them in a ring."""
    found, expected, jobs = result.outputs[task], planned.expected[task], planned.jobs[task]
    first = jobs - len(expected)
    return [found[(first + n) % len(found)] != right for n, right in enumerate(expected)] if found else []


def _rows(
    system: System, name: str, result: KernelResult, core: int, task: int, wrong: list[bool]
) -> NDArray[Any]:
    jobs = result.jobs[(result.jobs["core"] == core) & (result.jobs["task"] == task)]
    rows = np.zeros(jobs.size, dtype=JOB)
    for field, source in (
        ("release", "release"), ("start", "start"), ("finish", "end"), ("load", "load"),
        ("ready", "ready"), ("executed", "finish"), ("unload", "unload"),
    ):  # fmt: skip
        rows[field] = jobs[source] + BEFORE
    rows["compute"] = jobs["finish"] - jobs["start"]
    rows["seq"] = jobs["job"]
    late = jobs["end"] - jobs["release"] > system.tasks[name].deadline.nanoseconds
    rows["status"][late] |= STATUS["deadline_misses"]
    # Fewer jobs than there must be make the run fail by themselves.
    last = rows["status"][-len(wrong) :] if wrong else rows["status"][:0]
    last[wrong[: last.size]] |= STATUS["output_errors"]
    return rows


def _raw(system: System, name: str, rows: NDArray[Any], folder: Path) -> RawRun:
    folder = folder / name
    folder.mkdir()
    status = rows["status"]
    return write_manifest(
        folder,
        "board",
        [write_table(folder, "jobs", rows, stamps=STAMPS, durations=DURATIONS)],
        clock={
            "name": "r5f counter",
            "ticks_per_second": 1e9,
            "provenance": "counted",
            "source": "one nanosecond for each instruction executed",
        },
        config={
            "deadline_ns": system.tasks[name].deadline.nanoseconds,
            "core": system.tasks[name].on,
            "execution": "three-phase",
            "board": "versal",
            "emulator": version(find("qemu-system-aarch64")),
        },
        counters={
            key: int(np.count_nonzero(status & STATUS[key])) for key in ("deadline_misses", "output_errors")
        },
    )


def _judge(writer: RunWriter, planned: Planned, result: KernelResult) -> None:
    source = "counted"
    rows = []
    for core, plan, bound in _bounds(planned):
        task = [t.name for t in plan.tasks].index(bound.task)
        jobs = result.jobs[(result.jobs["core"] == core) & (result.jobs["task"] == task)]
        response = int((jobs["end"] - jobs["release"]).max(initial=0))
        execution = int((jobs["finish"] - jobs["start"]).max(initial=0))
        limit = bound.response
        rows.append(
            [bound.task, plan.core, int(jobs.size), execution / 1e3, response / 1e3,
             *(None if ps is None else ps / 1e6 for ps in (limit, bound.deadline))]
        )  # fmt: skip
        if jobs.size != planned.jobs[bound.task]:
            writer.fail(f"{bound.task}: {jobs.size} jobs of {planned.jobs[bound.task]} ended")
        if limit is None:
            writer.fail(f"{bound.task}: it has no bound; `consort analyze` says why")
        elif response * 1000 > limit:
            writer.fail(
                f"{bound.task}: a response of {response / 1e3} us is above its bound of {limit / 1e6} us"
            )
    writer.add_section(
        RESPONSES,
        "table",
        columns=[
            {"name": "task"},
            {"name": "core"},
            {"name": "jobs", "provenance": source},
            {"name": "execution", "unit": "us", "provenance": source},
            {"name": "response", "unit": "us", "provenance": source},
            {"name": "bound", "unit": "us", "provenance": "bound"},
            {"name": "deadline", "unit": "us"},
        ],
        rows=rows,
    )
    happened = [KINDS[k] for k in result.events["kind"] if KINDS[k] not in ORDINARY]
    for kind in dict.fromkeys(happened):
        writer.fail(f"{kind.replace('_', ' ')}: {happened.count(kind)} times")
    order = first_difference(planned, result)
    if order is not None:
        writer.fail(order)
    kernel = board_events(result)[0]
    writer.add_section(
        "Order of events",
        "table",
        columns=[{"name": "what"}, {"name": "count", "provenance": source}],
        rows=[
            ["transfers begun and ended", len(kernel)],
            ["first difference", order or "none"],
            ["slots without an operation", result.wasted],
            ["longest step of the I/O core [ns]", result.longest_step],
        ],
    )


def _bounds(planned: Planned) -> Iterator[tuple[int, ThreePhaseCore, Bound]]:
    for number, plan in enumerate(planned.cores):
        for bound in bound_core(plan.tasks, plan.share, method=plan.method, core=plan.core):
            yield number, plan, bound
