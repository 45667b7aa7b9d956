# SPDX-License-Identifier: Apache-2.0
"""`consort bench icc`: the channels against floors and peers, all in one run."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from consort.bench import board_icc
from consort.bench.blocks import Block, Ratio, central, combine
from consort.bench.programs import cpp_program, rust_peer
from consort.bench.registry import BenchResult, Options, goal
from consort.errors import ConsortError, EnvironmentLacks
from consort.record import RawRun, environment
from consort.runner.cpus import usable_cpus

SECONDS, QUICK_SECONDS = 30.0, 3.0
IOX = "iceoryx2-pubsub"


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
        rows, ratios = link_rows(raw)
        latest = latest_rows(raw)
    progress("iceoryx2", None)
    iox_rows, iox_reason = iceoryx2(pair, max(2.0, seconds / 4))
    ratios |= {(r["what"], r["bytes"], r["spin"]): r["ratio"] for r in iox_rows}
    dropped = sum(row["blocks_dropped"] for row in rows)
    note = f"{dropped} blocks dropped: their two floors differed by over 30 %"
    return BenchResult(goals(ratios, latest, iox_reason), rows + iox_rows + latest, environment(), [note])


def link_rows(raw: RawRun) -> tuple[list[dict[str, Any]], dict[tuple[str, int, str], float | None]]:
    """A row for each link: its ratio to the bare floor, to the raw copy of its size, and its quantiles."""
    ns = 1e9 / raw.manifest.clock.ticks_per_second / 2  # one way: half a round trip
    links = raw.manifest.config["links"]
    ticks = np.asarray(raw.tables["samples"].rows["ticks"])
    blocks = raw.tables["blocks"].rows
    centres = np.array(
        [central(ticks[b["first_sample"] : b["first_sample"] + b["samples"]]) for b in blocks], dtype=float
    )
    which = np.asarray(blocks["link"])
    samples_of: dict[int, list[int]] = {}
    for index, link in enumerate(which.tolist()):
        samples_of.setdefault(link, []).append(index)
    floor = np.flatnonzero(which == 0)
    if floor.size < 2:
        raise ConsortError("the benchmark ended before two floors were measured; give it more --seconds")
    ratios: dict[tuple[str, int, str], float | None] = {}
    rows = []
    for link, indices in samples_of.items():
        what, size, spin = links[link]["what"], links[link]["bytes"], links[link]["spin"]
        mine = np.concatenate(
            [
                ticks[blocks[i]["first_sample"] : blocks[i]["first_sample"] + blocks[i]["samples"]]
                for i in indices
            ]
        )
        if link == 0:
            ratio = Ratio(1.0, 1.0, 1.0, len(indices), 0)
        else:
            ratio = combine(
                [Block(centres[i - 1], centres[i], centres[i + 1]) for i in indices if i + 1 < which.size]
            )
        ratios[what, size, spin] = ratio.value
        rows.append(_row(what, size, spin, mine * ns, ratio))
    for row in rows:
        copy = ratios.get(("copy", row["bytes"], row["spin"]))
        row["over_copy"] = row["ratio"] / copy if copy and row["ratio"] and row["what"] != "copy" else None
    return rows, ratios


def _row(what: str, size: int, spin: str, times: Any, ratio: Ratio) -> dict[str, Any]:
    quantiles = np.percentile(times, [50, 99, 99.9], method="inverted_cdf")
    return {
        "what": what,
        "bytes": size,
        "spin": spin,
        "ratio": ratio.value,
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        "median_ns": float(quantiles[0]),
        "p99_ns": float(quantiles[1]),
        "p999_ns": float(quantiles[2]),
        "max_ns": float(times.max()),
        "samples": int(times.size),
        "blocks_kept": ratio.kept,
        "blocks_dropped": ratio.dropped,
        "provenance": "measured",
    }


def latest_rows(raw: RawRun) -> list[dict[str, Any]]:
    """Reads of 1 KiB of the latest value: idle, and under a writer that never pauses."""
    ns = 1e9 / raw.manifest.clock.ticks_per_second
    rows = []
    for name, what in (("snapshot", "Snapshot"), ("seqlock", "seqlock"), ("double_buffer", "DoubleBuffer")):
        for phase in ("idle", "flat"):
            times = np.asarray(raw.tables[f"{name}-{phase}"].rows["ticks"]) * ns
            counters = raw.manifest.counters
            row: dict[str, Any] = {
                "what": f"{what} read, writer {'flat out' if phase == 'flat' else 'idle'}",
                "key": f"{name}-{phase}",
                "bytes": 1024,
                "samples": int(times.size),
                "provenance": "measured",
            }
            if times.size:
                q = np.percentile(times, [50, 99, 99.9], method="inverted_cdf")
                row |= {
                    "median_ns": float(q[0]),
                    "p99_ns": float(q[1]),
                    "p999_ns": float(q[2]),
                    "max_ns": float(times.max()),
                }
            if phase == "flat":
                row |= {
                    k: int(counters[f"{name}_{k}"]) for k in ("torn", "backward", "max_retries", "updates")
                }
            rows.append(row)
    return rows


def iceoryx2(pair: str, seconds: float) -> tuple[list[dict[str, Any]], str]:
    """The peer's rows, each block between floors of its own process; or none, and why."""
    try:
        program = rust_peer("iceoryx2", "iceoryx2-ping")
        words = _execute([str(program), "--cpus", pair, "--seconds", f"{seconds}"], seconds)
    except ConsortError as error:
        return [], str(error)
    blocks: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for block in json.loads(words):
        blocks.setdefault((block["what"], block["bytes"]), []).append(block)
    rows = []
    for (what, size), mine in blocks.items():
        ratio = combine([Block(b["floor_before_ns"], b["central_ns"], b["floor_after_ns"]) for b in mine])
        rows.append(
            {
                "what": what if what == IOX else "floor of the Rust program",
                "bytes": size,
                "spin": "pause",
                "ratio": ratio.value,
                "ratio_low": ratio.low,
                "ratio_high": ratio.high,
                # Of blocks, not of all samples: the peer reports each block by itself.
                "median_ns": float(np.median([b["median_ns"] for b in mine])),
                "p99_ns": float(np.median([b["p99_ns"] for b in mine])),
                "p999_ns": float(np.median([b["p999_ns"] for b in mine])),
                "max_ns": max(b["max_ns"] for b in mine),
                "samples": sum(b["n"] for b in mine),
                "blocks_kept": ratio.kept,
                "blocks_dropped": ratio.dropped,
                "provenance": "measured",
            }
        )
    return rows, ""


def goals(
    ratios: dict[tuple[str, int, str], float | None], latest: list[dict[str, Any]], iox_reason: str
) -> list[dict[str, Any]]:
    def of(what: str, size: int, spin: str) -> float | None:
        return ratios.get((what, size, spin))

    def over(a: float | None, b: float | None) -> float | None:
        return a / b if a is not None and b else None

    def over_floor(
        name: str, size: int, spin: str, limit: float, floor: float | None = 1.0
    ) -> dict[str, Any]:
        """A goal of the mailbox; beside it, what a bare copy of that size takes of the same floor."""
        made = goal(name, over(of("Mailbox", size, spin), floor), "ratio", "<=", limit, reason=dropped)
        return made | {"raw_copy": over(of("copy", size, spin), floor)}

    def over_copy(name: str, size: int, spin: str) -> dict[str, Any]:
        copy = of("copy", size, spin)
        made = goal(name, over(of("Mailbox", size, spin), copy), "ratio", "<=", 1.1, reason=dropped)
        return made | {"raw_copy": copy}

    mailbox = of("Mailbox", 8, "pause")
    boost = of("Boost.Lockfree spsc_queue", 8, "pause")
    by_key = {row["key"]: row for row in latest}
    flat, idle = by_key["snapshot-flat"], by_key["snapshot-idle"]
    dropped = "every block was dropped: the floors never agreed; run it again with more --seconds"
    return [
        over_floor("mailbox_8_over_floor", 8, "bare", 1.1),
        over_floor("mailbox_48_over_floor", 48, "bare", 1.1),
        over_floor("mailbox_8_pause_over_floor", 8, "pause", 0.75),
        over_floor("mailbox_48_pause_over_floor", 48, "pause", 0.75),
        over_floor("mailbox_8_pause_over_pause_floor", 8, "pause", 1.15, of("floor", 4, "pause")),
        over_copy("mailbox_48_over_copy", 48, "bare"),
        over_copy("mailbox_1024_over_copy", 1024, "pause"),
        goal(
            "iceoryx2_over_mailbox",
            over(of(IOX, 8, "pause"), mailbox),
            "ratio",
            ">=",
            5,
            reason=iox_reason or dropped,
        ),
        goal(
            "boost_over_mailbox",
            over(boost, mailbox),
            "ratio",
            ">=",
            2,
            reason=dropped if boost else "Boost.Lockfree is not installed (apt-get install libboost-dev)",
        ),
        goal("snapshot_torn", flat["torn"] + flat["backward"], "reads", "<=", 0, provenance="counted"),
        goal("snapshot_p999_over_idle", over(flat.get("p999_ns"), idle.get("median_ns")), "ratio", "<=", 4),
    ]


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
