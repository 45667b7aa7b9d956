# SPDX-License-Identifier: Apache-2.0
"""`consort bench board`: costs of the executive on a bare core, in instructions and bytes, beside FreeRTOS.

Instructions are counted from the instant of a release to the first one of its job's step: on an idle core
(dispatch), and where the job preempts a less urgent one, both with floating-point context (preempt). Another
release is still to come, so that arming the timer is part of both. FreeRTOS's figures are of the same
emulator: from a tick to the first instruction of the task that it wakes, and from a notification to that of
the more urgent task that it wakes.
"""

from __future__ import annotations

import platform as host
from collections import Counter
from typing import Any

from consort.base.errors import EnvironmentLacks
from consort.base.toolchain.builds import need_source_tree
from consort.base.waiting import silent
from consort.board.application import prepare_board
from consort.board.description import CoreSpec
from consort.board.placement import board_of, is_emulated
from consort.board.rtlinux import find, version
from consort.model import System, load_system

from consort_bench import board_dispatch, board_size, freertos
from consort_bench.board_dispatch import SHIFT, Counted
from consort_bench.registry import BenchResult, Options, goal

JOBS, QUICK = 200, 20
# The most instructions of a preemption, by core; other figures are held against FreeRTOS of the same run.
MOST = {"preempt_instructions_m4f": 120.0}
# FreeRTOS's case that a figure is held against: the first that was counted.
PEER = {"dispatch": ("tick_on_idle", "notified"), "preempt": ("tick_preempts", "notified")}
# The executive beside stacks and records, in examples/drive on this core.
DRIVE_CORE, FLASH, RAM = "m4f", 6 << 10, 1 << 10


def run(options: Options) -> BenchResult:
    """Counts on every core that has a system; `iterations` is the number of jobs of each task."""
    jobs = options.iterations or (QUICK if options.quick else JOBS)
    rows: list[dict[str, Any]] = []
    goals: list[dict[str, Any]] = []
    notes = [NOTE]
    machine: dict[str, Any] = {"machine": host.machine(), "instruction_ns": 2**SHIFT}
    files = board_dispatch.systems()
    for number, (name, file) in enumerate(files.items()):
        options.progress(f"counting on {name}", number / (len(files) + 1))
        try:
            counted = board_dispatch.count(file, jobs, silent)
        except EnvironmentLacks as lacks:
            goals += [_missing(f"{figure}_instructions_{name}", str(lacks)) for figure in PEER]
            continue
        core = counted[0].core
        machine |= {core.board.name: version(find(core.board.emulator))}
        peer, reason = _peer(core)
        rows += [_row(name, one) for one in counted]
        rows += [_peer_row(name, peer.version, case, value) for case, value in peer.instructions.items()]
        if reason:
            notes.append(f"{name}: no FreeRTOS beside it: {reason}")
        goals += [_goal(name, one, peer.instructions, reason) for one in counted]
    options.progress("reading the image of examples/drive", len(files) / (len(files) + 1))
    sizes, of_drive = _drive()
    return BenchResult([*goals, *of_drive], [*rows, *sizes], machine, notes)


def _peer(core: CoreSpec) -> tuple[freertos.Wakeups, str]:
    try:
        return freertos.wakeups(core, SHIFT), ""
    except EnvironmentLacks as lacks:
        return freertos.Wakeups("", {}), str(lacks)


def _row(name: str, one: Counted) -> dict[str, Any]:
    return {
        "core": name,
        "what": one.figure,
        "of": "Consort",
        "least": one.least,
        "most": one.most,
        "unit": "instructions",
        "provenance": "counted",
    }


def _peer_row(name: str, of: str, case: str, value: float) -> dict[str, Any]:
    return {
        "core": name,
        "what": case.replace("_", " "),
        "of": f"FreeRTOS {of}",
        "least": None,
        "most": value,
        "unit": "instructions",
        "provenance": "counted",
    }


def _goal(name: str, one: Counted, peer: dict[str, float], reason: str) -> dict[str, Any]:
    """The goal against its own limit, or against FreeRTOS of the same run."""
    title = f"{one.figure}_instructions_{name}"
    case = next((case for case in PEER[one.figure] if case in peer), None)
    if title in MOST:
        made = goal(title, one.most, "instructions", "<=", MOST[title], provenance="counted")
    elif case is None:
        return _missing(title, reason or "FreeRTOS was not counted") | {"value": one.most}
    else:
        made = goal(title, one.most, "instructions", "<=", peer[case], provenance="counted")
        made["limit_from"] = f"FreeRTOS, {case.replace('_', ' ')}"
    return made | {"freertos": peer}


def _missing(title: str, reason: str) -> dict[str, Any]:
    return goal(title, None, "instructions", "<=", MOST.get(title, 0.0), provenance="counted", reason=reason)


def drive_system() -> System:
    """The drive on the platform whose board has the core, in the file named after it: with nothing beside."""
    folder = need_source_tree("reading an image") / "examples" / "drive"
    systems = (load_system(file) for file in sorted(folder.glob("*.yaml")))
    return next(
        system
        for system in systems
        if system.file.stem == system.platform_description.name
        and is_emulated(system)
        and any(core.name == DRIVE_CORE for core in board_of(system).cores)
    )


def _drive() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The parts of the drive's image, and what the executive takes of it."""
    try:
        prepared = prepare_board(drive_system(), silent)
    except EnvironmentLacks as lacks:
        return [], [_bytes(memory, None, str(lacks)) for memory in ("flash", "ram")]
    ((core, image),) = prepared.images.items()
    parts = board_size.parts(image)
    total = Counter[str]()
    for part in parts:
        if part.part == board_size.EXECUTIVE:
            total[part.memory] += part.bytes
    rows = [
        {"core": core, "memory": p.memory, "part": p.part, "what": p.what, "bytes": p.bytes} for p in parts
    ]
    return rows, [_bytes(memory, total[memory], "") for memory in ("flash", "ram")]


def _bytes(memory: str, value: int | None, reason: str) -> dict[str, Any]:
    limit = {"flash": FLASH, "ram": RAM}[memory]
    return goal(f"drive_{memory}_bytes_m4f", value, "B", "<=", limit, provenance="counted", reason=reason)


NOTE = (
    "executive: the bytes that come from include/consort and ports by the image's line table, inlined ones"
    " included; without channels and devices, start-up and reports of failures, steps, and the compiler's and"
    " C libraries. RAM: its variables; stacks, records and the tasks' own data are not in it."
)
