# SPDX-License-Identifier: Apache-2.0
"""The report's figures as inline SVG: distributions, time lines, and figures given as data.

Colours are the Okabe-Ito set, which colour-blind readers can tell apart; every series also has its own
dash pattern. In the SVG they stand as CSS variables, so that a page can be light, dark or printed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from consort.record.summary import buckets_of
from consort.report.jobs import ABSENT, NEIGHBOURS, Jobs

# Sentinel colours that no palette uses, and the CSS that takes their place in the SVG.
TEXT, GRID, PAPER = "#010203", "#040506", "#070809"
SERIES = ("#0a0001", "#0a0002", "#0a0003", "#0a0004", "#0a0005", "#0a0006")
_CSS = {TEXT: "currentColor", GRID: "var(--grid)", PAPER: "var(--paper)"} | {
    colour: f"var(--s{n})" for n, colour in enumerate(SERIES, 1)
}
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (9, 2)),
    (0, (3, 3)),
)
SERIES_PER_FIGURE = len(SERIES)
# The resolution that curves are thinned to: finer than a pixel of a wide screen.
PIXELS_X, PIXELS_Y = 700, 450

# A phase of a job: its name, the time stamps it lies between, and its colour.
Phase = tuple[str, str, str, str]
JOB: Phase = ("job", "release", "finish", SERIES[0])
PHASES: tuple[Phase, ...] = (
    ("release to start", "release", "start", SERIES[3]),
    ("start to send", "start", "sent", SERIES[4]),
    ("mailbox wait", "sent", "received", SERIES[2]),
    ("worker computes", "worker_receive", "worker_send", SERIES[1]),
    ("answer to finish", "received", "finish", SERIES[5]),
)
LOCAL_PHASES: tuple[Phase, ...] = (PHASES[0], ("start to finish", "start", "finish", SERIES[1]))

_RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.edgecolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
}


@dataclass(frozen=True)
class Distribution:
    """One curve: its name, its stored histogram, and the clock's step in nanoseconds."""

    name: str
    stored: dict[str, Any]
    resolution_ns: float
    deadline_ns: int | None = None


def _drawable(stored: dict[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A histogram's values and counts. A logarithmic axis has no 0: what took no time is drawn at 1 ns."""
    values, counts = buckets_of(stored)
    return np.maximum(values, 1), counts


def histogram_svg(distributions: Sequence[Distribution], ident: str, label: str) -> str:
    """How many samples fell where, counts on a logarithmic axis."""
    with mpl.rc_context(_RC):
        figure, axes = _new()
        for n, curve in enumerate(distributions):
            values, counts = _drawable(curve.stored)
            edges = bin_edges(int(values[0]), int(values[-1]), curve.resolution_ns)
            heights = np.histogram(values, bins=edges, weights=counts)[0]
            # Empty bins would be drawn at minus infinity.
            heights = np.where(heights > 0, heights, np.nan)
            axes.stairs(
                heights, edges / 1e3, color=SERIES[n], linestyle=DASHES[n], linewidth=1.2, label=curve.name
            )
        axes.set_yscale("log")
        axes.set_ylabel("samples in a bin")
        _time_axis(axes, label)
        _legend(axes, len(distributions))
        return _svg(figure, ident)


def tail_svg(distributions: Sequence[Distribution], ident: str, label: str) -> str:
    """The share of samples at or above each value, down to the single worst one."""
    with mpl.rc_context(_RC):
        figure, axes = _new()
        for n, curve in enumerate(distributions):
            values, counts = _drawable(curve.stored)
            x, y = thin(*tail(values, counts))
            axes.step(x / 1e3, y, where="pre", color=SERIES[n], linestyle=DASHES[n], label=curve.name)
            axes.plot(x[-1] / 1e3, y[-1], marker="o", markersize=3.5, color=SERIES[n])
        axes.set_yscale("log")
        axes.set_ylabel("share of samples at or above")
        _deadline(axes, distributions)
        _time_axis(axes, label)
        _legend(axes, len(distributions))
        return _svg(figure, ident)


def tail(values: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The complementary cumulative distribution: for each value the share of samples not below it."""
    total = counts.sum()
    at_or_above = total - np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.maximum(values, 1), at_or_above / total


def thin(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Keeps the points of a log-log curve that fall on different pixels, and always the last one."""
    if x.size <= 2:
        return x, y
    lx, ly = np.log(x), np.log(y)
    px = np.floor((lx - lx[0]) / max(lx[-1] - lx[0], 1e-9) * PIXELS_X)
    py = np.floor((ly - ly[0]) / min(ly[-1] - ly[0], -1e-9) * PIXELS_Y)
    new = np.concatenate([[True], (np.diff(px) != 0) | (np.diff(py) != 0)])
    new[-1] = True
    return x[new], y[new]


def bin_edges(low: int, high: int, resolution_ns: float) -> NDArray[np.float64]:
    """Bins of equal width on a logarithmic axis, none narrower than the clock can tell apart."""
    low = max(low, 1)
    # Nothing finer than the stored histogram's three figures, else its own buckets would show as a comb.
    bins = int(np.clip(np.log(max(high, low + 1) / low) / np.log(1.004), 1, 140))
    edges = np.geomspace(low * 0.998, (high + 1) * 1.002, bins + 1)
    step = max(resolution_ns, 1.0)
    kept = [float(edges[0])]
    for edge in edges[1:]:
        if edge - kept[-1] >= step * 0.999:
            # Whole steps, so that no bin catches one value more than its neighbour.
            kept.append(kept[-1] + round((float(edge) - kept[-1]) / step) * step)
    if kept[-1] < edges[-1]:
        kept.append(kept[-1] + step * np.ceil((float(edges[-1]) - kept[-1]) / step))
    return np.array(kept)


def timeline_svg(jobs: Jobs, worst: int, deadline_ns: int | None, ident: str) -> str:
    """The worst job: above among its neighbours, below enlarged, phase by phase."""
    phases = [phase for phase in PHASES if _span(jobs, worst, phase) is not None]
    if not any(name == "mailbox wait" for name, *_ in phases):
        # Without an exchange the phases around it have no ends; what is known is start and finish.
        phases = [phase for phase in LOCAL_PHASES if _span(jobs, worst, phase) is not None]
    with mpl.rc_context(_RC):
        figure = Figure(figsize=(9.2, 1.9 + 0.3 * len(phases)), layout="constrained")
        above, below = figure.subplots(2, 1, height_ratios=(1.0, 0.8 + 0.42 * len(phases)))
        zero = int(jobs.times["release"][worst])
        for index in range(worst - NEIGHBOURS, worst + NEIGHBOURS + 1):
            whole = _span(jobs, index, JOB) if 0 <= index < len(jobs) else None
            if whole is None:
                continue
            mine = index == worst
            begin, end = (t - zero for t in whole)
            _bar(above, 0, begin, end, JOB[3], 1.0 if mine else 0.45)
            name = f"{int(jobs.seq[index])}" + (" (worst)" if mine else "")
            weight = "bold" if mine else "normal"
            above.text(begin / 1e3, -0.42, name, fontsize=8, weight=weight, ha="left", va="bottom")
        for row, phase in enumerate(phases):
            span = _span(jobs, worst, phase)
            assert span is not None
            begin, end = (t - zero for t in span)
            _bar(below, row, begin, end, phase[3], 1.0)
            _beside(below, end, row, f"{(end - begin) / 1e3:.2f} µs")
        finish = int(jobs.times["finish"][worst]) - zero
        if deadline_ns is not None:
            for axes in (above, below) if deadline_ns < 1.5 * finish else (above,):
                axes.axvline(deadline_ns / 1e3, color=TEXT, linestyle=(0, (4, 2)), linewidth=1)
            _beside(above, deadline_ns, 0.48, "deadline")
        above.set_yticks([0], ["jobs"])
        above.set_ylim(0.62, -1.0)
        below.set_yticks(range(len(phases)), [phase[0] for phase in phases])
        below.set_ylim(len(phases) - 0.4, -0.6)
        below.set_xlim(-0.02 * finish / 1e3, 1.12 * finish / 1e3)
        for axes in (above, below):
            axes.grid(axis="y", visible=False)
        below.set_xlabel("time since the worst job's release [µs]")
        return _svg(figure, ident)


def _span(jobs: Jobs, index: int, phase: Phase) -> tuple[int, int] | None:
    """Begin and end of a job's phase; None where one of them did not happen."""
    begin, end = int(jobs.times[phase[1]][index]), int(jobs.times[phase[2]][index])
    return None if ABSENT in (begin, end) or end < begin else (begin, end)


def _beside(axes: Axes, ns: int, row: float, text: str) -> None:
    """A small label just right of a point in time."""
    place = (ns / 1e3, row)
    axes.annotate(text, place, xytext=(4, 0), textcoords="offset points", fontsize=8, va="center")


def _bar(axes: Axes, row: int, begin: int, end: int, colour: str, alpha: float) -> None:
    width = (end - begin) / 1e3
    axes.barh(row, width, left=begin / 1e3, height=0.62, color=colour, alpha=alpha, linewidth=0)


def data_svg(section: dict[str, Any], ident: str) -> str:
    """A figure given as data: lines over x, each with its provenance in the legend."""
    with mpl.rc_context(_RC):
        figure, axes = _new(width=6.2, height=3.5)
        for n, series in enumerate(section["series"]):
            y = np.array([np.nan if value is None else value for value in series["y"]], dtype=np.float64)
            axes.plot(
                series["x"],
                y,
                color=SERIES[n % len(SERIES)],
                linestyle=DASHES[n % len(DASHES)],
                marker="os^Dvx"[n // len(SERIES) % 6] if n >= len(SERIES) else "osD^vP"[n],
                markersize=4,
                label=f"{series['name']} ({series['provenance']})",
            )
        for axis, set_scale, set_label in (
            (section["x"], axes.set_xscale, axes.set_xlabel),
            (section["y"], axes.set_yscale, axes.set_ylabel),
        ):
            if axis["log"]:
                set_scale("log")
            set_label(axis["label"] + (f" [{axis['unit']}]" if axis["unit"] else ""))
        if section["x"]["log"]:
            _plain_log(axes.xaxis)
        if section["y"]["log"]:
            _plain_log(axes.yaxis)
        _legend(axes, len(section["series"]))
        return _svg(figure, ident)


def _new(width: float = 5.4, height: float = 3.3) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _deadline(axes: Axes, distributions: Sequence[Distribution]) -> None:
    """A line at the deadline, where all curves have the same one and it is near what was recorded."""
    deadlines = {curve.deadline_ns for curve in distributions}
    if len(deadlines) != 1 or (deadline := deadlines.pop()) is None:
        return
    if deadline / 1e3 < 20 * axes.get_xlim()[1]:
        axes.axvline(deadline / 1e3, color=TEXT, linestyle=(0, (4, 2)), linewidth=1)
        place = axes.get_xaxis_transform()
        axes.text(
            deadline / 1e3,
            0.99,
            "deadline ",
            fontsize=8,
            ha="right",
            va="top",
            rotation=90,
            transform=place,
        )


def _time_axis(axes: Axes, label: str) -> None:
    axes.set_xscale("log")
    _plain_log(axes.xaxis)
    axes.set_xlabel(f"{label} [µs]")
    axes.grid(which="major", visible=True)


def _plain_log(axis: Any) -> None:
    """Plain numbers instead of powers of ten, and enough of them where the range is less than a decade."""
    low, high = sorted(axis.get_view_interval())
    decades = np.log10(high / low) if low > 0 else 3.0
    if decades < 0.35:
        axis.set_major_locator(mpl.ticker.MaxNLocator(6))
    else:
        subs = (1.0,) if decades > 2.7 else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
    axis.set_minor_formatter(NullFormatter())


def _legend(axes: Axes, count: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = 1 if count > 4 else 2
    axes.figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=3)


def _svg(figure: Figure, ident: str) -> str:
    """The figure as SVG to be put into a page: colours as CSS, ids that cannot meet those of another one."""
    out = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": ident}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'\bid="', f'id="{ident}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{ident}-", text)
    text = text.replace("'DejaVu Sans'", "inherit")
    # A hundredth of a point is finer than any screen; six decimals would double the page.
    text = re.sub(r"(\d+\.\d{2})\d+", r"\1", text)
    for colour, css in _CSS.items():
        text = text.replace(colour, css)
    return text
