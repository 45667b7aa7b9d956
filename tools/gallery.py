# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/gallery.md from the tables and the description of experiments/.

Usage: .venv/bin/python tools/gallery.py [FOLDER]     without FOLDER: docs/images/gallery
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from consort.analysis.system import analyze_system
from consort.model import load_system
from consort.record.ran import SLICES
from consort.simulate.build import prepare
from consort.simulate.engine import simulate as simulated
from consort.sweep.page import COLOURS, MARKERS, PAPER
from consort_remote.formulas import b2b, pipelined, utilisation
from matplotlib.axes import Axes

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench" / "python"))
from consort_bench import figure7, qdma  # noqa: E402
from consort_bench.cross_isa_points import LARGE, SMALL, model_of  # noqa: E402
from consort_bench.published import read_published  # noqa: E402

Row = dict[str, str]


def rows(experiment: str, name: str = "published", **chosen: str) -> list[Row]:
    """The rows of an experiment's table that have a value, and these in their columns."""
    text = (ROOT / "experiments" / experiment / f"{name}.csv").read_text(encoding="utf-8")
    found = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return [
        row
        for row in found
        if row.get("value", "-") and all(row[column] == wanted for column, wanted in chosen.items())
    ]


def line(axes: Axes, number: int, points: Iterable[tuple[float, float]], label: str) -> None:
    x, y = zip(*sorted(points), strict=True)
    dashes = ("-", "--", ":", "-.")[number % 4]
    # Filled or not: curves that lie upon one another are both seen.
    fill = "none" if number % 2 else "full"
    axes.plot(
        x,
        y,
        dashes,
        marker=MARKERS[number],
        color=COLOURS[number],
        label=label,
        fillstyle=fill,
        markersize=4 + 2 * number,
    )


def bars(axes: Axes, groups: list[str], series: dict[str, list[float]], unit: str) -> None:
    width = 0.8 / len(series)
    for number, (label, values) in enumerate(series.items()):
        at = np.arange(len(groups)) + (number - (len(series) - 1) / 2) * width
        axes.bar(at, values, width, label=label, color=COLOURS[number])
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(unit)
    axes.grid(visible=False, axis="x")


def taming_figure2(times: Axes, rates: Axes) -> None:
    """Table I beside Figure 2, which is its sizes divided by its means."""
    number = 0
    for platform in ("Jailhouse", "Linux RT"):
        for load in ("off", "on"):
            of = {"platform": platform, "interference": load}
            label = f"{platform}, interference {load}"
            some = rows("taming-edge-computing/table1", statistic="mean", **of)
            if some:
                line(times, number, ((float(r["size"]) or 0.5, float(r["value"])) for r in some), label)
            some = rows("taming-edge-computing/figure2", statistic="throughput", **of)
            if some:
                line(rates, number, ((float(r["size"]), float(r["value"])) for r in some), label)
            number += 1
    times.set(title="Table I: mean round trip, published", xlabel="message [B], 0 drawn at 0.5", ylabel="µs")
    rates.set(title="Figure 2: throughput, derived from Table I", xlabel="message [B]", ylabel="MB/s")
    for axes in (times, rates):
        axes.set_xscale("log", base=2)
    times.set_yscale("log")
    times.legend()


def taming_figure3(gains: Axes, counts: Axes) -> None:
    """Figures 3 and 4: gains of the application core; the instructions of the same step here."""
    stated = [
        (f"Figure {figure},\n{row['arithmetic']}", float(row["value"]))
        for figure in (3, 4)
        for row in rows(f"taming-edge-computing/figure{figure}", statistic="max", unit="%")
    ]
    bars(gains, [name for name, _ in stated], {"published": [value for _, value in stated]}, "%")
    gains.set_title("A7 before the M4 in fixed point, worst case, published")
    counted = rows("taming-edge-computing/figure3", "counted")
    cores = [(core, how) for core in ("m4f", "r5f", "a72") for how in ("without", "with")]
    cores = [one for one in cores if any((r["processor"], r["communication"]) == one for r in counted)]
    series = {
        arithmetic: [
            float(r["median"])
            for core in cores
            for r in counted
            if (r["processor"], r["communication"]) == core and r["arithmetic"] == arithmetic
        ]
        for arithmetic in ("f32", "q31")
    }
    ways = {"with": ",\noffloaded", "without": ""}
    names = [core + ways[how] for core, how in cores]
    bars(counts, names, series, "instructions")
    counts.set_title("The controller's step on emulated cores, counted")
    counts.legend()


def icc_figures(published: Axes, counted: Axes) -> None:
    """Figure 3's medians beside Figure 5's transfer, which the paper only plots."""
    memories = ["DDR", "DDR/CCI", "OCM", "TCM"]
    series = {
        f"{way}, {load}": [
            float(r["value"])
            for memory in memories
            for r in rows("low-latency-icc/figure3", direction=way, load=load, memory=memory)
        ]
        for way in ("APU->RPU", "RPU->APU")
        for load in ("idle", "STREAM")
    }
    bars(published, memories, series, "ns, median")
    published.set_title("Figure 3: one byte, one way, published")
    published.legend()
    some = rows("low-latency-icc/figure5", "counted")
    ways = dict.fromkeys((r["what"], r["direction"]) for r in some)
    for number, (what, way) in enumerate(ways):
        mine = [r for r in some if (r["what"], r["direction"]) == (what, way) and r["bytes"]]
        points = ((float(r["bytes"]), float(r["median"])) for r in mine)
        line(counted, number, points, f"{what}, {way}")
    counted.set(title="Figure 5: array and flag, counted", xlabel="bytes", ylabel="instructions, median")
    counted.set_xscale("log", base=2)
    counted.set_yscale("log", base=2)
    counted.legend()


def icc_figure4(published: Axes, counted: Axes) -> None:
    """Figure 4's medians without load; what an interrupt and a byte take between two emulated cores."""
    stated = rows("low-latency-icc/figure4", load="idle", statistic="median")
    bars(
        published,
        [r["direction"] for r in stated],
        {"idle": [float(r["value"]) / 1000 for r in stated]},
        "µs",
    )
    published.set_title("Figure 4: an interrupt, idle, median, published")
    some = rows("low-latency-icc/figure4", "counted")
    ways = list(dict.fromkeys(r["direction"] for r in some))
    series = {
        what: [float(r["median"]) for way in ways for r in some if (r["what"], r["direction"]) == (what, way)]
        for what in dict.fromkeys(r["what"] for r in some)
    }
    bars(counted, ways, series, "instructions, median")
    counted.set_title("An interrupt and a byte on emulated cores, counted")
    counted.set_ylim(top=35)
    counted.legend(loc="upper center", ncols=2)


def remap_figure13(hops: Axes, others: Axes) -> None:
    """Figure 13's latencies of 64 bytes, and those of other systems in Table II."""
    stated = rows("remap/system", item="figure13", statistic="latency")
    bars(hops, [r["configuration"] for r in stated], {"64 B": [float(r["value"]) for r in stated]}, "ns")
    hops.set_title("Figure 13: 64 bytes, published")
    stated = rows("remap/system", item="table2", statistic="latency")
    names = [f"{r['what']}\n{r['configuration'].replace(' between nodes', '')}" for r in stated]
    bars(others, names, {"published": [float(r["value"]) for r in stated]}, "ns")
    others.tick_params(axis="x", labelsize="small")
    others.set_title("Table II: other systems, published")


def cross_isa(rates: Axes, times: Axes) -> None:
    """The paper prints its plateau and no point: a model that is fitted to it, beside it."""
    model, way = model_of(), qdma.DIRECTIONS[1]
    for number, outstanding in enumerate((1, 4, 16, 64)):
        packets = ((float(size), model.throughput(way, size, outstanding)) for size in qdma.PACKETS)
        line(rates, number, packets, f"model, {outstanding} outstanding")
    (plateau,) = rows("cross-isa-embedded-plus/figure2", statistic="plateau", direction=way)
    rates.axhline(float(plateau["value"]), color="k", linewidth=1, label="plateau, published")
    rates.set(title=f"Figure 2: {way}", xlabel="packet [B]", ylabel="GB/s")
    for number, (driver, bytes_) in enumerate((("default", SMALL), ("patched", LARGE))):
        blocking = ((size / 1024, model.blocking_ns(way, size, bytes_) / 1e3) for size in qdma.TRANSFERS)
        line(times, number, blocking, f"model, {driver} driver")
    times.set(title=f"Figure 3: blocking transfer, {way}", xlabel="transfer [KiB]", ylabel="µs")
    times.set_yscale("log")
    rates.set_ylim(top=6)
    rates.legend(loc="upper left", ncols=2)
    times.legend()
    for axes in (rates, times):
        axes.set_xscale("log", base=2)


def spm_figure5(axes: Axes) -> None:
    """What the text says of Figures 5 and 6."""
    named = {
        "slowdown of misses": "misses of code\nor of data",
        "slowdown with interference": "misses of both,\ninterference",
        "largest speed-up": "largest speed-up\nby scratchpad",
    }
    stated = [r for r in rows("spm-centric-os/scratchpad", unit="ratio") if r["statistic"] in named]
    ratios = [float(r["value"]) for r in stated]
    bars(axes, [named[r["statistic"]] for r in stated], {"published": ratios}, "ratio")
    axes.axhline(1, color="k", linewidth=1)
    axes.set_title("Figures 5 and 6: published; line: all hits")


def spm_figure7(*panels: Axes) -> None:
    """Shares of sets that are schedulable, which bounds say: computed here, the paper prints no point."""
    load = figure7.workload(read_published(ROOT / "experiments/spm-centric-os/figure7/published.csv"))
    analyses = ("three-phase", "three-phase-round-robin", "contended")
    readings = (("the slot of Table IV", load.table_slot), ("a slot that fits", load.fitted_slot))
    for axes, (reading, slot) in zip(panels, readings, strict=True):
        found = figure7.shares(load, analyses, slot, "scratchpad", figure7.UTILISATIONS, 200)
        for number, (analysis, values) in enumerate(found.items()):
            label = figure7.LABELS[analysis].replace(" with operations of their own length", "")
            line(axes, number, zip(figure7.UTILISATIONS, values, strict=True), label)
        axes.set(title=f"Figure 7: {reading}", xlabel="utilisation", ylabel="schedulable sets")
        axes.set_ylim(top=1.5)
        axes.legend(loc="upper left")


def remap_figures(shares: Axes, throughput: Axes) -> None:
    """Figure 7 by the formulas of Table I; Figure 12's averages."""
    bursts = range(1, 257)
    for number, (name, beats) in enumerate((("back to back", b2b), ("pipelined", pipelined))):
        values = [100 * utilisation(burst, *beats(burst)) for burst in bursts]
        shares.plot(bursts, values, color=COLOURS[number], label=name)
    for row in rows("remap/table1", statistic="utilisation"):
        shares.plot(float(row["burst"]), float(row["value"]), "k+", markersize=7)
    shares.set(
        title="Figure 7: by Table I's formulas; + published",
        xlabel="data beats of a burst",
        ylabel="% of the link's beats",
    )
    shares.set_xscale("log", base=2)
    shares.legend()
    stated = rows("remap/system", item="figure12", statistic="throughput", what="average")
    bars(
        throughput,
        [r["configuration"] for r in stated],
        {"published": [float(r["value"]) for r in stated]},
        "MB/s",
    )
    throughput.set_title("Figure 12: STREAM, averages, published")


def spm_table5(axes: Axes) -> None:
    """Figure 6 has the times of Table V."""
    names = list(dict.fromkeys(r["benchmark"] for r in rows("spm-centric-os/figure7", table="V")))
    series = {
        f"from {memory}": [
            float(
                rows("spm-centric-os/figure7", table="V", benchmark=n, statistic=f"{memory} time")[0]["value"]
            )
            for n in names
        ]
        for memory in ("SPM", "SRAM")
    }
    bars(axes, names, series, "µs")
    axes.set_title("Table V and Figure 6: execution times of EEMBC, published")
    axes.legend()


# Five tasks on a core, and one on another that shares the DMA; a slot of its TDMA is the unit of time.
LANES = ROOT / "experiments" / "spm-centric-os" / "figure2" / "system.yaml"
SLOT_PS = 10**8
PARTS = {"execute": ("CPU", ""), "load": ("DMA", "load\n"), "unload": ("DMA", "unload\n")}


def piece(axes: Axes, at: float, begin: float, length: float, colour: str, text: str) -> None:
    axes.barh(at, length, 0.8, begin, color=colour, edgecolor="white")
    axes.text(begin + length / 2, at, text, ha="center", va="center", color="white", fontsize=7)


def spm_figure2(axes: Axes) -> None:
    """A simulation's trace: the processor of one core, and the DMA slot by slot."""
    prepared = prepare(load_system(LANES))
    found = simulated(prepared, 17 * SLOT_PS, choice="worst", trace=True)
    assert found.slices is not None and found.jobs is not None
    core = prepared.cores.index("app-0")
    for one in found.slices:
        part, sign = PARTS.get(SLICES[one["doing"]], ("", ""))
        mine = one["core"] == core
        if part and (mine or part == "DMA"):
            begin, end = one["begin"] / SLOT_PS, one["end"] / SLOT_PS
            name = f"{sign}τ{one['task'] + 1}" if mine else f"{sign}other"
            piece(axes, part == "CPU", begin, end - begin, COLOURS[one["task"]] if mine else "grey", name)
    for job in found.jobs:
        if job["task"] != prepared.tasks.index("other"):
            at, colour = job["release"] / SLOT_PS, COLOURS[job["task"]]
            axes.annotate("", (at, 1.95), (at, 1.45), arrowprops={"arrowstyle": "->", "color": colour})
    axes.set_axisbelow(True)
    axes.set_yticks((0, 1), ("DMA", "CPU"))
    axes.set_xticks(range(0, 19, 2))
    axes.set(
        title="Figure 2: simulated; arrows: releases", xlabel="time [slots]", ylim=(-0.6, 2.1), xlim=(0, 18)
    )


def spm_figure4(axes: Axes) -> None:
    """The worst case behind a bound; the paper prints the length of its last interval."""
    (bound,) = (one for one in analyze_system(load_system(LANES)) if one.task == "tau3")
    steps = bound.explanation
    for at, step in enumerate(reversed(steps)):
        length = step.length / SLOT_PS
        colour = COLOURS[("blocking", "interference", "own", "unload").index(step.kind)]
        piece(axes, at, step.start / SLOT_PS, length, colour, f"{length:g}")
    axes.set_axisbelow(True)
    axes.set_yticks(range(len(steps)), [step.label for step in reversed(steps)])
    final = sum(step.length for step in steps if step.kind in ("own", "unload")) / SLOT_PS
    assert bound.response is not None
    axes.set(
        title=f"Figure 4: bound of τ3, {bound.response / SLOT_PS:g} slots; last interval {final:g},"
        f" published max(c + 5, 7) with c = {steps[-2].length / SLOT_PS:g}",
        xlabel="time since the release [slots]",
    )


PICTURES: dict[str, tuple[Callable[..., None], int]] = {
    "taming-table1-figure2": (taming_figure2, 2),
    "taming-figures-3-4": (taming_figure3, 2),
    "icc-figures-3-5": (icc_figures, 2),
    "icc-figure-4": (icc_figure4, 2),
    "remap-figures-7-12": (remap_figures, 2),
    "remap-figure-13": (remap_figure13, 2),
    "spm-figure-2": (spm_figure2, 1),
    "spm-figure-4": (spm_figure4, 1),
    "spm-table5": (spm_table5, 1),
    "spm-figures-5-7": (lambda *axes: (spm_figure5(axes[0]), spm_figure7(*axes[1:])), 3),
    "cross-isa-figures-2-3": (cross_isa, 2),
}


def draw(folder: Path) -> list[Path]:
    """Writes every picture; the same tables give the same bytes with one version of Matplotlib."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    style: dict[Any, Any] = {**PAPER, "svg.hashsalt": "consort"}
    with plt.rc_context(style):
        for name, (draw_on, count) in PICTURES.items():
            figure, axes = plt.subplots(
                1, count, figsize=(9 if count < 3 else 12, 3.2), layout="constrained", squeeze=False
            )
            draw_on(*axes[0])
            made.append(folder / f"{name}.svg")
            figure.savefig(made[-1], metadata={"Date": None})
            plt.close(figure)
    return made


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images" / "gallery"
    print("\n".join(map(str, draw(given))))
