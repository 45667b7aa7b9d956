# SPDX-License-Identifier: Apache-2.0
"""Runs a three-phase system on an emulated board, whatever its platform: kernel, images, counted time.

Each core of the description is one of the board's application cores. Their instructions say
nothing about the processor that the description means, so each job is held on its core until its WCET is
over: what is tried is the kernel, with the executions that the bounds are for. The steps are the real ones,
from images that move, and their outputs are held against the same steps in a row on this machine.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.analysis.result import Bound
from consort.analysis.scratchpad import (
    METHODS,
    ThreePhaseCore,
    moved,
    three_phase_cores,
)
from consort.analysis.three_phase import bound_core
from consort.board.description import BoardSpec
from consort.board.generated import board_tables
from consort.board.image import COMMON, build
from consort.board.messages import Messages, failures, plan_messages, section
from consort.board.planned import planned_cores, task_rows
from consort.board.qemu import find, version
from consort.board.scratchpad import (
    APPLICATION_CORES,
    KINDS,
    MOST_RECORDED,
    KernelResult,
    KernelRun,
    KernelTask,
    TaskImage,
    image_of_text,
    kernel_board,
    make_image,
    roles,
    run_kernel,
)
from consort.board.session import Board
from consort.errors import BadInput
from consort.model import StepReference, System
from consort.progress import Progress
from consort.record import RawRun, Run, RunWriter
from consort.record.raw_writer import write_manifest, write_table
from consort.record.status import SLICES, STATUS
from consort.record.three_phase import DURATIONS, JOB, STAMPS
from consort.report import PAGES
from consort.run.source import identifier
from consort.simulate.build import prepare as prepare_simulation
from consort.simulate.engine import simulate
from consort.source import need_source_tree

# The recording's clock begins before the first slot: a stamp of 0 means that the thing did not happen.
BEFORE = 1000
ORDINARY = ("release", "load_begin", "load_end", "unload_begin", "unload_end")
RESPONSES = "Longest executions and responses on the board, counted; bounds"
MESSAGES = "Messages through the board's Ethernet controller, counted"
SLOTS = "Slots, counted"
# In runs of so long [ns] the emulated clock may be slower, as far as a slot keeps so many instructions: more
# time passes in an hour of the host's.
LONG, INSTRUCTIONS = 10 * 10**9, 100_000
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
    messages: Messages | None = None

    @property
    def board(self) -> BoardSpec:
        assert self.run.board is not None
        return self.run.board


def plan_board(
    system: System,
    iterations: int | None,
    progress: Progress,
    *,
    duration: int | None = None,
    board: str | None = None,
) -> Planned:
    """Builds images and tables; `BadInput` names what the board's kernel cannot run. `duration` in ns."""
    spec = kernel_board(board)
    cores = _cores(system)
    first = next(iter(system.tasks.values()))
    if duration is None:
        duration = (iterations or system.run.iterations) * first.interval.nanoseconds
    messages = plan_messages(system, cores, duration)
    progress("building", None)
    program = host_program(system)
    tasks, expected, released = [], {}, {}
    for number, core in enumerate(cores):
        for planned in core.tasks:
            name = planned.name
            task = system.tasks[name]
            progress(f"building {name}", None)
            image = task_image(system, name, program)
            talks = messages is not None and _talks(system, name, image, messages)
            rows = [] if talks else input_rows(system, name, image.inputs)
            jobs = -(-(duration - task.offset.nanoseconds) // task.interval.nanoseconds)
            kept = max(1, min(jobs, KEPT))
            load, unload = _operations(system, name, core)
            released[name] = jobs
            # What a task makes of messages the node checks.
            expected[name] = [] if talks else golden_outputs(program, name, rows, image.outputs, jobs, kept)
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
        devices=None if messages is None else messages.setup,
        recorded=MOST_RECORDED,
        tables=lambda images_at: board_tables(spec, system, images, images_at),
        board=spec,
    )
    return Planned(system, cores, duration, _paced(run), expected, released, messages)


def _arbitration(cores: list[ThreePhaseCore]) -> str:
    return next(kind for kind, method in METHODS.items() if method == cores[0].method)


def _operations(system: System, name: str, core: ThreePhaseCore) -> tuple[int, int]:
    """How long the DMA is at a task, as the simulator has it; under TDMA a slot is a slot."""
    if core.method != "round-robin":
        return 0, 0
    load, unload = moved(system, name) or (core.share.slot, core.share.slot)
    return -(-load // 1000), -(-unload // 1000)


def _paced(run: KernelRun) -> KernelRun:
    """A long run with an emulated clock for the length of its slots."""
    if run.arbitration != "tdma" or run.until < LONG:
        return run
    slot = min(length for _, length in run.slots)
    shift = max(0, (slot // INSTRUCTIONS).bit_length() - 1)
    # While a job computes the other cores stand still until its core looks up, and a slot may begin so late.
    return replace(run, shift=shift, tick=slot // 8, tolerance=slot // 2) if shift else run


def _talks(system: System, name: str, image: TaskImage, messages: Messages) -> bool:
    """Whether the task has messages; `BadInput` where its step does not take the boxes of its channels."""
    talks = name in messages.inputs or name in messages.outputs
    sizes = ((messages.inputs, image.inputs, "In"), (messages.outputs, image.outputs, "Out"))
    for boxes, size, what in sizes:
        if talks and name in boxes and boxes[name] != size:
            raise BadInput(
                f"the step's {what} has {size} bytes, the messages of its channels take {boxes[name]};"
                " make it consort::spm::Messages<capacity, bytes> with the sum of their capacities and the"
                " longest of their sizes",
                file=system.file,
                field=f"tasks.{name}.step",
            )
    return talks


def _cores(system: System) -> list[ThreePhaseCore]:
    def refuse(message: str, field: str) -> BadInput:
        return BadInput(message, file=system.file, field=field)

    for name, task in system.tasks.items():
        if task.execution != "three-phase":
            raise refuse(
                "the board's scratchpad kernel runs three-phase tasks only", f"tasks.{name}.execution"
            )
        if not isinstance(task.step, StepReference) or "::" not in task.step.function:
            text = "a static function of a class is needed as step, such as step.hpp::filter::Task::step"
            raise refuse(text, f"tasks.{name}.step")
        if task.sporadic:
            raise refuse("only periodic tasks are run; write 'period'", f"tasks.{name}.min_interarrival")
    names = three_phase_cores(system)
    if len(names) > APPLICATION_CORES:
        text = f"{len(names)} cores with three-phase tasks; the board has {APPLICATION_CORES}"
        raise refuse(text, "tasks")
    cores = list(planned_cores(system).values())
    if len({core.method for core in cores}) > 1:
        raise refuse("one DMA has one arbitration: tdma or round-robin", f"scheduling.{names[0]}.arbitration")
    return cores


def _owner(system: System, name: str) -> tuple[str, str]:
    step = system.tasks[name].step_to_run
    return step.function, step.function.rpartition("::")[0]


def task_image(system: System, name: str, program: Path) -> TaskImage:
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


def host_program(system: System) -> Path:
    """What this machine knows of the tasks: sizes, constants, first states, and their outputs in a row."""
    root = need_source_tree("building for a board")
    headers = dict.fromkeys(system.path(t.step_to_run.header).resolve() for t in system.tasks.values())
    calls = []
    for name in system.tasks:
        step, owner = _owner(system, name)
        calls.append(
            f'    if (task == "{name}")\n'
            f"        return emit<consort::spm::ThreePhase<&::{step}>, ::{owner}>(what, jobs, kept);\n"
        )
    text = (
        "#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n"
        "#include <string_view>\n#include <vector>\n"
        '#include "consort/spm/step.hpp"\n'
        + "".join(f'#include "{h}"\n' for h in headers)
        + _HOST
        + "int main(int argc, char** argv) {\n"
        + "    if (argc != 3 && argc != 5) return 2;\n"
        + "    const std::string_view task = argv[1], what = argv[2];\n"
        + "    const unsigned long jobs = argc == 5 ? std::strtoul(argv[3], nullptr, 10) : 0;\n"
        + "    const unsigned long kept = argc == 5 ? std::strtoul(argv[4], nullptr, 10) : 0;\n"
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
int emit(std::string_view what, unsigned long jobs, unsigned long kept) {
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
        std::vector<typename T::In> rows(1);
        while (std::fread(&rows.back(), sizeof rows[0], 1, stdin) == 1) {
            rows.emplace_back();
        }
        rows.pop_back();
        typename T::Out out;
        for (unsigned long n = 0; n < jobs; ++n) {
            std::memset(static_cast<void*>(&out), 0, sizeof out);
            Owner::step(constants, rows[n % rows.size()], state, out);
            if (n + kept >= jobs) {
                put(out);
            }
        }
    }
    return 0;
}
"""


def _ask(program: Path, task: str, what: str, given: bytes = b"", *more: str) -> bytes:
    command = [str(program), task, what, *more]
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def input_rows(system: System, name: str, size: int) -> list[bytes]:
    return [row.tobytes()[:size] for row in task_rows(system, name, size)[: 4 * KEPT]]


def golden_outputs(
    program: Path, name: str, rows: list[bytes], size: int, jobs: int, kept: int
) -> list[bytes]:
    """The last `kept` outputs of so many jobs in a row."""
    given = b"".join(rows) if rows and rows[0] else b"\0" * len(rows)
    found = _ask(program, name, "run", given, str(jobs), str(kept))
    return [found[n * size : (n + 1) * size] for n in range(kept)]


# --- the order of what happened


def compared_until(planned: Planned, result: KernelResult) -> int | None:
    """Until when every event and every job is recorded [ns]; None: to the end."""
    if planned.run.recorded is None or sum(planned.jobs.values()) <= planned.run.recorded:
        return None
    # Behind the last recorded end some jobs are under way that have no record.
    known = {(int(j["core"]), int(j["task"]), int(j["job"])) for j in result.jobs}
    loads = result.events[result.events["kind"] == KINDS.index("load_begin")]
    unknown = [int(e["at"]) for e in loads if (int(e["core"]), int(e["task"]), int(e["job"])) not in known]
    last = min([*unknown, int(result.events["at"][-1])])
    return last // 10**6 * 10**6


def board_events(
    result: KernelResult, until: int | None = None, slots: Sequence[tuple[int, int]] = ()
) -> tuple[Events, dict[int, Events]]:
    """What the I/O core did in its order, and what each core saw: its transfers and its executions.

    With `slots` a transfer begins and ends with its slot: what the I/O core decides is of that instant,
    however long after it the core looked.
    """
    ends = np.cumsum([0, *(length for _, length in slots)])

    def slot_begin(at: int) -> int:
        cycle = int(ends[-1])
        return at // cycle * cycle + int(ends[ends <= at % cycle][-1]) if cycle else at

    kernel: list[tuple[int, int, str, int, int, int]] = []
    for n, e in enumerate(result.events):
        if KINDS[e["kind"]] in ORDINARY[1:]:
            at = slot_begin(int(e["at"]))
            kernel.append((at, n, KINDS[e["kind"]], int(e["core"]), int(e["task"]), int(e["job"])))
    jobs = result.jobs
    order = len(result.events)
    cores = {}
    for core in sorted({k[3] for k in kernel}):
        mine = [k for k in kernel if k[3] == core]
        for j in jobs[jobs["core"] == core]:
            who = (core, int(j["task"]), int(j["job"]))
            mine += [(int(j["start"]), order, "start", *who), (int(j["finish"]), -1, "finish", *who)]
        cores[core] = [k[2:] for k in sorted(mine) if until is None or k[0] < until]
    return [k[2:] for k in kernel if until is None or k[0] < until], cores


def _slots(planned: Planned) -> Sequence[tuple[int, int]]:
    """Where transfers begin and end with slots."""
    return planned.run.slots if planned.run.arbitration == "tdma" else ()


def simulated_events(planned: Planned, until: int | None = None) -> tuple[Events, dict[int, Events]]:
    """The same of the simulator, with every execution as long as its WCET; jobs released until then [ns]."""
    prepared = prepare_simulation(planned.system)
    duration = planned.duration if until is None else min(until, planned.duration)
    found = simulate(prepared, duration * 1000, choice="worst", trace=True)
    assert found.slices is not None
    place = {t.name: (c, n) for c, core in enumerate(planned.cores) for n, t in enumerate(core.tasks)}
    # At one instant: what ends comes before what begins, and a core begins once the DMA has been given on.
    rank = {"finish": 0, "load_end": 1, "unload_end": 1, "load_begin": 2, "unload_begin": 2, "start": 3}
    rows: list[tuple[int, int, str, int, int, int]] = []
    executed: dict[tuple[int, int, int], tuple[int, int]] = {}
    for s in found.slices:
        core, task = place[prepared.tasks[s["task"]]]
        who = (core, task, int(s["seq"]))
        doing, begin, end = SLICES[s["doing"]], int(s["begin"]), int(s["end"])
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
    until = compared_until(planned, result)
    theirs, ours = board_events(result, until, _slots(planned)), simulated_events(planned, until)
    sequences = [("the I/O core", theirs[0], ours[0])]
    sequences += [
        (planned.cores[c].core, theirs[1].get(c, []), ours[1].get(c, []))
        for c in sorted(ours[1].keys() | theirs[1].keys())
    ]
    for where, board, simulated in sequences:
        # Of a run that is not recorded to its end, the simulation goes on behind the last event.
        for n in range(len(board) if until is not None else max(len(board), len(simulated))):
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
    duration: int | None = None,
    board: str | None = None,
) -> Run:
    """Runs and records the system; the run's verdict says whether bounds, outputs and order held.

    `duration` [ns] instead of iterations of the first task.
    """
    planned = plan_board(system, iterations, progress, duration=duration, board=board)
    io_core = roles(planned.board)[1]
    label = name or system.file.resolve().parent.name or system.file.stem
    total = sum(planned.jobs.values())

    def watch(up: Board) -> None:
        progress(
            f"{planned.duration / 1e9:g} s on the board", up.control_blocks[io_core.place].progress / total
        )

    with RunWriter(
        label, "application", root, command=command, source=system.file.parent, pages=PAGES
    ) as writer:
        writer.add_description(system.file)
        result = run_kernel(planned.run, seconds=120 + planned.duration / 1e6, watch=watch)
        wrong = {task: _wrong(planned, result, task) for task in planned.expected}
        with tempfile.TemporaryDirectory(prefix="consort-board-") as folder:
            for core, plan in enumerate(planned.cores):
                for task, one in enumerate(plan.tasks):
                    rows = _rows(system, one.name, result, core, task, wrong[one.name])
                    raw = _raw(planned, one.name, rows, Path(folder))
                    writer.add_configuration(one.name, one.name, raw)
        _judge(writer, planned, result, wrong)
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


def _raw(planned: Planned, name: str, rows: NDArray[Any], folder: Path) -> RawRun:
    system, shift = planned.system, planned.run.shift
    folder = folder / name
    folder.mkdir()
    status = rows["status"]
    return write_manifest(
        folder,
        "board",
        [write_table(folder, "jobs", rows, stamps=STAMPS, durations=DURATIONS)],
        clock={
            "name": f"{roles(planned.board)[1].name} counter",
            "ticks_per_second": 1e9,
            "provenance": "counted",
            "source": f"{1 << shift} ns for each instruction executed"
            if shift
            else "one nanosecond for each instruction executed",
        },
        config={
            "deadline_ns": system.tasks[name].deadline.nanoseconds,
            "core": system.tasks[name].on,
            "execution": "three-phase",
            "board": planned.board.name,
            "emulator": version(find(planned.board.emulator)),
        },
        counters={
            key: int(np.count_nonzero(status & STATUS[key])) for key in ("deadline_misses", "output_errors")
        },
    )


def _judge(writer: RunWriter, planned: Planned, result: KernelResult, wrong: dict[str, list[bool]]) -> None:
    source = "counted"
    rows = []
    for core, plan, bound in _bounds(planned):
        task = [t.name for t in plan.tasks].index(bound.task)
        jobs = result.jobs[(result.jobs["core"] == core) & (result.jobs["task"] == task)]
        ended = int(jobs.size)
        response = int((jobs["end"] - jobs["release"]).max(initial=0))
        execution = int((jobs["finish"] - jobs["start"]).max(initial=0))
        if compared_until(planned, result) is not None:
            of_all = result.summaries[bound.task]
            ended, response, execution = (int(of_all[n]) for n in ("jobs", "response", "execution"))
            if any(wrong[bound.task]):
                writer.fail(f"{bound.task}: {sum(wrong[bound.task])} of its last outputs are wrong")
        limit = bound.response
        rows.append(
            [bound.task, plan.core, ended, execution / 1e3, response / 1e3,
             *(None if ps is None else ps / 1e6 for ps in (limit, bound.deadline))]
        )  # fmt: skip
        if ended != planned.jobs[bound.task]:
            writer.fail(f"{bound.task}: {ended} jobs of {planned.jobs[bound.task]} ended")
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
    for kind, times in result.counts.items():
        if times and kind not in (*ORDINARY, "slot_wasted"):
            writer.fail(f"{kind.replace('_', ' ')}: {times} times")
    used = result.counts["load_begin"] + result.counts["unload_begin"]
    writer.add_section(
        SLOTS,
        "table",
        columns=[
            {"name": n, "provenance": source} for n in ("slots", "with an operation", "without", "missed")
        ],
        rows=[
            [used + result.wasted + result.counts["slot_missed"], used, result.wasted,
             result.counts["slot_missed"]]
        ],
    )  # fmt: skip
    if planned.messages is not None and result.devices is not None:
        for reason in failures(planned.messages, result.devices):
            writer.fail(reason)
        columns, messages = section(result.devices)
        writer.add_section(MESSAGES, "table", columns=columns, rows=messages)
    order = first_difference(planned, result)
    if order is not None:
        writer.fail(order)
    until = compared_until(planned, result)
    kernel = board_events(result, until, _slots(planned))[0]
    writer.add_section(
        "Order of events",
        "table",
        columns=[{"name": "what"}, {"name": "count", "provenance": source}],
        rows=[
            ["transfers begun and ended", len(kernel)],
            ["compared until [ms]", "the end" if until is None else until / 1e6],
            ["first difference", order or "none"],
            ["slots without an operation", result.wasted],
            ["longest step of the I/O core [ns]", result.longest_step],
        ],
    )


def _bounds(planned: Planned) -> Iterator[tuple[int, ThreePhaseCore, Bound]]:
    for number, plan in enumerate(planned.cores):
        for bound in bound_core(plan.tasks, plan.share, method=plan.method, core=plan.core):
            yield number, plan, bound
