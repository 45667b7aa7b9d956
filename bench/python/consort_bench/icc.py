# SPDX-License-Identifier: Apache-2.0
"""`consort bench icc`: the channels against floors and peers, all in one run."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from consort.base.environment import environment, usable_cpus
from consort.base.errors import ConsortError, EnvironmentLacks
from consort.record import RawRun

from consort_bench import board_icc
from consort_bench.icc_goals import goals
from consort_bench.icc_rows import FAR_NS, latest_rows, link_rows, peer_rows
from consort_bench.programs import cpp_program, rust_peer
from consort_bench.registry import BenchResult, Options

SECONDS, QUICK_SECONDS = 30.0, 3.0


def run(options: Options) -> BenchResult:
    """Builds and runs the programs; goals are ratios of figures of this one run."""
    if options.board is not None:
        return board_icc.run(options)
    seconds = options.seconds or (QUICK_SECONDS if options.quick else SECONDS)
    progress = options.progress
    cpus = sorted(usable_cpus()[:2])
    if len(cpus) < 2:
        raise EnvironmentLacks("two CPUs are needed, one is usable here", "widen the affinity mask")
    pair = f"{cpus[0]},{cpus[1]}"
    progress("building", None)
    program = cpp_program("consort-bench-channels", "bench/channels")
    with tempfile.TemporaryDirectory(prefix="consort-bench-") as scratch:
        progress("floors, channels, peers", None)
        _execute([str(program), "--raw", scratch, "--cpus", pair, "--seconds", f"{seconds}"], seconds)
        raw = RawRun.load(scratch)
        rows, figures = link_rows(raw)
        latest = latest_rows(raw)
        errors = int(raw.manifest.counters["content_errors"])
    progress("iceoryx2", None)
    iox_rows, iox_reason = iceoryx2(pair, max(2.0, seconds / 4))
    figures.add(iox_rows)
    dropped = sum(row["blocks_dropped"] for row in rows)
    chip = processor()
    named = ", ".join(f"{key} {value}" for key, value in chip.items() if value is not None)
    seen = ", ".join(f"{figures.floors[r]} {r}" for r in figures.present())
    notes = [
        f"processor: {named}",
        f"floors by regime (far: over {FAR_NS:.0f} ns one way): {seen}",
        f"{dropped} blocks dropped: their two floors differed by over 30 %",
        f"{errors} messages with another content than was sent",
    ]
    return BenchResult(
        goals(figures, latest, iox_reason),
        rows + iox_rows + latest,
        environment(),
        notes,
        extra={"processor": chip, "regimes": figures.floors, "content_errors": errors},
    )


def processor() -> dict[str, str | None]:
    """This processor, as far as the kernel says: the name alone does not tell in a guest."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        cpuinfo = ""
    wanted = {
        "vendor": r"vendor_id|CPU implementer",
        "name": r"model name|Processor|uarch",
        "family": r"cpu family|CPU architecture",
        "model": r"model|CPU part",
        "stepping": r"stepping|CPU revision",
    }

    def first(pattern: str) -> str | None:
        found = re.search(rf"^(?:{pattern})\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
        return found.group(1).strip() if found else None

    return {key: first(pattern) for key, pattern in wanted.items()}


def iceoryx2(pair: str, seconds: float) -> tuple[list[dict[str, Any]], str]:
    """The peer's rows, each block between floors of its own process; or none, and why."""
    try:
        program = rust_peer("iceoryx2", "iceoryx2-ping")
        words = _execute([str(program), "--cpus", pair, "--seconds", f"{seconds}"], seconds)
    except ConsortError as error:
        return [], str(error)
    return peer_rows(json.loads(words), "floor of the Rust program"), ""


def _execute(command: list[str], seconds: float) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=4 * seconds + 60)
    except subprocess.TimeoutExpired as error:
        raise ConsortError(f"{Path(command[0]).name} did not end in time") from error
    if result.returncode != 0:
        raise ConsortError(
            f"{Path(command[0]).name}: {result.stderr.strip() or f'status {result.returncode}'}"
        )
    return result.stdout
