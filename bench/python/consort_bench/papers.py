# SPDX-License-Identifier: Apache-2.0
"""`consort bench loopback`, `table1`, `figure2` … `figure5`: the papers' communication experiments.

Each stands beside what the paper prints; experiments/ says what is done and what differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consort.base.errors import BadInput
from consort.base.waiting import signals_to_exceptions

from consort_bench import board_one_way, one_way
from consort_bench import loopback as loopback_test
from consort_bench.pair import Class
from consort_bench.published import Published
from consort_bench.registry import BenchResult, Options

# A look at the one-way experiments: iterations of a run, and runs.
QUICK_ONE_WAY = (100, 3)
STATISTICS = {
    "min": "min",
    "max": "max",
    "mean": "mean",
    "median": "median",
    "p99": "p99",
    "p999": "p99.9",
    "p9999": "p99.99",
}


def run(options: Options) -> BenchResult:
    """Runs the experiment that `options.name` names."""
    signals_to_exceptions()
    if options.board is not None:
        return board_one_way.run(options)
    if options.name in one_way.EXPERIMENTS:
        return _run_one_way(options)
    return _run_loopback(options)


def _run_loopback(options: Options) -> BenchResult:
    if options.iterations is not None and options.quick:
        raise BadInput("give --iterations or --quick, not both", field="--quick")
    iterations = options.iterations or (loopback_test.QUICK if options.quick else loopback_test.ITERATIONS)
    result = loopback_test.measure(
        loopback_test.Options(
            iterations=iterations,
            sizes=options.sizes or loopback_test.SIZES,
            interference=_choose(options.interference, {"off": False, "on": True}),
            classes=_choose(options.scheduling, {"ordinary": "ordinary", "realtime": "realtime"}),
            name=options.name,
            root=options.root,
            command=options.command,
        ),
        options.progress,
    )
    rows = [
        {"configuration": c.key, "interference_bytes_per_second": c.moved, **row}
        for c in result.configurations
        for row in c.rows
    ]
    show = _show_throughput if options.name == "figure2" else _show_round_trips
    return BenchResult(
        result.goals,
        rows,
        result.run.data["environment"],
        [f"report: {result.run.path / 'report.html'}"],
        {"run": str(result.run.path), "published": _published(result.published)},
        lambda console: show(console, result),
    )


def _run_one_way(options: Options) -> BenchResult:
    if options.sizes:
        raise BadInput(f"{options.name} has the paper's sizes; leave --sizes out", field="--sizes")
    iterations, runs = QUICK_ONE_WAY if options.quick else (one_way.ITERATIONS, one_way.RUNS)
    # The paper's programs have their processors to themselves: the real-time set-up comes closest.
    scheduling: Class = "ordinary" if options.scheduling == "ordinary" else "realtime"
    result = one_way.measure(
        one_way.EXPERIMENTS[options.name],
        one_way.Options(
            iterations=options.iterations or iterations,
            runs=runs,
            scheduling=scheduling,
            loads=_choose(options.interference, {"off": "idle", "on": "STREAM"}),
            root=options.root,
            command=options.command,
        ),
        options.progress,
    )
    rows = [
        {"load": c.load, "load_bytes_per_second": c.moved, **row}
        for c in result.configurations
        for row in c.rows
    ]
    return BenchResult(
        result.goals,
        rows,
        result.run.data["environment"],
        [f"report: {result.run.path / 'report.html'}"],
        {"run": str(result.run.path), "published": _published(result.published)},
        lambda console: _show_one_way(console, result),
    )


def _choose(given: str, known: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(known.values()) if given == "both" else (known[given],)


def _published(rows: Sequence[Published]) -> list[dict[str, Any]]:
    return [
        {**row.of, "statistic": row.statistic, "value": row.value, "unit": row.unit, "note": row.note}
        | {"provenance": row.provenance, "source": row.source}
        for row in rows
    ]


def _show_table(console: Any, title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for index, head in enumerate(heads):
        words = any(isinstance(row[index], str) and row[index][:1].isalpha() for row in rows)
        table.add_column(head, justify="left" if words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    console.print(table)


def _show_round_trips(console: Any, result: loopback_test.Result) -> None:
    """Prints each configuration's published numbers above the measured ones."""
    for c in result.configurations:
        rows: list[list[Any]] = []
        for row in c.rows:
            size = row["bytes"]
            for platform, state in loopback_test.columns_beside(c.interference):
                numbers = loopback_test.printed(result.published, size, platform, state)
                if numbers:
                    cells = [numbers[s].text for s in ("min", "max", "mean")]
                    rows.append([size, "published", f"{platform}", *cells, *[None] * 5])
            figures = [f"{row[s] / 1e3:.3f}" for s in STATISTICS]
            over = row["over_floor"]
            rows.append([size, "measured", "here", *figures, None if over is None else f"{over:.2f}"])
        heads = ["bytes", "provenance", "platform", *STATISTICS.values(), "x floor"]
        _show_table(console, f"round trip, µs: {c.name}", heads, rows)
        floor = c.rows[0]["floor_ns"] / 1e3
        console.print(f"floor (bare cache-line round trip, measured): {floor:.3f} µs", highlight=False)
        _show_load(console, c.moved, c.notes)


def _show_throughput(console: Any, result: loopback_test.Result) -> None:
    section = loopback_test.throughput_section(result.configurations, result.published)
    assert section is not None
    sizes = [row["bytes"] for row in result.configurations[0].rows if row["bytes"] > 0]
    rows = []
    for series in section["series"]:
        by_size = dict(zip(series["x"], series["y"], strict=True))
        rows.append([series["name"], series["provenance"], *(f"{by_size[float(s)]:.3f}" for s in sizes)])
    title = "size / mean round trip, MB/s, over the size in bytes"
    _show_table(console, title, ["configuration", "provenance", *map(str, sizes)], rows)
    console.print("published: derived from the means of Table I", highlight=False)
    for c in result.configurations:
        _show_load(console, c.moved, c.notes)


def _show_one_way(console: Any, result: one_way.Result) -> None:
    rows = one_way.table_rows(result.configurations, result.published)
    heads = ["what", "direction", "load", "provenance", "min", "median", "mean", "p99", "p99.9", "max"]
    _show_table(console, f"{result.experiment.title}, ns", heads, rows)
    for row in result.published:
        if row.value is None:
            where = f"{row.of['direction']}, {row.of['load']}"
            console.print(f"published, {where}: {row.note}", highlight=False, soft_wrap=True)
    for c in result.configurations:
        offset = one_way.clock_offset_ns(c)
        console.print(
            f"{c.name}: half the difference of the two directions' shortest times is {round(offset)} ns",
            highlight=False,
        )
        _show_load(console, c.moved, c.notes)


def _show_load(console: Any, moved: dict[str, float], notes: Sequence[str]) -> None:
    for source, rate in moved.items():
        console.print(f"interference, {source}: {rate / 1e6:.0f} MB/s (measured)", highlight=False)
    for note in notes:
        console.print(f"note: {note}", highlight=False, soft_wrap=True)
