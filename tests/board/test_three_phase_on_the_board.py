# SPDX-License-Identifier: Apache-2.0
"""`consort run --on versal`: a three-phase system on the board's kernel, beside bounds and simulator."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from board_support import ROOT, board, consort
from consort.analysis.three_phase import bound_core, moved
from consort.base.errors import BadInput
from consort.base.waiting import silent
from consort.board import kernel
from consort.board.application import prepare_board
from consort.board.boards import kernel_board
from consort.board.generate.tables import board_tables
from consort.board.kernel_plan import KernelPlan, first_difference, kernel_plan
from consort.board.scratchpad import run_kernel
from consort.board.task_image import PAGE, TaskImage
from consort.judge import Bounds
from consort.model import System, load_system
from consort.plan import Plan
from consort.run import Options, flow, run_system
from consort.run.options import duration_of

HEADER = """
#include "consort/spm/step.hpp"
struct Sum {
    struct Constants { unsigned factor; };
    struct In { unsigned n; };
    struct State { unsigned total = 7; };
    struct Out { unsigned total; };
    static Constants constants() { return {3}; }
    static void step(const Constants& c, const In& in, State& s, Out& out) noexcept {
        s.total += c.factor * in.n;
        out.total = s.total;
    }
};
namespace plain {
struct State { unsigned total = 7; unsigned jobs = 0; };
inline void step(const Sum::In& in, State& s, Sum::Out& out) {
    ++s.jobs;
    s.total += in.n;
    out.total = s.total;
}
}  // namespace plain
"""
WITH_INPUT = "step: step.hpp::Sum::step\n    input: {function: inputs.py::inputs}"
# A step that is a function, and takes no constants.
PLAIN = ("  c:\n    step: step.hpp::Sum::step", "  c:\n    step: step.hpp::plain::step")
TASK = """
  {name}:
    step: step.hpp::Sum::step
    input: {{function: inputs.py::inputs}}
    period: {period}
    wcet: {{e200z710: {{three-phase: {wcet}}}}}
    footprint: {{code: 256B, data: 8B, inputs: 4B, outputs: 4B}}
    on: {core}
    execution: three-phase
"""
SYSTEM = """
consort: 1
name: Sums
platform: mpc5777m
scheduling:
  app: {{policy: three-phase, slot: 100us, arbitration: {arbitration}, context_switch: 0.5us}}
tasks:{tasks}
run: {{iterations: 4}}
"""
TASKS = [("a", "2ms", "300us", "app-0"), ("b", "3ms", "500us", "app-0"), ("c", "2ms", "700us", "app-1")]


def described(folder: Path, *, arbitration: str = "tdma", change: tuple[str, str] = ("", "")) -> Path:
    (folder / "step.hpp").write_text(HEADER, encoding="utf-8")
    rows = "import numpy as np\n\n\ndef inputs(dtype):\n    return np.arange(1, 4, dtype='<u4').view(dtype)\n"
    (folder / "inputs.py").write_text(rows, encoding="utf-8")
    tasks = "".join(TASK.format(name=n, period=p, wcet=w, core=c) for n, p, w, c in TASKS)
    file = folder / "system.yaml"
    text = SYSTEM.format(arbitration=arbitration, tasks=tasks)
    text = text.replace(*change) if change[0] else text
    file.write_text(text, encoding="utf-8")
    return file


def ran(system: System, root: Path, jobs: int | None = None) -> dict:
    """The data of a run as `consort run --on versal` makes it."""
    options = Options(target="board", kernel_board="versal", iterations=jobs, root=root, command=["test"])
    return dict(run_system(prepare_board(system, silent, options), options, silent).data)


def planned_on(system: System) -> KernelPlan:
    options = Options(target="board", kernel_board="versal")
    run = prepare_board(system, silent, options)
    return kernel_plan(run.request(duration_of(run.plan, options), counted=True))


@pytest.fixture
def system(tmp_path: Path) -> System:
    board("versal")
    return load_system(described(tmp_path, change=PLAIN))


def test_a_run_holds_and_what_is_wrong_with_it_would_be_seen(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    planned = planned_on(system)
    result = run_kernel(planned.run)
    assert first_difference(planned, result, None) is None
    assert (
        [result.kinds[k] for k in result.events["kind"]].count("load_begin") == result.jobs.size == 4 + 3 + 4
    )
    # Jobs of the 4th row on use the inputs again, on the state that the 3rd has left.
    totals = [int.from_bytes(out, "little") for out in result.outputs["a"]]
    assert totals == [7 + 3, 7 + 9, 7 + 18, 7 + 21]
    totals = [int.from_bytes(out, "little") for out in result.outputs["c"]]
    assert totals == [7 + 1, 7 + 3, 7 + 6, 7 + 7]

    swapped = replace(result, events=result.events.copy())
    loads = np.flatnonzero(swapped.events["kind"] == swapped.kinds.index("load_begin"))
    swapped.events[loads[[0, 1]]] = swapped.events[loads[[1, 0]]]
    difference = first_difference(planned, swapped, None)
    assert difference is not None and "load begin of" in difference and "in the simulation" in difference
    shorter = replace(result, jobs=result.jobs[:-1])
    assert first_difference(planned, shorter, None) is not None

    def recorded() -> dict:
        def again(*_: object, **__: object) -> object:
            return result

        monkeypatch.setattr(kernel, "run_kernel", again)
        return ran(system, tmp_path / "runs")

    def fails(why: str) -> bool:
        return any(why in reason for reason in recorded()["verdict"]["reasons"])

    data = recorded()
    assert data["verdict"] == {"ok": "held", "reasons": []}
    (configuration,) = data["configurations"]
    assert configuration["key"] == "local-off"
    assert configuration["clock"]["provenance"] == "counted"
    # The judge's table: of each task the response beside its bound and the simulator's longest.
    rows = {row["subject"]: row for row in configuration["verdict"]["rows"] if row["quantity"] == "response"}
    assert set(rows) == {"a", "b", "c"}
    assert all(row["outcome"] == "holds" and row["seen"] <= row["bound"] for row in rows.values())
    assert all(row["simulated"] is not None for row in rows.values())

    whole = result.jobs
    result.jobs = whole[:-1]
    assert fails("3 of 4 planned jobs") or fails("2 of 3 planned jobs")
    result.jobs = whole
    summaries = {name: row.copy() for name, row in result.summaries.items()}
    result.summaries["c"]["jobs"] -= 1
    assert fails("c: 3 jobs of 4 ended")
    result.summaries = summaries
    result.outputs["b"][1] = b"\0\0\0\0"
    assert fails("b: 1 of 3 outputs are wrong")
    # The last outputs of a run that is recorded in part are looked at all the same.
    with monkeypatch.context() as few:
        few.setattr("consort.board.kernel_plan.MOST_RECORDED", 3)
        assert fails("b: 1 of its last outputs are wrong") and not fails("a: 1 of its last outputs")
    result.counts["job_fault"] = 2
    assert fails("job fault: 2 times")

    bounds = flow.bounds_of

    def tight(made: Plan) -> Bounds:
        found = bounds(made)
        return replace(found, bounds=tuple(replace(b, ns=100_000.0) for b in found.bounds))

    monkeypatch.setattr(flow, "bounds_of", tight)
    assert fails("above its bound")


@pytest.mark.parametrize(
    ("arbitration", "change", "why"),
    [
        (
            "round-robin",
            ("app: {", "app-1: {policy: three-phase, slot: 100us}\n  app: {"),
            "scheduling.*one DMA engine has one arbitration",
        ),
        ("tdma", ("period: 3ms", "min_interarrival: 3ms"), "only periodic tasks are run"),
        ("tdma", ("period: 3ms", "period: 3ms\n    jitter: 1us"), "tasks.b.jitter: the kernel releases its"),
        ("tdma", ("run: {", "chains: {all: {path: [a]}}\nrun: {"), "chains.all: the kernel records no data"),
        ("tdma", (WITH_INPUT, "step: stand-in"), "tasks.a.step: the kernel moves a step's"),
    ],
)
def test_what_the_board_does_not_run_is_refused(
    tmp_path: Path, arbitration: str, change: tuple[str, str], why: str
):
    system = load_system(described(tmp_path, arbitration=arbitration, change=change))
    with pytest.raises(BadInput) as refused:
        planned_on(system)
    assert re.search(why, str(refused.value))


def test_a_board_is_named_by_on(tmp_path: Path):
    """One option names where a system runs: a target before a board of its name, no other system's board."""
    file = described(tmp_path)
    done = consort("run", str(file), "--board", "versal")
    assert done.returncode == 2 and "--board: boards are named by --on" in done.stderr
    assert "write --on versal" in done.stderr
    done = consort("run", str(file), "--on", "mps2")
    assert done.returncode == 2 and "there is no target 'mps2'" in done.stderr
    text = file.read_text(encoding="utf-8")
    file.write_text(f"{text}targets: {{versal: {{platform: mpc5777m}}}}\n", encoding="utf-8")
    done = consort("run", str(file), "--on", "versal", "--rt-linux")
    assert done.returncode == 2 and "scratchpad kernel" not in done.stderr


@pytest.mark.parametrize("option", [("--rt-linux",), ("--seed", "0"), ("--for", "virtual"), ("--stand-ins",)])
def test_options_that_the_board_does_not_know_are_refused(tmp_path: Path, option: tuple[str, ...]):
    done = consort("run", str(described(tmp_path)), "--on", "versal", *option)
    assert done.returncode == 2 and f"{option[0]}: the board's scratchpad kernel has no such" in done.stderr


@pytest.mark.representative
def test_cores_in_turn_do_what_the_simulator_does_and_stay_within_their_bounds(tmp_path: Path):
    board("versal")
    planned = planned_on(load_system(described(tmp_path, arbitration="round-robin")))
    result = run_kernel(planned.run)
    assert first_difference(planned, result, None) is None
    assert result.jobs.size == 4 + 3 + 4 and result.wasted == 0
    jobs = result.jobs
    for number, core in enumerate(planned.cores):
        for place, bound in enumerate(bound_core(core.tasks, core.share, method=core.method)):
            mine = jobs[(jobs["core"] == number) & (jobs["task"] == place)]
            load, unload = (-(-time // 1000) for time in moved(planned.system, bound.task) or ())
            # Each operation has lasted as long as described, to the tick.
            assert set(mine["ready"] - mine["load"]) == {load} != {0}
            assert set(mine["end"] - mine["unload"]) == {unload} != {0}
            assert bound.response is not None
            assert int((mine["end"] - mine["release"]).max()) * 1000 <= bound.response
    # None is begun while the DMA is not free.
    operations = sorted(zip(jobs["load"], jobs["ready"], strict=True)) + sorted(
        zip(jobs["unload"], jobs["end"], strict=True)
    )
    operations.sort()
    assert all(end <= begin for (_, end), (begin, _) in pairwise(operations))


@pytest.mark.slow
def test_what_is_generated_is_what_runs(system: System, tmp_path: Path):
    """The plan and the window say 2 ms, the generated header 4 ms: the header's are the releases."""
    planned = planned_on(system)
    images = {t.name: t.image for t in planned.run.tasks}
    other = tmp_path / "other"
    other.mkdir()
    period = ("period: 2ms\n    wcet: {e200z710: {three-phase: 300us}}",) * 2
    slower = load_system(
        described(other, change=(period[0], period[1].replace("2ms", "4ms\n    deadline: 2ms")))
    )
    run = replace(planned.run, tables=lambda at: board_tables(kernel_board(), slower, images, at))
    jobs = run_kernel(run).jobs
    count = [
        int(np.count_nonzero((jobs["core"] == c) & (jobs["task"] == t))) for c, t in ((0, 0), (0, 1), (1, 0))
    ]
    assert count == [2, 3, 4]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("slot: 100us", "slot: 100.0005us"), r"scheduling.app-0.slot: .* is not a whole number of ticks"),
        (("slot: 100us", "slot: auto"), r"scheduling.app-0.slot: .* leaves [0-9.]+ us of its slot"),
    ],
)
def test_tables_that_the_board_cannot_keep_are_refused(tmp_path: Path, change: tuple[str, str], why: str):
    images = {n: TaskImage(bytes(PAGE), bytes(8), 4, 4) for n in "abc"}
    with pytest.raises(BadInput, match=why):
        board_tables(kernel_board(), load_system(described(tmp_path, change=change)), images, 0x4011000)


def test_an_image_too_large_for_the_described_partition_is_refused(tmp_path: Path):
    system = load_system(described(tmp_path))
    images = {n: TaskImage(bytes(PAGE), bytes(8), 4, 4) for n in "abc"}
    folder = board_tables(kernel_board(), system, images, 0x4011000)
    assert "consort_a_code = 0x4011000;" in (folder / "consort-memory.ld").read_text(encoding="utf-8")
    images["b"] = TaskImage(bytes(9 * PAGE), bytes(2 * PAGE), 4, 4)
    with pytest.raises(BadInput, match=r"tasks\.b: its image for the board is 4224 bytes too large"):
        board_tables(kernel_board(), system, images, 0x4011000)


@pytest.mark.slow
@pytest.mark.parametrize("arbitration", ["tdma", "round-robin"])
def test_the_fourteen_kernels_hold_on_the_board(tmp_path: Path, arbitration: str):
    """Each response within its bound, each kept output right, the order of events the simulator's."""
    board("versal")
    folder = tmp_path / "automotive"
    shutil.copytree(ROOT / "examples" / "automotive", folder)
    text = (folder / "system.yaml").read_text(encoding="utf-8")
    assert "arbitration: tdma" in text
    text = text.replace("arbitration: tdma", f"arbitration: {arbitration}")
    (folder / "system.yaml").write_text(text, encoding="utf-8")
    system = load_system(folder / "system.yaml")
    data = ran(system, tmp_path / "runs", 30)
    assert data["verdict"] == {"ok": "held", "reasons": []}, json.dumps(data["verdict"])
    (configuration,) = data["configurations"]
    assert len([name for name in configuration["summary"] if name.endswith(".response")]) == 14
