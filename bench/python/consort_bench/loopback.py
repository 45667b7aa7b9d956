# SPDX-License-Identifier: Apache-2.0
"""The loopback test of Orciari et al. (IEEE TII 2024, section V): Table I and Figure 2, redone here.

A package of random bytes goes from the master process to the worker process and back; what is timed, and
how it differs from the paper, is in experiments/taming-edge-computing/table1/README.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.base.errors import environment_errors
from consort.base.waiting import Progress
from consort.record import Run, RunWriter
from consort.record.writer import scratch_folder
from consort.report import PAGES

from consort_bench.communication import table_1
from consort_bench.floor import Ratio, ratio_to_floor
from consort_bench.pair import Class, Recording, moved_bytes_per_second, record, spare_cpus
from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import goal

PAPER = "taming-edge-computing"
SIZES = (0, 1, 8, 16, 32, 64, 128, 256, 512, 1024)
# The paper's number of iterations, and one for a look.
ITERATIONS, QUICK = 1_000_000, 20_000
# A bulk copy over a socket, as the paper has it, and streaming through memory.
INTERFERENCE = ("loopback-copy", "stream")
CLASSES: tuple[Class, ...] = ("ordinary", "realtime")

# Where the load has no CPU of its own: how long both processes sleep between two blocks.
GAP_US = 1_000

# A mailbox each way costs two line transfers, as the floor does, and the copies of 8 bytes. Found when the
# limit was set, in 14 short runs: 0.82 to 1.21. A protocol with a third line transfer would lie at 1.5.
LIMIT_8_OVER_FLOOR = 1.4


@dataclass(frozen=True)
class Options:
    iterations: int = ITERATIONS
    sizes: Sequence[int] = SIZES
    interference: Sequence[bool] = (False, True)
    classes: Sequence[Class] = CLASSES
    name: str = "loopback"
    root: Path | None = None
    command: list[str] | None = None


@dataclass(frozen=True)
class Measured:
    """One configuration with everything that is printed of it."""

    key: str
    name: str
    interference: bool
    rows: list[dict[str, Any]]
    content_errors: int
    moved: dict[str, float]
    notes: list[str]

    def row(self, size: int) -> dict[str, Any] | None:
        return next((row for row in self.rows if row["bytes"] == size), None)


@dataclass(frozen=True)
class Result:
    run: Run
    configurations: list[Measured]
    published: list[Published]
    goals: list[dict[str, Any]]


@environment_errors()
def measure(options: Options, progress: Progress) -> Result:
    """Runs every configuration, keeps all samples in one run folder, and returns its figures."""
    published = read_published(experiment_folder(PAPER, "table1") / "published.csv")
    configurations: list[Measured] = []
    with RunWriter(options.name, "loopback", options.root, command=options.command, pages=PAGES) as writer:
        for scheduling in options.classes:
            for interference in options.interference:
                with scratch_folder(options.root) as scratch:
                    measured = _measure_one(
                        options, scheduling, interference, scratch, published, writer, progress
                    )
                configurations.append(measured)
        goals = _goals(configurations)
        for section in _sections(configurations, published):
            writer.add_section(**section)
        writer.add_goals([g for g in goals if g["met"] is not None])
        progress("writing the report", None)
        run = writer.finish()
    return Result(run, configurations, published, goals)


def _measure_one(
    options: Options,
    scheduling: Class,
    interference: bool,
    folder: Path,
    published: list[Published],
    writer: RunWriter,
    progress: Progress,
) -> Measured:
    key = f"{scheduling}-{'on' if interference else 'off'}"
    name = f"{scheduling}, interference {'on' if interference else 'off'}"
    recording = record(
        "loopback",
        [
            *("--iterations", str(options.iterations), "--sizes", ",".join(map(str, options.sizes))),
            *("--gap-us", str(_gap_us(scheduling, interference))),
        ],
        scheduling=scheduling,
        sources=INTERFERENCE if interference else (),
        seconds=_time_limit(options, scheduling),
        folder=folder,
        progress=progress,
        what=name,
    )
    if recording.refused:
        name += " (refused: ran as ordinary)"
    writer.add_configuration(
        key,
        name,
        recording.raw,
        interference=recording.interference,
        published=_published_rows(published, options.sizes, interference),
    )
    rows = [_row(recording, options.sizes, index) for index in range(len(options.sizes))]
    return Measured(
        key,
        name,
        interference,
        rows,
        recording.counter("content_errors"),
        moved_bytes_per_second(recording),
        recording.notes,
    )


def _gap_us(scheduling: Class, interference: bool) -> int:
    """Real-time processes that never sleep leave a load without a CPU of its own next to nothing."""
    return GAP_US if interference and scheduling == "realtime" and not spare_cpus() else 0


def _time_limit(options: Options, scheduling: Class) -> float:
    """Far above what is needed: a round trip that waits for the scheduler takes some 25 us on average."""
    each = 100e-6 if scheduling == "ordinary" else 20e-6
    return min(3600.0, 30.0 + options.iterations * len(options.sizes) * each)


def _row(recording: Recording, sizes: Sequence[int], index: int) -> dict[str, Any]:
    size = sizes[index]
    table = f"loopback_{size}"
    floor = recording.raw.tables["floor"].spec.attrs
    rounds = recording.raw.tables[table].spec.attrs["rounds"]
    ratio: Ratio = ratio_to_floor(
        recording.ns(table), rounds, index, len(sizes), recording.ns("floor"), floor["block"]
    )
    summary = recording.summary(table)
    return {
        "bytes": size,
        **summary.as_dict(),
        "over_floor": ratio.value,
        "floor_ns": ratio.floor_ns,
        "blocks": ratio.blocks,
        "blocks_used": ratio.blocks_used,
        "throughput_MB_per_s": None if size == 0 or not summary.mean else size / summary.mean * 1e3,
    }


def columns_beside(interference: bool) -> list[tuple[str, str]]:
    """The columns of Table I that a configuration stands beside: platform and interference."""
    if interference:
        return [("Jailhouse", "on")]
    return [("Jailhouse", "off"), ("Linux RT", "off")]


def printed(
    published: Iterable[Published], size: int, platform: str, interference: str
) -> dict[str, Published]:
    """One size's numbers in a column of Table I, by statistic."""
    return {
        row.statistic: row
        for row in published
        if (row.of["size"], row.of["platform"], row.of["interference"]) == (str(size), platform, interference)
    }


def _published_rows(
    published: list[Published], sizes: Sequence[int], interference: bool
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for size in sizes:
        for platform, state in columns_beside(interference):
            numbers = printed(published, size, platform, state)
            if numbers:
                rows.append(
                    {
                        "metric": f"loopback_{size}",
                        "values": {statistic: row.value for statistic, row in numbers.items()},
                        "unit": "us",
                        "source": f"{next(iter(numbers.values())).source}, {platform}, interference {state}",
                    }
                )
    return rows


def _goals(configurations: list[Measured]) -> list[dict[str, Any]]:
    errors = sum(c.content_errors for c in configurations)
    goals = [goal("loopback_content_errors", errors, "packages", "<=", 0)]
    # The configuration that says most about the channel: nothing else runs, and no one takes the cores away.
    quiet = next((c for c in reversed(configurations) if not c.interference), None)
    row = quiet.row(8) if quiet else None
    if quiet is not None and row is not None:
        goals.append(
            goal(
                "loopback_8_over_floor",
                row["over_floor"],
                "",
                "<=",
                LIMIT_8_OVER_FLOOR,
                reason="in no block did the floor before and the floor after agree",
            )
            | {"configuration": quiet.key}
        )
    return goals


def _sections(configurations: list[Measured], published: list[Published]) -> list[dict[str, Any]]:
    found = [_table_section(state, configurations, published) for state in (False, True)]
    found.append(_floor_section(configurations))
    found.append(throughput_section(configurations, published))
    return [section for section in found if section is not None]


def _table_section(
    interference: bool, configurations: list[Measured], published: list[Published]
) -> dict[str, Any] | None:
    """Table I for one state of the interference: for each size the published rows, then the measured ones."""
    mine = [c for c in configurations if c.interference == interference]
    if not mine:
        return None
    statistics = ("min", "max", "mean", "median", "p99", "p999", "p9999")
    rows: list[list[Any]] = []
    for size in (row["bytes"] for row in mine[0].rows):
        for platform, state in columns_beside(interference):
            numbers = printed(published, size, platform, state)
            if numbers:
                # The text, so that every digit stands as it is printed.
                texts = [numbers[s].text if s in numbers else None for s in statistics]
                rows.append([size, platform, "published", *texts])
        for c in mine:
            row = c.row(size)
            assert row is not None
            rows.append([size, c.name, row["provenance"], *(f"{row[s] / 1e3:.3f}" for s in statistics)])
    names = ("min", "max", "mean", "median", "p99", "p99.9", "p99.99")
    return {
        "title": f"Table I: round trip, interference {'on' if interference else 'off'}",
        "columns": [
            {"name": "size", "unit": "byte"},
            {"name": "platform"},
            {"name": "provenance"},
            *({"name": name, "unit": "µs"} for name in names),
        ],
        "rows": rows,
        "note": "The published rows were taken on an STM32MP157 (Cortex-M4 to Cortex-A7 and back), the"
        " measured ones between two processes of this machine: they are not competitors.",
        "source": "Orciari et al. 2024, Table I",
    }


def _floor_section(configurations: list[Measured]) -> dict[str, Any]:
    columns: list[dict[str, Any]] = [{"name": "size", "unit": "byte"}]
    for c in configurations:
        columns.append({"name": f"{c.key}: times the floor", "provenance": "measured"})
        columns.append({"name": f"{c.key}: blocks used"})
    rows: list[list[Any]] = []
    for row in configurations[0].rows:
        cells: list[Any] = [row["bytes"]]
        for c in configurations:
            other = c.row(row["bytes"])
            assert other is not None
            value = other["over_floor"]
            cells += [None if value is None else round(value, 3)]
            cells += [f"{other['blocks_used']} of {other['blocks']}"]
        rows.append(cells)
    return {
        "title": "Round trip over the bare cache-line round trip",
        "columns": columns,
        "rows": rows,
        "note": "The floor is measured before and after each block; a block counts where its two floors agree"
        " within 30 %. Each time is the mean of a block without its slowest tenth.",
    }


def throughput_section(configurations: list[Measured], published: list[Published]) -> dict[str, Any] | None:
    """Figure 2: throughput over size, the size divided by the mean round trip."""
    series: list[dict[str, Any]] = []
    for platform, state in (("Jailhouse", "off"), ("Jailhouse", "on")):
        points = [
            (row.of["size"], row.value)
            for row in published
            if (row.of["platform"], row.of["interference"], row.statistic) == (platform, state, "mean")
        ]
        series.append(
            {
                "name": f"{platform}, interference {state}",
                "provenance": "derived",
                "x": [float(size) for size, _ in points if size != "0"],
                "y": [float(size) / mean for size, mean in points if size != "0" and mean],
            }
        )
    modelled = [row for row in table_1(published) if not row["fitted"]]
    sizes = [float(row["point"].split()[0]) for row in modelled]
    series.append(
        {
            "name": "modelled from sizes 0 and 1 of Table I",
            "provenance": "derived",
            "x": sizes,
            "y": [size / row["modelled"] for size, row in zip(sizes, modelled, strict=True)],
        }
    )
    for c in configurations:
        rows = [row for row in c.rows if row["bytes"] > 0]
        series.append(
            {
                "name": c.name,
                "provenance": "measured",
                "x": [float(row["bytes"]) for row in rows],
                "y": [row["throughput_MB_per_s"] for row in rows],
            }
        )
    if not any(s["x"] for s in series if s["provenance"] == "measured"):
        return None
    return {
        "title": "Figure 2: throughput over size",
        "kind": "figure",
        "x": {"label": "package size", "unit": "byte", "log": True},
        "y": {"label": "throughput", "unit": "MB/s", "log": True},
        "series": series,
        "note": "Size divided by the mean time there and back. The published curves are derived from Table I:"
        " the figure itself prints no numbers.",
        "source": "Orciari et al. 2024, Table I and Figure 2",
    }
