# SPDX-License-Identifier: Apache-2.0
"""The stack of a board's core: its bound is never exceeded, no bound is refused, and a guard watches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from board_support import ROOT, board
from consort.base.errors import BadInput, SystemFails
from consort.base.waiting import silent
from consort.board import executive, programs, stack
from consort.board.application import BoardRun, prepare_board
from consort.board.call_graph import FRAME
from consort.board.image import build_image, call_graph_of, program_source
from consort.board.placement import placement
from consort.board.records import Recorded
from consort.model import load_system

FIXED = "fixed-priority"
# The registers that the processor or start.S saves are a large part of a preemption's stack.
LARGE_FRAMES = [
    ("riscv-virt", "riscv-virt", "rv64-0"),
    ("versal", "versal", "a72-0"),
    ("zynqmp", "zynq-ultrascale-plus", "a53-1"),
]
SMALL_FRAMES = [("mps2", "stm32mp157", "m4-0"), ("vexpress-r5f", "vexpress-r5f", "r5f-0")]
TASKS = 16


def described(
    folder: Path, header: str, lines: str, platform: str = "riscv-virt", core: str = "rv64-0"
) -> Path:
    text = (ROOT / "tests/board/tasks" / header).read_text(encoding="utf-8")
    (folder / header).write_text(text, encoding="utf-8")
    file = folder / "system.yaml"
    file.write_text(
        f"consort: 1\nplatform: {platform}\nscheduling: {{{core}: {{policy: {FIXED}}}}}\ntasks:\n{lines}",
        encoding="utf-8",
    )
    return file


def one(folder: Path, step: str, more: str = "") -> Path:
    """A system of one task, of tasks/stack.hpp."""
    task = f"{{step: 'stack.hpp::{step}::step', on: rv64-0, period: 1ms{more}}}"
    return described(folder, "stack.hpp", f"  only: {task}\n")


def nested(folder: Path, name: str, platform: str, core: str) -> tuple[BoardRun, Recorded]:
    """A run of tasks each of which preempts the one before it."""
    board(name)
    lines = "".join(
        f"  t{n}: {{step: 'nested.hpp::nested::step', on: {core}, period: 4ms, deadline: {4000 - 50 * n}us,"
        f" offset: {80 * n}us}}\n"
        for n in range(TASKS)
    )
    run = prepare_board(load_system(described(folder, "nested.hpp", lines, platform, core)), silent)
    recorded = executive.run(run.request(8 * 10**9, counted=True))
    # All were there at once.
    assert recorded.preemptions[core] >= TASKS - 1
    return run, recorded


def used(recorded: Recorded) -> int:
    (section,) = recorded.sections
    assert [column.get("provenance") for column in section["columns"]] == [
        None,
        "derived",
        "bound",
        "counted",
        None,
    ]
    ((_, given, bound, found, _),) = section["rows"]
    assert 0 < found <= bound <= given and recorded.findings == ()
    return int(found)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "platform", "core"), LARGE_FRAMES)
def test_a_bound_without_the_interrupts_frame_is_exceeded(
    tmp_path: Path, name: str, platform: str, core: str
) -> None:
    run, recorded = nested(tmp_path, name, platform, core)
    spec = run.where.bare[core]
    graph = call_graph_of(run.images[spec.name])
    without = replace(graph, symbols={**graph.symbols, FRAME: 0})
    mutant = stack.stack_bound(run.plan, core, spec, without)
    assert used(recorded) > mutant.bytes
    (said,) = stack.excess({core: mutant}, {core: used(recorded)})
    assert said.startswith(f"{core} used {used(recorded)} bytes of its stack; its bound is {mutant.bytes} (")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "platform", "core"), SMALL_FRAMES)
def test_a_bound_is_not_exceeded(tmp_path: Path, name: str, platform: str, core: str) -> None:
    used(nested(tmp_path, name, platform, core)[1])


def test_one_job_a_level_counts(tmp_path: Path) -> None:
    board("riscv-virt")
    lines = "".join(
        f"  t{n}: {{step: 'nested.hpp::nested::step', on: rv64-0, period: {n + 1}ms}}\n" for n in range(3)
    )
    file = described(tmp_path, "nested.hpp", lines)
    where = placement(load_system(file))
    built = programs.build(where, silent)
    graph = call_graph_of(built.images["rv64"])

    def levels(policy: str, thresholds: dict[str, int] | None = None) -> list[int]:
        core = replace(where.plan.cores["rv64-0"], policy=policy)
        made = replace(where.plan, cores={"rv64-0": core})
        for task, threshold in (thresholds or {}).items():
            kept = replace(made.tasks[task], threshold=threshold)
            made = replace(made, tasks={**made.tasks, task: kept})
        return [one.bytes for one in stack.stack_bound(made, "rv64-0", where.bare["rv64-0"], graph).levels]

    assert levels(FIXED) == [one.bytes for one in built.stacks["rv64-0"].levels]
    fixed, edf, not_preemptive = (levels(p) for p in (FIXED, "edf", "fixed-priority-non-preemptive"))
    assert len(fixed) == len(edf) == 3 and not_preemptive == fixed[:1] and min(fixed) > 512
    # The ranks are 0, 1 and 2: the least urgent is preempted by the most urgent one only, then by none.
    assert levels(FIXED, {"t2": 1}) == fixed[:2] and levels(FIXED, {"t2": 0}) == fixed[:2]
    assert levels(FIXED, {"t2": 0, "t1": 0}) == fixed[:1]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            "large",
            r"'rv64-0' may need \d+ bytes of its stack \(\d+ for the program, \d+ for only, .*has 65536",
        ),
        (
            "recursive",
            r"nothing bounds .* of 'rv64-0': recursive::deeper \(\S*stack.hpp:30:\d+\) calls itself",
        ),
        pytest.param(
            "pointed",
            r"calls through a pointer \(\S*stack.hpp:48:\d+\); .*state .* footprint: \{stack: 4KiB\}",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "counted",
            r"counted::step \(.* takes of the stack what it only knows when it runs",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_step_that_does_not_fit_or_has_no_bound_is_refused(tmp_path: Path, step: str, said: str) -> None:
    board("riscv-virt")
    where = placement(load_system(one(tmp_path, step)))
    with pytest.raises(BadInput, match=r"system\.yaml: tasks\.only\.step: .*" + said):
        programs.build(where, silent)


def test_what_is_stated_bounds_a_recursion_and_what_it_exceeds_is_found(tmp_path: Path) -> None:
    board("riscv-virt")
    run = prepare_board(load_system(one(tmp_path, "recursive", ", footprint: {stack: 2KiB}")), silent)
    bound = run.programs.stacks["rv64-0"]
    few = executive.run(run.request(10**9, counted=True))
    assert few.findings == () and bound.levels[0].bytes > 2048
    # It goes deeper than was said, and then to the end of the stack.
    (said,) = executive.run(run.request(16 * 10**9, counted=True)).findings
    assert "rv64-0 used" in said and "a frame that was stated" in said
    with pytest.raises(SystemFails, match="rv64-0 failed: stack overflow on core RV64"):
        executive.run(run.request(200 * 10**9, counted=True))


def test_a_port_says_where_the_stack_lies(tmp_path: Path) -> None:
    spec = board("riscv-virt")
    where = placement(load_system(one(tmp_path, "pointed")))
    graph = call_graph_of(build_image(spec.core("rv64"), program_source("identity"), calls=True))
    for missing, said in (
        ("stack_top", "linker_script: it does not define stack_top"),
        (FRAME, "sources: none"),
    ):
        symbols = {name: value for name, value in graph.symbols.items() if name != missing}
        with pytest.raises(BadInput, match=rf"ports/riscv-virt/board.yaml: cores\.rv64\.{said}"):
            stack.stack_bound(where.plan, "rv64-0", spec.core("rv64"), replace(graph, symbols=symbols))


def test_the_compilers_library_counts(tmp_path: Path) -> None:
    core = board("mps2").core("m4f")
    source = tmp_path / "program.cpp"
    source.write_text(
        '#include "consort/bare/program.hpp"\nvolatile double a = 2, b = 3;\n'
        "int consort_program(consort::bare::ControlBlock& c) noexcept\n"
        "{ c.result(0, static_cast<std::uint32_t>(a / b + (a < b ? 1.0 : 2.0) * a)); return 0; }\n",
        encoding="utf-8",
    )
    graph = call_graph_of(build_image(core, source, calls=True))
    library = {name: made.bytes for name, made in graph.functions.items() if "library" in made.place}
    # Double precision is computed there: division pushes six registers or so, comparison two.
    assert {"__aeabi_ddiv", "__aeabi_dmul", "__aeabi_dcmplt"} <= set(library)
    assert all(size is not None and size < 200 for size in library.values())
    assert library["__aeabi_ddiv"] >= 8 and library["__aeabi_dcmplt"] >= 4
