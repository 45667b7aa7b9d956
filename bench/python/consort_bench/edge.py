# SPDX-License-Identifier: Apache-2.0
"""`consort bench edge-figure3`, `edge-figure4`: Orciari et al. 2024, Figures 3 and 4, redone.

The servo's step on the microcontroller against the application core, fixed and floating point, with and
without the time of communication: counted on the emulated boards, measured on this machine. What is compared
and what cannot be shown here is in experiments/taming-edge-computing/figure3 and figure4.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from consort.base.errors import EnvironmentLacks, environment_errors
from consort.base.toolchain.builds import need_source_tree
from consort.base.waiting import signals_to_exceptions
from consort.board.application import prepare_board
from consort.judge import Verdict
from consort.model import System, system_from_data
from consort.model.platform import find_platform, load_platform
from consort.record import RawRun, Run, RunWriter
from consort.record.ran import STATUS
from consort.record.summary import summarise
from consort.record.writer import scratch_folder
from consort.report import PAGES
from consort.run.application import prepare
from consort.run.flow import record_configuration
from consort.run.options import Options as RunOptions
from numpy.typing import NDArray

from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal

PAPER = "taming-edge-computing"
SOURCE = "Orciari et al. 2024, section V.B"
# The paper loops 2,000 inputs to 2 million iterations. A counted run repeats to the tick, so that one pass
# says all; the measured ones are as many as take 20 seconds each, or with --iterations 2000000 the paper's.
COUNTED, QUICK_COUNTED = 2_000, 100
MEASURED, QUICK_MEASURED = 20_000, 1_000
# An instruction takes 2 to this nanoseconds while instructions are counted: more than a tick of 40 ns, which
# the Cortex-M4F's clock has, and of 1 ns of the others. A count is right to less than an instruction.
SHIFT = 6
# The period of the measured jobs: time enough for an answer that waits for the scheduler. The paper's test
# has none.
PERIOD = "1ms"
ARITHMETICS = {"f32": ("0ulp", "floating point"), "q31": ("0LSB", "fixed point")}
STATISTICS = ("min", "max", "mean", "median")


@dataclass(frozen=True)
class Processor:
    """The processor of the step: its own core, or a worker for a master on another one."""

    key: str
    title: str
    platform: str
    core: str
    master: str = ""


@cache
def board_processors() -> tuple[Processor, ...]:
    """Processors on emulated boards that stand for the paper's Cortex-M4, the first one, and for its
    Cortex-A7."""
    path = experiment_folder(PAPER, "figure3").parent / "processors.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(Processor(**row) for row in csv.DictReader(line for line in file if line[0] != "#"))


def emulated_boards() -> list[str]:
    """The boards that the processors are cores of."""
    folder = experiment_folder(PAPER, "figure3")
    platforms = [load_platform(find_platform(p.platform, folder)) for p in board_processors()]
    return sorted({p.emulation.board or p.name for p in platforms if p.emulation is not None})


HOST_MASTER = Processor("master", "this machine, master's core", "linux-host", "master-0")
HOST_WORKER = Processor("worker", "this machine, worker's core", "linux-host", "worker-0", "master-0")
# Figure 3 runs the interference beside the test; Figure 4 takes its caches away, which no program can do
# here: the machine without that interference is as quiet as its caches can become.
INTERFERENCE = {"edge-figure3": "on", "edge-figure4": "off"}


# Effects that a count has no part of, beside the figure that stands for them.
CANNOT_SHOW = {
    "edge-figure3": " The boards have no caches: no count shows what the neighbour evicts.",
    "edge-figure4": " The boards have no caches: the counts are those of Figure 3; none shows what"
    " this figure is about.",
}


def system_of(processor: Processor, arithmetic: str, period: str = "3200us") -> System:
    """The servo example on one processor in one arithmetic."""
    tolerance = ARITHMETICS[arithmetic][0]
    task: dict[str, Any] = {
        "step": f"step.hpp::servo::step_{arithmetic}",
        "period": period,
        "on": processor.core,
        "input": {"function": f"inputs.py::rows_{arithmetic}"},
        "golden": {
            "function": "golden.py::golden",
            "arguments": {"arithmetic": arithmetic},
            "tolerance": {"command": tolerance},
        },
        "execution": "local",
    }
    if processor.master:
        task |= {"execution": "offloaded", "master": processor.master, "on_miss": "hold-last-output"}
    data: dict[str, Any] = {"consort": 1, "platform": processor.platform, "tasks": {"servo": task}}
    data["run"] = {"iterations": 1000, "interference": ["stream", "loopback-copy"]}
    folder = need_source_tree("this experiment") / "examples" / "servo"
    return system_from_data(data, file=folder / "edge.yaml")


def rows_of(raw: RawRun, processor: str, arithmetic: str, *, worker: bool, unit: str) -> list[dict[str, Any]]:
    """Without communication: the step. With it, for a worker: from the request's start to the answer.

    Of a board's worker only with it: while it computes, its master waits in turns that are counted as well;
    by itself it runs in a configuration of its own.
    """
    table = raw.tables["jobs"]
    clock = raw.manifest.clock
    scale = 1e9 / clock.ticks_per_second
    if clock.provenance == "counted":
        scale /= 2**SHIFT
    jobs = table.rows
    names: dict[str, NDArray[Any]] = {}
    if not worker or clock.provenance == "measured":
        names["without"] = jobs["compute"][jobs["compute"] > 0]
    if worker:
        exchanged = jobs[(jobs["sent"] > 0) & (jobs["received"] > jobs["sent"])]
        names["with"] = exchanged["received"] - exchanged["sent"]
    # A job that was given up counts with the time until then: a lower bound, and the row says so.
    late = int(np.count_nonzero(jobs["status"] & STATUS["deadline_misses"]))
    found: list[dict[str, Any]] = []
    for communication, ticks in names.items():
        summary = summarise(np.asarray(ticks, dtype=np.int64) * scale, unit, clock.provenance)
        assert summary is not None
        figures = {s: round(float(getattr(summary, s)), 1) for s in STATISTICS}
        found.append(
            {
                "processor": processor,
                "arithmetic": arithmetic,
                "communication": communication,
                "n": summary.n,
                "late": late,
                **figures,
                "unit": unit,
                "provenance": clock.provenance,
            }
        )
    return found


@environment_errors()
def run(options: Options) -> BenchResult:
    signals_to_exceptions()
    published = read_published(experiment_folder(PAPER, options.name.removeprefix("edge-")) / "published.csv")
    counted = min(options.iterations or (QUICK_COUNTED if options.quick else COUNTED), COUNTED)
    measured = options.iterations or (QUICK_MEASURED if options.quick else MEASURED)
    notes: list[str] = []
    rows: list[dict[str, Any]] = []
    wrong = 0
    with RunWriter(options.name, "experiment", options.root, command=options.command, pages=PAGES) as writer:
        for arithmetic in ARITHMETICS:
            for processor in board_processors():
                title = f"{processor.title}, {ARITHMETICS[arithmetic][1]}"
                options.progress(title, None)
                worker = bool(processor.master)
                entry = f"{processor.key}-{arithmetic}" + ("-offloaded" if worker else "")
                how = RunOptions(
                    target="board", iterations=counted, must_count=True, shift=SHIFT, root=options.root
                )
                try:
                    board = prepare_board(system_of(processor, arithmetic), options.progress, how)
                    (recorded,) = record_configuration(
                        board, board.key, how, writer, options.progress, entry=entry, title=title
                    )
                except EnvironmentLacks as error:
                    notes.append(f"not run: {title}: {error}")
                    continue
                rows += rows_of(recorded.raw, processor.key, arithmetic, worker=worker, unit="instructions")
                wrong += wrong_outputs(recorded.verdict)
            for processor in (HOST_MASTER, HOST_WORKER):
                rows_here, wrong_here = _measure(options, processor, arithmetic, measured, writer)
                rows += rows_here
                wrong += wrong_here
        compared = speed_ups(rows)
        goals = goals_of(options.name, compared, wrong)
        for section in sections(options.name, rows, compared, published):
            writer.add_section(**section)
        writer.add_goals([g for g in goals if g["met"] is not None])
        options.progress("writing the report", None)
        finished: Run = writer.finish()
    return BenchResult(
        goals,
        rows,
        finished.data["environment"],
        [*notes, f"report: {finished.path / 'report.html'}"],
        {"run": str(finished.path), "speed_ups": compared},
        lambda console: show(console, options.name, rows, compared, published),
    )


def _measure(
    options: Options, processor: Processor, arithmetic: str, jobs: int, writer: RunWriter
) -> tuple[list[dict[str, Any]], int]:
    state = INTERFERENCE[options.name]
    title = f"{processor.title}, {ARITHMETICS[arithmetic][1]}, interference {state}"
    prepared = prepare(system_of(processor, arithmetic, PERIOD), options.progress)
    entry = f"{processor.key}-{arithmetic}"
    how = RunOptions(iterations=jobs, realtime=options.scheduling != "ordinary")
    with scratch_folder(options.root) as scratch:
        kind: Any = f"{'offloaded' if processor.master else 'local'}-{state}"
        (recorded,) = record_configuration(
            prepared, kind, how, writer, options.progress, entry=entry, title=title, scratch=scratch
        )
        rows = rows_of(recorded.raw, processor.key, arithmetic, worker=bool(processor.master), unit="ns")
        return rows, wrong_outputs(recorded.verdict)


def wrong_outputs(verdict: Verdict) -> int:
    """The number of outputs that were not the expected ones."""
    return 0 if verdict.status is None else int(np.count_nonzero(verdict.status & STATUS["output_errors"]))


def speed_ups(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worker's processor against the microcontroller's fixed point, as the paper compares them.

    `faster`: the microcontroller's over the worker's, less one. `saved`: one less the inverse. The paper
    says "speed-up" and not which.
    """
    found = []
    for worker, base in (("a72", "m4f"), ("a72", "r5f"), ("worker", "master")):
        reference = [r for r in rows if (r["processor"], r["arithmetic"]) == (base, "q31")]
        for row in rows:
            if row["processor"] != worker or not reference:
                continue
            for statistic in ("median", "max"):
                ratio = reference[0][statistic] / row[statistic]
                found.append(
                    {"processor": worker, "against": f"{base}, q31", "arithmetic": row["arithmetic"]}
                    | {"communication": row["communication"], "statistic": statistic}
                    | {"faster_percent": round(100 * (ratio - 1), 1)}
                    | {"saved_percent": round(100 * (1 - 1 / ratio), 1), "provenance": row["provenance"]}
                )
    return found


def goals_of(name: str, compared: Sequence[dict[str, Any]], wrong: int) -> list[dict[str, Any]]:
    """Outputs equal to the bit everywhere; and the paper's finding, held on counts only."""
    key = name.replace("-", "_")
    goals = [goal(f"{key}_output_errors", wrong, "outputs", "<=", 0)]
    for arithmetic in ("f32", "q31"):
        saved = [
            c["saved_percent"]
            for c in compared
            if (c["processor"], c["against"], c["arithmetic"]) == ("a72", "m4f, q31", arithmetic)
            and (c["communication"], c["statistic"]) == ("with", "median")
        ]
        goals.append(
            goal(
                f"{key}_{arithmetic}_saved_by_offloading",
                saved[0] if saved else None,
                "%",
                ">=",
                0,
                provenance="counted",
                reason="a board did not run: see the notes",
            )
        )
    return goals


HEADS = ("processor", "arithmetic", "communication", "n", "late", *STATISTICS, "unit", "provenance")
COMPARED = ("processor", "against", "arithmetic", "communication", "statistic")


def sections(
    name: str,
    rows: Sequence[dict[str, Any]],
    compared: Sequence[dict[str, Any]],
    published: Sequence[Published],
) -> list[dict[str, Any]]:
    figure = name.removeprefix("edge-").replace("figure", "Figure ")
    words = "; ".join(row.note for row in published if row.value is None)
    return [
        {
            "title": f"{figure}: the controller's step, without and with communication",
            "columns": [{"name": head} for head in HEADS],
            "rows": [[row[head] for head in HEADS] for row in rows],
            "note": "Counted: instructions of all cores of the board between begin and end, the same in every"
            " run; a largest count is of these jobs, no worst case of a part. Measured: two like processors"
            " of this machine; late: no answer within 1 ms, counted with that time." + CANNOT_SHOW[name],
            "source": SOURCE,
        },
        {
            "title": f"{figure}: against the microcontroller's fixed point",
            "columns": [
                *({"name": head} for head in COMPARED),
                {"name": "faster by", "unit": "%"},
                {"name": "time saved", "unit": "%"},
                {"name": "provenance"},
            ],
            "rows": comparison_rows(compared, published),
            "note": f"The paper does not say which of the two its speed-up is. {words}".strip(),
            "source": SOURCE,
        },
    ]


def comparison_rows(compared: Sequence[dict[str, Any]], published: Sequence[Published]) -> list[list[Any]]:
    """The published speed-ups (in the paper's one column), then what was found here."""
    rows: list[list[Any]] = []
    for row in published:
        if row.value is not None and row.unit == "%":
            cells = [row.of["processor"], row.of["against"], row.of["arithmetic"], row.of["communication"]]
            rows.append([*cells, row.statistic, row.value, None, row.provenance])
    for c in compared:
        rows.append(
            [*(c[head] for head in COMPARED), c["faster_percent"], c["saved_percent"], c["provenance"]]
        )
    return rows


def show(
    console: Any,
    name: str,
    rows: Sequence[dict[str, Any]],
    compared: Sequence[dict[str, Any]],
    published: Sequence[Published],
) -> None:
    from rich.table import Table

    for section in sections(name, rows, compared, published):
        table = Table(title=section["title"], title_justify="left")
        for column in section["columns"]:
            unit = f", {column['unit']}" if "unit" in column else ""
            table.add_column(column["name"] + unit, no_wrap=True)
        for row in section["rows"]:
            table.add_row(*("" if cell is None else str(cell) for cell in row))
        console.print(table)
    for row in published:
        if row.value is None:
            console.print(f"published: {row.note}", highlight=False, soft_wrap=True)
