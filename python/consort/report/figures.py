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
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, LogLocator, NullFormatter
from numpy.typing import NDArray

from consort.record.summary import Histogram

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

RC: dict[Any, Any] = {
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
    """One curve: its name, its histogram, and the clock's step in nanoseconds."""

    name: str
    histogram: Histogram
    resolution_ns: float
    deadline_ns: float | None = None
    bound_ns: float | None = None


def _drawable(histogram: Histogram) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A histogram's values and counts. A logarithmic axis has no 0: what took no time is drawn at 1 ns."""
    return np.maximum(histogram.values, 1), histogram.counts


def histogram_svg(distributions: Sequence[Distribution], ident: str, label: str) -> str:
    """The distribution of samples, counts on a logarithmic axis."""
    with mpl.rc_context(RC):
        figure, axes = _new()
        for n, curve in enumerate(distributions):
            values, counts = _drawable(curve.histogram)
            edges = bin_edges(int(values[0]), int(values[-1]), curve.resolution_ns)
            heights = np.histogram(values, bins=edges, weights=counts)[0]
            # Empty bins would be drawn at minus infinity.
            heights = np.where(heights > 0, heights, np.nan)
            axes.stairs(
                heights, edges / 1e3, color=SERIES[n], linestyle=DASHES[n], linewidth=1.2, label=curve.name
            )
        _powers(axes)
        axes.set_ylabel("samples in a bin")
        _time_axis(axes, label)
        _legend(axes, len(distributions))
        return inline(figure, ident)


def tail_svg(distributions: Sequence[Distribution], ident: str, label: str, unit: str = "µs") -> str:
    """The share of samples at or above each value, down to the worst one, or to what was not served."""
    with mpl.rc_context(RC):
        figure, axes = _new()
        ends: list[tuple[float, float, int]] = []
        for n, curve in enumerate(distributions):
            values, counts = _drawable(curve.histogram)
            unserved = curve.histogram.unserved
            x, y = thin(*tail(values, counts, unserved))
            name = f"{curve.name} ({unserved:,} unserved)" if unserved else curve.name
            axes.step(x / 1e3, y, where="pre", color=SERIES[n], linestyle=DASHES[n], label=name)
            if not unserved:
                axes.plot(x[-1] / 1e3, y[-1], marker="o", markersize=3.5, color=SERIES[n])
                continue
            # Releases that were not served are above every time: the curve never falls below their share.
            ends.append((float(x[-1]), unserved / (counts.sum() + unserved), n))
        _powers(axes)
        axes.set_xscale("log")
        # No share is above 1, and one value alone has an axis, too.
        axes.set_ylim(min(axes.get_ylim()[0], 0.5), 1.2)
        axes.set_ylabel("share of samples at or above")
        _limits(axes, distributions)
        right = axes.get_xlim()[1] * (1.6 if ends else 1)
        for begin, share, n in ends:
            line = [begin / 1e3, right]
            axes.plot(line, [share, share], color=SERIES[n], linestyle=DASHES[n], linewidth=1)
            axes.annotate("∞", (right, share), xytext=(2, 0), textcoords="offset points", va="center")
        if ends:
            axes.set_xlim(right=right)
        _time_axis(axes, label, unit)
        _legend(axes, len(distributions))
        return inline(figure, ident)


def tail(
    values: NDArray[np.int64], counts: NDArray[np.int64], unserved: int = 0
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The complementary cumulative distribution: for each value the share of samples not below it.

    `unserved` samples are infinite: above all values.
    """
    total = counts.sum() + unserved
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
    # Nothing finer than the histogram's three figures, else its own buckets would show as a comb.
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


def data_svg(section: dict[str, Any], ident: str) -> str:
    """A figure given as data: lines over x, each with its provenance in the legend."""
    with mpl.rc_context(RC):
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
        return inline(figure, ident)


def _new(width: float = 5.4, height: float = 3.3) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _limits(axes: Axes, distributions: Sequence[Distribution]) -> None:
    """Lines at the deadline and at the bound, where all curves have one and it is near the samples."""
    for name, values in (
        ("deadline", {curve.deadline_ns for curve in distributions}),
        ("bound", {curve.bound_ns for curve in distributions}),
    ):
        if len(values) == 1 and (value := values.pop()) is not None and value > 0:
            low, high = axes.get_xlim()
            if low / 20 < value / 1e3 < 20 * high:
                vertical(axes, value, name)


def vertical(axes: Axes, ns: float, name: str, above: Literal["left", "right"] | None = None) -> None:
    """A line at a time, with its name beside it; or `above` all that is drawn, to that side of the line."""
    style = (0, (4, 2)) if name == "deadline" else (0, (1, 1.5))
    axes.axvline(ns / 1e3, color=TEXT, linestyle=style, linewidth=1)
    place = axes.get_xaxis_transform()
    if above is None:
        axes.text(ns / 1e3, 0.99, f"{name} ", fontsize=8, ha="right", va="top", rotation=90, transform=place)
    else:
        align: Literal["left", "right"] = "right" if above == "left" else "left"
        axes.text(ns / 1e3, 1.02, name, fontsize=8, ha=align, va="bottom", transform=place)


def _time_axis(axes: Axes, label: str, unit: str = "µs") -> None:
    axes.set_xscale("log")
    _plain_log(axes.xaxis)
    axes.set_xlabel(f"{label} [{unit}]")
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


class _Powers(LogFormatterSciNotation):
    """Powers of ten as text. As formulas they were a fifth of a page's work."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        formula = super().__call__(x, pos).removeprefix(r"$\mathdefault{").removesuffix("}$")
        raised = re.sub(r"\^\{(.*?)\}", lambda power: power[1].translate(_RAISED), formula)
        return raised.replace(r"\times", "×")


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _powers(axes: Axes) -> None:
    """A logarithmic axis of counts or shares."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(_Powers())
    axes.yaxis.set_minor_formatter(_Powers())


def _legend(axes: Axes, count: int) -> None:
    """Below the figure, in as many columns as its longest name leaves room for."""
    handles, labels = axes.get_legend_handles_labels()
    columns = 1 if count > 4 or max((len(label) for label in labels), default=0) > 28 else 2
    axes.figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=3)


def inline(figure: Figure, ident: str) -> str:
    """The figure as SVG to be put into a page: colours as CSS, ids that cannot meet those of another one."""
    out = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": ident}):
        # Not savefig, which draws each figure twice and so takes half of a report's time.
        for patch in (figure.patch, *(axes.patch for axes in figure.axes)):
            patch.set(facecolor="none", edgecolor="none")
        FigureCanvasSVG(figure).print_svg(out, metadata={"Date": None})  # type: ignore[no-untyped-call]
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'\bid="', f'id="{ident}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{ident}-", text)
    text = text.replace("'DejaVu Sans'", "inherit")
    # A hundredth of a point is finer than any screen; six decimals would double the page. Words keep theirs.
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag[0]), text)
    for colour, css in _CSS.items():
        text = text.replace(colour, css)
    return text
