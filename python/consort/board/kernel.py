# SPDX-License-Identifier: Apache-2.0
"""The scratchpad kernel as the server of a board's cores: from the request to its results, as any record.

Where more jobs are released than there is room to record, the first ones are recorded one by one, and of all
others the kernel knows how many ended, the longest times, and the last outputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.analysis.three_phase import bound_core
from consort.base.owned import temporary_folder
from consort.base.waiting import STANDSTILL_S, Progress, silent
from consort.board.boards import roles
from consort.board.executive import Request
from consort.board.kernel_plan import (
    ORDINARY,
    KernelPlan,
    KernelPrograms,
    board_events,
    compared_until,
    first_difference,
    kernel_plan,
    row_of,
    slots_of,
)
from consort.board.messages import failures, section
from consort.board.records import Recorded
from consort.board.scratchpad import KernelResult, run_kernel
from consort.board.session import Board
from consort.judge import Expected
from consort.judge.outputs import distance, flattened
from consort.plan import ModePlans
from consort.record.ran import EVENTS, NONE, STATUS
from consort.record.raw import write_manifest, write_table
from consort.record.sections import numbered
from consort.run.blocks import write_rows
from consort.run.collect import expected_outputs, output_dtype, replay_command
from consort.run.config import Placement, run_config
from consort.run.data import struct_dtype
from consort.run.plan_image import write_image

# A job's stamps, and what the kernel calls them.
STAMPS = {
    "release": "release", "ready": "release", "worker_receive": "load", "loaded": "ready", "start": "start",
    "executed": "finish", "worker_send": "unload", "finish": "end",
}  # fmt: skip
# Events of the kernel that every record has an event for.
COMMON = {"slot_missed": "slot-missed", "slot_overrun": "slot-overrun", "release_lost": "release-lost"}
COUNTED = {"provenance": "counted"}
ALL_JOBS = "All jobs, recorded or not, counted"
MESSAGES = "Messages through the board's Ethernet controller, counted"
SLOTS = "Slots, counted"
ORDER = "Order of events"


def run(request: Request, *, seconds: float = STANDSTILL_S, progress: Progress = silent) -> Recorded:
    """Runs a plan's three-phase cores on the kernel."""
    planned = kernel_plan(request)
    io_core = roles(request.where.board)[1]
    total = max(1, sum(planned.jobs.values()))

    def watch(up: Board) -> None:
        progress(
            f"{planned.duration / 1e9:g} s on the board", up.control_blocks[io_core.place].progress / total
        )

    result = run_kernel(planned.run, seconds=seconds, watch=watch)
    outputs = {name: kept_outputs(request, planned, result, name) for name in planned.jobs}
    until = compared_until(planned, result)
    bounds = _bounds(planned)
    jobs = _jobs(request, planned, result)
    order = first_difference(planned, result, until)
    findings = [*_findings(request, planned, result, outputs, bounds, until is None)]
    findings += [] if order is None else [order]
    return Recorded(
        jobs,
        _events(request, planned, result),
        {name: _of_recorded(request, jobs, name, rows) for name, rows in outputs.items()},
        lost=0,
        unpredicted=planned.talking,
        overhead_ps={
            task.name: task.execution - (request.where.plan.tasks[task.name].wcet_ps or 0)
            for core in planned.cores
            for task in core.tasks
        },
        shift=planned.run.shift,
        whole=until is None,
        findings=tuple(findings),
        sections=tuple(_sections(planned, result, bounds, order, until)),
    )


def _tasks(planned: KernelPlan, result: KernelResult) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Each task, its core, and which of the kernel's rows of jobs are its own."""
    for number, core in enumerate(planned.cores):
        for place, task in enumerate(core.tasks):
            mine = (result.jobs["core"] == number) & (result.jobs["task"] == place)
            yield task.name, core.core, mine


def _jobs(request: Request, planned: KernelPlan, result: KernelResult) -> NDArray[Any]:
    made = request.where.plan
    found = result.jobs
    rows = np.zeros(found.size, struct_dtype(request.described["record"]["job"]))
    for stamp, source in STAMPS.items():
        rows[stamp] = found[source] + request.begin
    rows["compute"] = found["finish"] - found["start"]
    rows["seq"] = found["job"]
    rows["status"][found["outcome"] != 0] |= STATUS["aborted"]
    for name, core, mine in _tasks(planned, result):
        rows["task"][mine] = list(made.tasks).index(name)
        rows["core"][mine] = list(made.cores).index(core)
        late = mine & ((found["end"] - found["release"]) * 1000 > made.tasks[name].deadline_ps)
        rows["status"][late] |= STATUS["deadline_misses"]
        if name in request.rows:
            rows["input"][mine] = row_of(found["job"][mine].astype(np.int64), len(request.rows[name]) - 1)
    return rows


def _events(request: Request, planned: KernelPlan, result: KernelResult) -> NDArray[Any]:
    cores = list(request.where.plan.cores)
    found = result.of_kind(*COMMON)
    rows = np.zeros(found.size, struct_dtype(request.described["record"]["event"]))
    rows["time"] = found["at"] + request.begin
    rows["kind"] = [EVENTS.index(COMMON[result.kinds[kind]]) for kind in found["kind"]]
    rows["task"] = NONE
    rows["core"] = [cores.index(planned.cores[core].core) for core in found["core"]]
    return rows


def kept_outputs(request: Request, planned: KernelPlan, result: KernelResult, name: str) -> NDArray[Any]:
    """A task's last outputs with the numbers of their jobs; the kernel keeps them in a ring."""
    kept = result.outputs[name]
    layout = next(known["out"] for known in request.described["tasks"] if known["name"] == name)
    rows = np.zeros(0, numbered(output_dtype(layout)))
    if not kept:
        return rows
    ended = int(result.summaries[name]["jobs"])
    numbers = range(max(0, ended - len(kept)), ended)
    content = b"".join(seq.to_bytes(8, "little") + kept[seq % len(kept)] for seq in numbers)
    return np.frombuffer(content, rows.dtype)


def _of_recorded(request: Request, jobs: NDArray[Any], name: str, rows: NDArray[Any]) -> NDArray[Any]:
    mine = jobs["seq"][jobs["task"] == list(request.where.plan.tasks).index(name)]
    return rows[np.isin(rows["seq"], mine)]


# --- what a record does not show


def _findings(
    request: Request,
    planned: KernelPlan,
    result: KernelResult,
    outputs: Mapping[str, NDArray[Any]],
    bounds: Mapping[str, int | None],
    whole: bool,
) -> Iterator[str]:
    """Failures of a run that are in no record; `whole`: every job is in the record."""
    for name, bound in bounds.items():
        if bound is None:
            yield f"{name}: it has no bound; `consort analyze` says why"
        ended, response = (int(result.summaries[name][key]) for key in ("jobs", "response"))
        if ended != planned.jobs[name]:
            yield f"{name}: {ended} jobs of {planned.jobs[name]} ended"
        if not whole and bound is not None and response * 1000 > bound:
            yield f"{name}: a response of {response / 1e3} us is above its bound of {bound / 1e6} us"
    for kind, times in result.counts.items():
        if times and kind not in (*ORDINARY, "slot_wasted", *(COMMON if whole else ())):
            yield f"{kind.replace('_', ' ')}: {times} times"
    if planned.messages is not None and result.devices is not None:
        yield from failures(planned.messages, result.devices)
    if not whole:
        yield from _wrong_outputs(request, planned, outputs)


def _wrong_outputs(
    request: Request, planned: KernelPlan, outputs: Mapping[str, NDArray[Any]]
) -> Iterator[str]:
    found = reference(request, planned.jobs, outputs)
    for name, rows in outputs.items():
        if name in planned.talking or not rows.size:
            continue
        right = flattened(found[name].rows[rows["seq"]])
        wrong = np.zeros(rows.size, dtype=np.bool_)
        for member, values in flattened(rows).items():
            if member != "seq":
                wrong |= distance(values, right[member]) != 0
        if wrong.any():
            yield f"{name}: {int(wrong.sum())} of its last outputs are wrong"


def reference(
    request: Request, jobs: Mapping[str, int], outputs: Mapping[str, NDArray[Any]]
) -> dict[str, Expected]:
    """The outputs of so many jobs of each task, in a row, whether they are recorded or not."""
    made, programs = request.where.plan, request.programs
    assert isinstance(programs, KernelPrograms)
    tables = []
    for number, (name, count) in enumerate(jobs.items()):
        rows = np.zeros(count, struct_dtype(request.described["record"]["job"]))
        rows["seq"] = np.arange(count)
        rows["task"] = list(made.tasks).index(name)
        rows["release"] = rows["start"] = request.begin + number
        if name in request.rows:
            rows["input"] = row_of(rows["seq"].astype(np.int64), len(request.rows[name]) - 1)
        tables.append(rows)
    with temporary_folder("reference") as text:
        folder = Path(text)
        data = write_rows(ModePlans(made), request.rows, {}, folder)
        config = run_config(
            made, Placement({}, None, shared=False), data, request.described,
            image=write_image(ModePlans(made), request.described, request.duration_ps, folder),
            configuration="reference", duration_ps=request.duration_ps,
        )  # fmt: skip
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        written = [write_table(folder, "jobs", np.concatenate(tables))]
        written += [
            write_table(folder, f"outputs-{list(made.tasks).index(name)}", rows)
            for name, rows in outputs.items()
            if rows.dtype.names != ("seq",)
        ]
        write_manifest(
            folder,
            "board",
            written,
            clock={
                "name": "order",
                "ticks_per_second": 1e9,
                "provenance": "counted",
                "source": "jobs in a row",
            },
            config={**config["record"], "start_tick": request.begin},
            counters={},
        )
        line = replay_command(programs.replay, folder)
        return expected_outputs(line, folder, made, request.described, {}, request.where.title)


def _bounds(planned: KernelPlan) -> dict[str, int | None]:
    """The bound of each task's response [ps]."""
    return {
        bound.task: bound.response
        for core in planned.cores
        for bound in bound_core(core.tasks, core.share, method=core.method, core=core.core)
    }


# --- tables for the report


def _sections(
    planned: KernelPlan,
    result: KernelResult,
    bounds: Mapping[str, int | None],
    order: str | None,
    until: int | None,
) -> Iterator[dict[str, Any]]:
    if until is not None:
        yield _all_jobs(planned, result, bounds)
    missed = result.counts["slot_missed"]
    used = result.counts["load_begin"] + result.counts["unload_begin"]
    yield {
        "title": SLOTS,
        "columns": [
            {"name": name, **COUNTED} for name in ("slots", "with an operation", "without", "missed")
        ],
        "rows": [[used + result.wasted + missed, used, result.wasted, missed]],
    }
    if result.devices is not None:
        columns, rows = section(result.devices)
        yield {"title": MESSAGES, "columns": columns, "rows": rows}
    transfers = board_events(result, until, slots_of(planned))[0]
    yield {
        "title": ORDER,
        "columns": [{"name": "what"}, {"name": "count", **COUNTED}],
        "rows": [
            ["transfers begun and ended", len(transfers)],
            ["compared until [ms]", "the end" if until is None else until / 1e6],
            ["first difference", order or "none"],
            ["slots without an operation", result.wasted],
            ["longest step of the I/O core [ns]", result.longest_step],
        ],
    }


def _all_jobs(planned: KernelPlan, result: KernelResult, bounds: Mapping[str, int | None]) -> dict[str, Any]:
    rows = []
    for name, core, _ in _tasks(planned, result):
        of_all, bound = result.summaries[name], bounds[name]
        times = [int(of_all[key]) / 1e3 for key in ("execution", "response")]
        rows.append([name, core, int(of_all["jobs"]), *times, None if bound is None else bound / 1e6])
    return {
        "title": ALL_JOBS,
        "columns": [
            {"name": "task"},
            {"name": "core"},
            {"name": "jobs", **COUNTED},
            *({"name": f"longest {name}", "unit": "us", **COUNTED} for name in ("execution", "response")),
            {"name": "bound", "unit": "us", "provenance": "bound"},
        ],
        "rows": rows,
    }
