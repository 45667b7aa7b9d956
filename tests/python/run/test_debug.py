# SPDX-License-Identifier: Apache-2.0
"""A step that breaks: the run names task, job and step, and the way there leads to the very line.

One program for all: which step breaks, and how, is a number in its input rows.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from consort.record import Run
from consort.record.store import list_runs
from consort.run import process
from effort import PATIENCE
from run_support import consort, write

pytestmark = pytest.mark.realtime

AT = 20
STEP = """
#pragma once
#include <cstdint>
namespace broken {
struct In { std::uint32_t how; };
struct State { std::uint32_t jobs; std::int32_t kept[4]; };
struct Out { std::uint32_t jobs; };
struct Seen { std::uint32_t jobs; };
// In its place in the caller, compilers give the read the caller's line.
[[gnu::noinline]] inline std::int32_t read_null(const std::int32_t* from) { return *from; }  // the null line
inline void step(const In& in, State& state, Out& out) {
    const std::int32_t* volatile nowhere = nullptr;
    std::int32_t local[4] = {1, 2, 3, 4};
    std::int32_t* volatile begin = local;
    volatile std::int32_t result = 0;
    if (in.how == 1) { result = read_null(nowhere); }
    if (in.how == 2) { begin[in.how + 2] = 7; }  // the overrun line
    if (in.how == 3) { result = 0x7fffffff; result = result + 1; }  // the overflow line
    out.jobs = ++state.jobs;
}
inline void reader(const Out& in, State& state, Seen& out) {
    const std::int32_t* volatile nowhere = nullptr;
    // From the 15th block on; a reader that comes late may miss this one.
    if (in.jobs >= 15) { state.kept[0] = read_null(nowhere); }
    out.jobs = in.jobs;
    ++state.jobs;
}
}
"""
INPUTS = """
import numpy as np
def inputs(dtype, at, how):
    made = np.zeros(at + 10, dtype)
    made["how"][at] = how
    return made
"""
needs_gdb = pytest.mark.skipif(
    not (shutil.which("gdb") or shutil.which("gdb-multiarch")), reason="apt-get install gdb-multiarch"
)


def system(folder: Path, how: int, *, chained: bool = False) -> Path:
    tasks: dict[str, Any] = {
        "plain": {
            "step": "step.hpp::broken::step",
            "on": "m-0",
            "period": "10ms",
            "input": {"function": "inputs.py::inputs", "arguments": {"at": AT, "how": how}},
        }
    }
    # A run that breaks ends there, however many releases a busy machine skips before.
    iterations = 10_000 if how or chained else AT + 5
    described: dict[str, Any] = {"tasks": tasks, "run": {"iterations": iterations, "interference": []}}
    if chained:
        tasks["plain"]["writes"] = ["blocks"]
        tasks["reader"] = {
            "step": "step.hpp::broken::reader",
            "on": "m-0",
            "period": "10ms",
            "reads": ["blocks"],
        }
        described["channels"] = {"blocks": {"kind": "queue", "capacity": 8}}
    chip = "consort: 1\nname: chip\nprocessors: {any: {isa: other}}\ncores: {m: {processor: any, count: 1}}\n"
    described["platform"] = "chip.yaml"
    return write(folder, described, step_hpp=STEP, inputs_py=INPUTS, chip_yaml=chip)


def line_of(words: str) -> int:
    return next(number for number, line in enumerate(STEP.splitlines(), 1) if words in line)


def only_run(runs: Path) -> Run:
    (found,) = list_runs(runs)
    return found


def broken_job(words: str) -> int:
    """The job that is named: later than its input row by the releases that a busy machine skipped."""
    named = re.search(r"task plain, job (\d+)", words)
    assert named is not None, words
    assert int(named[1]) >= AT
    return int(named[1])


def reasons(run: Run) -> str:
    return "\n".join(run.data["verdict"]["reasons"])


def debugged(description: Path, task: str, *arguments: str) -> str:
    """The output of gdb when the command that a run prints is executed, and leaves at its end."""
    ended = consort("run", description, "--ordinary", "--debug", task, "--json", *arguments)
    assert ended.returncode == 1, ended.stderr
    command = json.loads(ended.stdout)["debugger"]
    at = command.index("--args")
    batch = [command[0], "-batch", *command[1:at], *command[at:]]
    said = subprocess.run(batch, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    folder = Path(command[command.index("--config") + 1]).parent
    assert folder.parent == Path(tempfile.gettempdir())
    shutil.rmtree(folder)
    return said.stdout + said.stderr


@needs_gdb
def test_a_null_dereference_is_found_at_its_line(tmp_path: Path, runs: Path) -> None:
    said = debugged(system(tmp_path / "d", 1), "plain")
    found = reasons(only_run(runs))
    job = broken_job(found)
    assert "step.hpp::broken::step" in found
    assert "consort run --debug plain" in found
    assert "SIGSEGV" in said
    assert f"job {job} of plain" in said
    assert f"step.hpp:{line_of('the null line')}" in said


@needs_gdb
def test_blocks_that_were_read_come_from_the_record(tmp_path: Path) -> None:
    """The task that breaks reads another's blocks, whose steps are not computed again."""
    said = debugged(system(tmp_path / "d", 0, chained=True), "reader")
    assert "SIGSEGV" in said and "of reader" in said
    assert f"step.hpp:{line_of('the null line')}" in said


@needs_gdb
def test_a_task_that_does_not_break_stops_in_its_first_job(tmp_path: Path) -> None:
    description = system(tmp_path / "d", 0)
    ended = consort("run", description, "--ordinary", "--debug", "plain")
    line = next(line for line in ended.stdout.splitlines() if line.startswith("debug:"))
    command = shlex.split(line.removeprefix("debug:"))
    at = command.index("--args")
    said = subprocess.run(
        [command[0], "-batch", *command[1:at], "-ex", "continue 24", *command[at:]],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    ).stdout
    assert "Breakpoint 1" in said and "job 0 of plain" in said
    folder = Path(command[command.index("--config") + 1]).parent
    assert f"remove {folder} afterwards" in ended.stdout
    shutil.rmtree(folder)


def test_what_cannot_be_debugged_is_refused_before_the_run(tmp_path: Path, runs: Path) -> None:
    description = system(tmp_path / "d", 0)
    misspelt = consort("run", description, "--debug", "plan")
    assert misspelt.returncode == 2 and "plain" in misspelt.stderr
    several = consort("run", description, "--debug", "plain", "--only", "local-off", "--only", "local-on")
    assert several.returncode == 2 and "one configuration" in several.stderr
    assert not runs.exists() or not list_runs(runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "finding", "line"),
    [
        (1, "undefined behaviour", "the null line"),
        (2, "stack-buffer-overflow, a write of 4 bytes,", "the overrun line"),
        (3, "undefined behaviour", "the overflow line"),
    ],
)
def test_a_sanitizer_names_the_job_and_the_line(
    tmp_path: Path, runs: Path, how: int, finding: str, line: str
) -> None:
    ended = consort("run", system(tmp_path / "d", how), "--ordinary", "--sanitize")
    assert ended.returncode == 1, ended.stderr
    found = reasons(only_run(runs))
    assert finding in found and f"step.hpp:{line_of(line)}" in found, found
    assert broken_job(found) >= AT
    assert "Shadow bytes" not in found and "    #1" not in found


@pytest.mark.slow
def test_a_step_without_a_fault_passes_the_sanitizers(tmp_path: Path, runs: Path) -> None:
    consort("run", system(tmp_path / "d", 0), "--ordinary", "--sanitize")
    found = reasons(only_run(runs))
    assert "undefined" not in found and "overflow" not in found and "crashed" not in found


ASAN = """=================================================================
==17==ERROR: AddressSanitizer: stack-buffer-overflow on address 0x7f at pc 0x5 bp 0x7 sp 0x7
WRITE of size 4 at 0x7f5 thread T1
    #0 0x55 in broken::step(broken::In const&) /d/step.hpp:17
    #1 0x66 in main /d/application.cpp:5

Address 0x7f5 is located in stack of thread T1 at offset 48 in frame
    #0 0x55 in broken::step(broken::In const&) /d/step.hpp:11

  This frame has 1 object(s):
    [32, 48) 'local' (line 13) <== Memory access at offset 48 overflows this variable
HINT: this may be a false positive if your program uses some custom stack unwind mechanism
      (longjmp and C++ exceptions *are* supported)
SUMMARY: AddressSanitizer: stack-buffer-overflow /d/step.hpp:17 in broken::step
Shadow bytes around the buggy address:
  0x0ff: 00 00 f1 f1
=>0x0ff: 00 00[f3]f3
==17==ABORTING
core m-0, task plain, job 20: the process was ended by signal 6 (Aborted)
"""


def test_a_report_becomes_one_line_and_the_rest_stays() -> None:
    findings, rest = process.findings_in(ASAN)
    assert findings == ["stack-buffer-overflow, a write of 4 bytes, at /d/step.hpp:17 in broken::step"]
    assert rest == "core m-0, task plain, job 20: the process was ended by signal 6 (Aborted)"
    assert process.findings_in("core m-0 ended\n#0 is not a report") == (
        [],
        "core m-0 ended\n#0 is not a report",
    )


MODES_STEP = """
#pragma once
#include <cstdint>
namespace modes {
struct Nothing {};
struct Measured { std::uint32_t value; };
struct State { std::uint32_t steps; std::int32_t kept; };
inline void plant(const Nothing&, State& state, Measured& out) { out.value = ++state.steps; }
// In its place in the caller, compilers give the read the caller's line.
[[gnu::noinline]] inline std::int32_t read_null(const std::int32_t* from) { return *from; }  // the null line
inline void step(const Measured& in, State& state, Nothing&) {
    const std::int32_t* volatile nowhere = nullptr;
    if (in.value >= 25) { state.kept = read_null(nowhere); }
}
}
"""


@needs_gdb
def test_the_job_that_breaks_in_a_later_mode_is_released_in_it(tmp_path: Path, runs: Path) -> None:
    """Its own device says what it read: after some jobs of 10 ms and some of 30 ms, and not after as many of
    10 ms."""
    described = {
        "platform": "chip.yaml",
        "tasks": {
            "plain": {
                "step": "step.hpp::modes::step",
                "on": "m-0",
                "period": "10ms",
                "reads": {"value": "motor.value"},
            }
        },
        "devices": {"motor": {"plant": "step.hpp::modes::plant", "period": "10ms"}},
        "modes": {
            "one": {"tasks": ["plain"]},
            "two": {"tasks": ["plain"], "overrides": {"plain": {"period": "30ms"}}},
        },
        "mode_changes": {"start": "one", "agreement": "1ms", "requests": [{"at": "95ms", "to": "two"}]},
        "run": {"iterations": 10_000, "interference": []},
    }
    chip = "consort: 1\nname: chip\nprocessors: {any: {isa: other}}\ncores: {m: {processor: any, count: 1}}\n"
    said = debugged(write(tmp_path / "d", described, step_hpp=MODES_STEP, chip_yaml=chip), "plain")
    named = re.search(r"task plain, job (\d+)", reasons(only_run(runs)))
    assert named is not None and int(named[1]) < 24
    assert "SIGSEGV" in said and f"job {named[1]} of plain" in said
