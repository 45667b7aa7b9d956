# SPDX-License-Identifier: Apache-2.0
"""`consort bench cross-isa-figure2` and `cross-isa-figure3`: a link's throughput and its blocking transfers.

The model of the QDMA beside what Neef et al. print, beside the link's engine that copies on this machine.
experiments/cross-isa-embedded-plus says what is fitted, what is predicted, and what differs.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Iterable
from typing import Any

from consort.base.errors import EnvironmentLacks
from consort.record import RunWriter
from consort.report import PAGES

from consort_bench import cross_isa_report as report
from consort_bench.cross_isa_points import largest_error, model_of, number, plateau, points, published
from consort_bench.programs import cpp_program
from consort_bench.qdma import DIRECTIONS, KIB, MIB, Qdma
from consort_bench.registry import BenchResult, Options, goal

Row = dict[str, Any]
ERROR_LIMIT = 10.0
# The engine's directions stand for the paper's; both sides are alike here.
STANDS_FOR = {"to_peer": "x86->Versal", "from_peer": "Versal->x86"}
ROUNDS, QUICK_ROUNDS = 30, 5
# About so many bytes are moved for each point of Figure 3, the paper's 1024 iterations at most.
BYTES, QUICK_BYTES = 1 << 30, 64 << 20


def run(options: Options) -> BenchResult:
    model = model_of()
    return _figure2(options, model) if options.name == "cross-isa-figure2" else _figure3(options, model)


def _figure2(options: Options, model: Qdma) -> BenchResult:
    rounds = options.iterations or (QUICK_ROUNDS if options.quick else ROUNDS)
    raw = _measured("throughput", rounds, options)
    memory = _measured("modify", max(3, rounds // 3), options)
    fit = points(model, "figure2")
    rows = throughput_rows(raw)
    goals = [
        goal(
            "cross_isa_figure2_largest_error",
            largest_error(fit, of_fitted=False),
            "%",
            "<=",
            ERROR_LIMIT,
            provenance="derived",
        ),
        *_content_goal("cross_isa_figure2", raw, memory),
        goal("cross_isa_figure2_engine_over_bare_copy", over_bare_copy(rows), "ratio", ">=", 0.8),
        goal("cross_isa_figure2_gain_by_outstanding", gain(rows), "ratio", ">=", 1.0),
    ]
    local = modify_rows(memory)
    sections = report.figure2(model, fit, rows, local)
    notes = [
        f"fitted error {largest_error(fit, of_fitted=True):.2f} %, of the points not fitted"
        f" {largest_error(fit, of_fitted=False):.2f} %",
        f"windows in {raw['pages']} pages; 256 MiB in {memory['pages']} pages" + _why(memory),
    ]
    return _finished(options, "cross-isa-figure2", sections, goals, [*fit, *rows, *local], notes)


def _figure3(options: Options, model: Qdma) -> BenchResult:
    raw = _measured("blocking", QUICK_BYTES if options.quick else BYTES, options)
    fit = points(model, "figure3")
    rows = blocking_rows(raw)
    longest = max(model.blocking_ns(d, 64 * MIB, 4 * KIB) for d in DIRECTIONS) / 1e6
    below = max(32 * KIB / model.blocking_ns(d, 32 * KIB, 4 * KIB) / plateau(model, d) for d in DIRECTIONS)
    goals = [
        goal(
            "cross_isa_figure3_largest_error",
            largest_error(fit, of_fitted=False),
            "%",
            "<=",
            ERROR_LIMIT,
            provenance="derived",
        ),
        # 'tens of milliseconds', in the paper's words.
        goal("cross_isa_figure3_64_mib", longest, "ms", "<=", 100, provenance="derived"),
        # 'does not reach the peak bandwidth' below 64 KiB.
        goal("cross_isa_figure3_32_kib_of_plateau", below, "ratio", "<=", 1, provenance="derived"),
        *_content_goal("cross_isa_figure3", raw),
        goal("cross_isa_figure3_measured_improvement", improvement(rows), "%", ">=", 0),
    ]
    sections = report.figure3(model, fit, rows)
    notes = [
        f"fitted error {largest_error(fit, of_fitted=True):.2f} %, of the points not fitted"
        f" {largest_error(fit, of_fitted=False):.2f} %",
        f"windows in {raw['pages']} pages",
    ]
    return _finished(options, "cross-isa-figure3", sections, goals, [*fit, *rows], notes)


def _measured(what: str, number_of: int, options: Options) -> Row:
    options.progress(what, None)
    program = cpp_program("link_transfers", "bench/link")
    done = subprocess.run([str(program), what, str(number_of)], capture_output=True, text=True)
    if done.returncode != 0:
        raise EnvironmentLacks(
            f"measuring failed: {done.stderr.strip()[-500:]}", "two processors and 1 GiB of memory are needed"
        )
    result: Row = json.loads(done.stdout)
    return result


def _content_goal(name: str, *results: Row) -> list[Row]:
    errors = sum(result["content_errors"] for result in results)
    return [goal(f"{name}_content_errors", errors, "transfers", "<=", 0, provenance="counted")]


def _why(memory: Row) -> str:
    return f" ({'; '.join(memory['notes'])})" if memory["notes"] else ""


def throughput_rows(raw: Row) -> list[Row]:
    """Median GB/s of each point; `outstanding` 0 is the bare copy on the host's processor."""
    rows = []
    for point in raw["points"]:
        moved = point["packet"] * point["packets"]
        rates = [moved / ns for ns in point["ns"]]
        rows.append(
            {
                "direction": STANDS_FOR[point["direction"]],
                "packet": point["packet"],
                "outstanding": point["outstanding"],
                "gb_per_s": statistics.median(rates),
                "least": min(rates),
                "most": max(rates),
                "rounds": len(rates),
                "provenance": "measured",
            }
        )
    return rows


def _rate(rows: Iterable[Row], packet: int, outstanding: int) -> float:
    return statistics.mean(
        float(row["gb_per_s"]) for row in rows if (row["packet"], row["outstanding"]) == (packet, outstanding)
    )


def over_bare_copy(rows: list[Row]) -> float:
    """The engine's rate over a bare copy's, for the largest packets with the most in flight."""
    packet, most = max(row["packet"] for row in rows), max(row["outstanding"] for row in rows)
    return _rate(rows, packet, most) / _rate(rows, packet, 0)


def gain(rows: list[Row]) -> float:
    """The rate with the most in flight over that with one, for the smallest packets."""
    packet, most = min(row["packet"] for row in rows), max(row["outstanding"] for row in rows)
    return _rate(rows, packet, most) / _rate(rows, packet, 1)


def modify_rows(memory: Row) -> list[Row]:
    """Local memory: the data that one core modifies in a time, beside the published."""
    rates = [memory["bytes"] / ns for ns in memory["ns"]]
    here = {
        "local_memory": "this machine",
        "gb_per_s": statistics.mean(rates),
        "pages": memory["pages"],
        "provenance": "measured",
    }
    rows = published("figure2")
    return [
        here,
        *(
            {
                "local_memory": core,
                "gb_per_s": number(rows, "read-modify-write", direction=core),
                "pages": "huge",
                "provenance": "published",
            }
            for core in ("x86", "Cortex-A72")
        ),
    ]


def blocking_rows(raw: Row) -> list[Row]:
    """Median time of each transfer, in small and in large descriptors [us]."""
    rows = []
    for point in raw["points"]:
        small, large = (statistics.median(point[key]) / 1e3 for key in ("small_ns", "large_ns"))
        rows.append(
            {
                "direction": STANDS_FOR[point["direction"]],
                "bytes": point["bytes"],
                "small_us": small,
                "large_us": large,
                "improvement_percent": 100 * (1 - large / small),
                "iterations": len(point["small_ns"]),
                "provenance": "measured",
            }
        )
    return rows


def improvement(rows: list[Row]) -> float:
    """The mean reduction of the time, as the model's is formed [%]."""
    return statistics.mean(float(row["improvement_percent"]) for row in rows)


def _finished(
    options: Options, name: str, sections: list[Row], goals: list[Row], rows: list[Row], notes: list[str]
) -> BenchResult:
    with RunWriter(name, "experiment", options.root, command=options.command, pages=PAGES) as writer:
        for section in sections:
            writer.add_section(**section)
        writer.add_goals(goals)
        finished = writer.finish()
    return BenchResult(
        goals,
        rows,
        finished.data["environment"],
        [*notes, f"report: {finished.path / 'report.html'}"],
        {"run": str(finished.path)},
    )
