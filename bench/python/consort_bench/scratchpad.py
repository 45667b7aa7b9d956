# SPDX-License-Identifier: Apache-2.0
"""`consort bench scratchpad`: spm-centric-os, Tables IV, V, Figures 5, 6, section VII.B, on this machine.

The kernels of examples/automotive and four access patterns, out of main memory and in three phases, beside an
idle and beside a streaming neighbour; what the scratchpad kernel itself costs; responses beside their bounds;
packets that tasks take from a network interface and send back, in virtual time and over UDP.
experiments/spm-centric-os/scratchpad says what differs from the paper.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from consort.analysis.three_phase import DmaShare, bound_core
from consort.analysis.unitask import UniTask
from consort.base.environment import environment
from consort.base.errors import EnvironmentLacks

from consort_bench.programs import cpp_program
from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal
from consort_bench.scratchpad_figures import figures

PAPER = "spm-centric-os"
JOBS, QUICK = 1000, 100
SLOT_US, PERIOD_US = 100, 1000
# How long packets are offered for each slot and each size of mirror.
BANDWIDTH_MS = {False: 2000, True: 200}
# An image of at least so many bytes is long enough to be displaced: what the paper calls memory intensive.
MEMORY_BOUND = 8 << 10
# Which published execution times (columns of Table V) go with which way to run.
TABLE_V = {True: "SPM time", False: "SRAM time"}


@dataclass(frozen=True)
class Times:
    """One kernel in one way, times in ns. `spread` is the 99.9th percentile over the median."""

    median: float
    p999: float
    longest: float
    warming: float
    jobs: int

    @property
    def spread(self) -> float:
        return self.p999 / self.median


Way = tuple[bool, bool]  # three phases, streaming neighbour


def times_of(row: dict[str, Any]) -> Times:
    execution = np.asarray(row["execution_ns"], dtype=float)
    if not execution.size:
        raise ValueError(f"{row['kernel']}: no job was measured")
    return Times(
        float(np.median(execution)),
        float(np.percentile(execution, 99.9)),
        float(execution.max()),
        float(np.median(row["warming_ns"])),
        int(execution.size),
    )


def table_of(rows: list[dict[str, Any]]) -> dict[str, dict[Way, Times]]:
    """Times by kernel, in the order of the rows, and way."""
    table: dict[str, dict[Way, Times]] = {}
    for row in rows:
        table.setdefault(row["kernel"], {})[row["three_phase"], row["streaming"]] = times_of(row)
    return table


def memory_bound(rows: list[dict[str, Any]]) -> list[str]:
    found = {r["kernel"] for r in rows if r["three_phase"] and r["bytes"] >= MEMORY_BOUND}
    return sorted(found)


def spread_ratio(table: dict[str, dict[Way, Times]], kernels: list[str]) -> float:
    """Spread in three phases over spread out of main memory, beside the stream: geometric mean."""
    ratios = [table[k][True, True].spread / table[k][False, True].spread for k in kernels]
    return exp(sum(map(log, ratios)) / len(ratios))


def responses(together: dict[str, Any]) -> list[dict[str, Any]]:
    """Each task's longest response beside its bound, for executions as long as the longest seen; in ticks."""
    tasks = [UniTask(t["task"], t["execution"], t["period"], t["period"]) for t in together["tasks"]]
    # One core has every slot.
    bounds = bound_core(tasks, DmaShare.equal(together["slot"], 1))
    slot_us = together["slot_ns"] / 1000
    rows = []
    for task, bound in zip(together["tasks"], bounds, strict=True):
        in_us = slot_us / together["slot"]
        rows.append(
            {
                "task": task["task"],
                "jobs": task["jobs"],
                "execution_us": task["execution"] * in_us,
                "response_us": task["response"] * in_us,
                "bound_us": None if bound.response is None else bound.response * in_us,
                "deadline_us": task["period"] * in_us,
            }
        )
    return rows


def why_not_bounded(together: dict[str, Any]) -> str:
    """Empty where the run kept what the bound assumes."""
    lost = {k: together[k] for k in ("slots_missed", "slots_overrun", "releases_lost") if together[k]}
    if not lost:
        return ""
    said = ", ".join(f"{number} {what.replace('_', ' ')}" for what, number in lost.items())
    return f"{said}: the machine did not keep the slots, so the bound does not apply"


def goals_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    rows = result["kernels"] + result["patterns"]
    together, overheads = result["together"], result["overheads"]
    switch = overheads["switch_ns"]
    why = why_not_bounded(together)
    ratios = [
        r["response_us"] / r["bound_us"] if r["bound_us"] is not None else float("inf")
        for r in responses(together)
    ]
    return [
        goal(
            "spread_three_phase_over_direct",
            spread_ratio(table_of(rows), memory_bound(rows)),
            "ratio",
            "<=",
            1,
        ),
        goal(
            "slot_handling",
            float(np.mean(together["step_ns"])) / together["slot_ns"],
            "of a slot",
            "<=",
            0.01,
        ),
        goal(
            "context_switch",
            float(np.mean(switch)) / overheads["step_slot_ns"] if switch else None,
            "of a slot",
            "<=",
            0.01,
            reason="no job was ready when the one before it ended",
        ),
        goal("response_over_bound", None if why else max(ratios), "ratio", "<=", 1, reason=why),
    ]


def run(options: Options) -> BenchResult:
    if options.board is not None:
        from consort_bench.board_scratchpad import run_on_board

        return run_on_board(options)
    jobs = options.iterations or (QUICK if options.quick else JOBS)
    published = read_published(experiment_folder(PAPER, "figure7") / "published.csv")
    of_scratchpad = read_published(experiment_folder(PAPER, "scratchpad") / "published.csv")
    options.progress("building", None)
    program = cpp_program("scratchpad", "bench/scratchpad")
    options.progress("measuring", None)
    ended = subprocess.run([program, str(jobs), str(SLOT_US), str(PERIOD_US)], capture_output=True, text=True)
    if ended.returncode == 3:
        raise EnvironmentLacks(ended.stderr.strip(), "a machine of at least two processors")
    if not ended.stdout:
        raise EnvironmentLacks(f"the benchmark ended early: {ended.stderr.strip()[-800:]}", "see its message")
    result: dict[str, Any] = json.loads(ended.stdout)
    goals = goals_of(result)
    options.progress("packets", None)
    packets = bandwidth_rows(_packets(BANDWIDTH_MS[options.quick]), of_scratchpad)
    goals += bandwidth_goals(packets)
    wrong = sum(row["wrong"] for row in packets) + (0 if result["right"] else 1)
    goals.append(goal("wrong_results", wrong, "count", "<=", 0))
    rows = [*overhead_rows(result, published), *kernel_rows(result, published)]
    rows += packets
    rows += [{"what": "response", **row} for row in responses(result["together"])]
    notes = [f"run together on processors {result['together']['cpus']}", *result["together"]["notes"]]
    return BenchResult(
        goals,
        rows,
        environment(),
        notes,
        show=lambda console: _show(console, rows),
        figures=figures(rows),
    )


def _packets(milliseconds: int) -> list[dict[str, Any]]:
    program = cpp_program("bandwidth", "bench/scratchpad")
    ended = subprocess.run([program, str(milliseconds)], capture_output=True, text=True)
    if not ended.stdout:
        raise EnvironmentLacks(f"no packets were moved: {ended.stderr.strip()[-800:]}", "see its message")
    rows: list[dict[str, Any]] = json.loads(ended.stdout)
    return rows


def bandwidth_rows(rows: list[dict[str, Any]], published: list[Published]) -> list[dict[str, Any]]:
    """Section VII.B: the bandwidth that came back, in virtual time and on this machine, beside the published
    [Mb/s]."""
    printed = {row.of["of"]: row.value for row in published if row.statistic == "outgoing bandwidth"}
    return [
        {
            "what": "VII.B",
            "slot_us": row["slot_us"],
            "packets_a_load": row["packets_a_load"],
            "simulated_mbps": row["simulated_mbps"],
            "measured_mbps": row["measured_mbps"],
            "published_mbps": printed.get(f"slot of {row['slot_us']} us"),
            "slots_missed": row["slots_missed"],
            "cores": "together" if row["together"] else "one after the other",
            "wrong": row["wrong"],
        }
        for row in rows
    ]


def bandwidth_goals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Batches carry at least four times what the paper's single packets did, at equal slots."""
    batches = [row for row in rows if row["packets_a_load"] > 1]
    missed = sum(row["slots_missed"] for row in batches)
    why = f"{missed} slots missed or overrun: the machine did not keep the slots" if missed else ""
    goals = []
    for kind in ("simulated", "measured"):
        value = min(row[f"{kind}_mbps"] / row["published_mbps"] for row in batches)
        short = kind == "measured" and missed and value < 4
        goals.append(
            goal(
                f"io_bandwidth_over_paper_{kind}",
                None if short else value,
                "ratio",
                ">=",
                4,
                provenance=kind,
                reason=why if short else "",
            )
        )
    return goals


def _one(published: list[Published], table: str, benchmark: str, statistic: str) -> float | None:
    for row in published:
        if row.of == {"table": table, "benchmark": benchmark} and row.statistic == statistic:
            return row.value
    return None


def overhead_rows(result: dict[str, Any], published: list[Published]) -> list[dict[str, Any]]:
    """Table IV: this machine's beside the published [us]."""
    overheads = result["overheads"]
    of = {
        "partition load time": overheads["load_ns"],
        "partition unload time": overheads["unload_ns"],
        "DMA setup": overheads["step_ns"],
        "context switch": overheads["switch_ns"],
    }
    rows = []
    for name, samples in of.items():
        us = np.asarray(samples, dtype=float) / 1000
        rows.append(
            {
                "what": "Table IV",
                "name": name,
                "median_us": float(np.median(us)) if us.size else None,
                "p99_us": float(np.percentile(us, 99)) if us.size else None,
                "published_us": _one(published, "IV", "", name),
            }
        )
    return rows


def kernel_rows(result: dict[str, Any], published: list[Published]) -> list[dict[str, Any]]:
    """Figure 5 (the patterns) and Figure 6 with Table V (the kernels)."""
    rows = []
    for what, part in (("Figure 5", "patterns"), ("Table V", "kernels")):
        for name, ways in table_of(result[part]).items():
            for (phases, streaming), t in ways.items():
                rows.append(
                    {
                        "what": what,
                        "name": name,
                        "three_phase": phases,
                        "streaming": streaming,
                        "median_us": t.median / 1000,
                        "p999_us": t.p999 / 1000,
                        "max_us": t.longest / 1000,
                        "spread": t.spread,
                        "warming_us": t.warming / 1000,
                        "jobs": t.jobs,
                        "published_us": _one(published, "V", name, TABLE_V[phases]),
                    }
                )
    return rows


def _show(console: Any, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    def text(value: Any) -> str:
        return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)

    for what in ("Table IV", "Figure 5", "Table V", "VII.B", "response"):
        part = [r for r in rows if r["what"] == what]
        table = Table(
            title=f"{what}, measured; published beside" if what != "response" else "responses and bounds"
        )
        heads = [h for h in part[0] if h != "what"]
        for head in heads:
            table.add_column(head.replace("_", " "))
        for row in part:
            table.add_row(*(text(row[h]) for h in heads))
        console.print(table)
