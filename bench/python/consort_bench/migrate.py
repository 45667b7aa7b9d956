# SPDX-License-Identifier: Apache-2.0
"""`consort bench migrate`: the cost of jobs that can move in mid-job, the cost of a move; shared regions.

Each sample step runs in turn, in one process, natively, as C of WebAssembly, and as that C instrumented for
migration; then its jobs move at every safepoint between two instances, and as many bytes are copied barely.
The goals are ratios within one run; of several samples the worst counts. `dsm_over_local` is a stream
through a region that two sides share over a link, against the same stream through one memory.
"""

from __future__ import annotations

import json
import operator
import statistics
import subprocess
from pathlib import Path
from typing import Any

from consort.base.environment import environment
from consort.base.errors import EnvironmentLacks, SystemFails
from consort.base.toolchain.builds import need_source_tree
from consort.migrate.c_code import owner_of
from consort.migrate.module import Step, build_module
from consort.migrate.programs import build_program, compile_step, target_of
from elftools.elf.elffile import ELFFile

from consort_bench.icc import processor
from consort_bench.programs import cpp_program
from consort_bench.registry import BenchResult, Options, goal

SAMPLES = {
    "spectrum": "migrate::spectrum::step",
    "matrix": "migrate::matrix::step",
}
HERE = "x86-64"
RUNS, QUICK_RUNS = 7, 1
ROUNDS, QUICK_ROUNDS = 1500, 200
# Of the program of shared regions: few rounds of each way in each of many runs, so that what is compared was
# measured within a fraction of a second.
STREAM_RUNS, QUICK_STREAM_RUNS, STREAM_ROUNDS = 15, 2, 5


def run(options: Options) -> BenchResult:
    root = need_source_tree("a benchmark")
    rows = []
    for name, step_name in SAMPLES.items():
        options.progress(f"building {name}", None)
        step = build_module(root / "examples" / "migrate" / f"{name}.hpp", step_name)
        program, sizes = bench_program(root, step)
        options.progress(f"measuring {name}", None)
        rows.append({"step": name, **measured(program, options), **sizes})
    options.progress("streaming through a shared region", None)
    streams = shared_streams(stream_program(options))
    return BenchResult(
        [
            worst("midjob_over_copy", rows, "over_copy", 1.5),
            worst("midjob_overhead", rows, "overhead", 1.05)
            | {"over_native": max(row["over_native"] for row in rows)},
            worst("midjob_code_growth", rows, "code_growth", 1.3, provenance="counted"),
            *stream_goals(streams),
        ],
        [*rows, *streams],
        environment(),
        [
            "over_copy: leave, copy of the live bytes and return, over a bare copy of as many bytes;"
            " image_over_copy: the same as an image with its CRC, written and read",
            "overhead, code_growth: instrumented over not instrumented, both C of WebAssembly;"
            " over_native: over the same step compiled as C++ with the same options",
            "dsm_over_local: the host changes 16 MiB and marks them, the peer adds them up; over_local of the"
            " other streams: changes found by write protection (pages), only lines that differ sent (lines);"
            " every 16th page (sparse). The peer's core moves the bytes: a round has one pass over them more",
        ],
        extra={"processor": processor()},
    )


def worst(
    name: str, rows: list[dict[str, Any]], key: str, limit: float, *, provenance: str = "measured"
) -> dict[str, Any]:
    """The goal holds for every sample."""
    found = max(rows, key=lambda row: float(row[key]))
    return goal(name, found[key], "ratio", "<=", limit, provenance=provenance) | {"sample": found["step"]}


def bench_program(root: Path, step: Step) -> tuple[Path, dict[str, Any]]:
    """The program of one sample, and the sizes of its two builds."""
    spec = target_of(HERE)
    job = compile_step(step, spec)
    plain = compile_step(step, spec, "-DCONSORT_MIGRATE_PLAIN")
    flags = [
        f'-DMIGRATE_HEADER="{step.file}"',
        f"-DMIGRATE_STEP={step.name}",
        f"-DMIGRATE_OWNER={owner_of(step.name)}",
    ]
    program = build_program(step, spec, root / "bench" / "migrate" / "midjob.cpp", job, plain, flags=flags)
    code, before = code_bytes(job), code_bytes(plain)
    return program, {"code": code, "code_plain": before, "code_growth": code / before}


def code_bytes(file: Path) -> int:
    """All sections of an object with instructions [bytes]."""
    with file.open("rb") as stream:
        executable = 0x4
        return sum(s["sh_size"] for s in ELFFile(stream).iter_sections() if s["sh_flags"] & executable)


def measured(program: Path, options: Options) -> dict[str, Any]:
    """Medians of several runs of the program; each gives ratios of its own."""
    runs = []
    for _ in range(QUICK_RUNS if options.quick else RUNS):
        command = [str(program), str(QUICK_ROUNDS if options.quick else ROUNDS)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemFails(f"{program.name}: {done.stderr.strip()}")
        runs.append(json.loads(done.stdout))
    for said in runs:
        said["overhead"] = said["job_ns"] / said["plain_ns"]
        said["over_native"] = said["job_ns"] / said["native_ns"]
    return {key: statistics.median(said[key] for said in runs) for key in runs[0]}


def stream_program(options: Options) -> list[dict[str, Any]]:
    """The outputs of the program of shared regions in several runs."""
    command = [str(cpp_program("shared_stream", "bench/dsm")), str(STREAM_ROUNDS)]
    runs = []
    for _ in range(QUICK_STREAM_RUNS if options.quick else STREAM_RUNS):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            reason = f"measuring failed: {done.stderr.strip()[-500:]}"
            raise EnvironmentLacks(reason, "two processors are needed")
        runs.append(json.loads(done.stdout))
    return runs


def shared_streams(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each way of finding changes: the median round, and the median of the runs' ratios of the
    local one's throughput."""
    rows: list[dict[str, Any]] = []
    for work in ("whole", "sparse"):
        for way in ("local", "touch", "pages", "lines", "link"):
            found = [raw[work][way] for raw in runs]
            if "lacks" in found[0]:
                rows.append({"stream": f"{work} {way}", "lacks": found[0]["lacks"]})
                continue
            local = [statistics.median(raw[work]["local"]["ns"]) for raw in runs]
            rounds = [statistics.median(one["ns"]) for one in found]
            rows.append(
                {
                    "stream": f"{work} {way}",
                    "round_ns": statistics.median(rounds),
                    "over_local": statistics.median(map(operator.truediv, local, rounds)),
                    "wrong": sum(one["wrong"] for one in found),
                }
            )
    return rows


def stream_goals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Goals for the stream through all of the region; wrong sums of all streams."""
    marked = next(row for row in rows if row["stream"] == "whole touch")
    wrong = sum(row.get("wrong", 0) for row in rows)
    return [
        goal("dsm_over_local", marked["over_local"], "ratio", ">=", 0.5),
        goal("dsm_wrong_sums", wrong, "rounds", "<=", 0, provenance="counted"),
    ]
