# SPDX-License-Identifier: Apache-2.0
"""The plots and the page of a sweep: plots for papers as PDF, SVG and PNG, and for the page as SVG."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from consort import __version__
from consort.base.files import replace_file
from consort.report.figures import DASHES, RC, SERIES, inline
from consort.report.page import environment_rows, templates
from consort.sweep.cells import Cells
from consort.sweep.load import Loaded
from consort.sweep.model import (
    DURATIONS,
    FIGURES,
    SHARES,
    Plot,
    column_of,
    figures_of,
    position,
    same,
    spelled,
)
from consort.sweep.store import MANIFEST, Point

FORMATS = ("pdf", "svg", "png")
MARKERS = "os^Dvxp*hX"
# Okabe-Ito: what colour-blind readers can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0578d", "#3a9bd9", "#b37a00")
PAPER: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "consort",
    "pdf.fonttype": 42,
    "font.size": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
}
_LABELS = {
    "share": "share of schedulable sets",
    "used": "bound / allowed",
    "violated": "share of sets violated",
}


def chosen(plot: Plot, rows: Sequence[Point]) -> list[Point]:
    """The points that a plot shows: those of its conditions that have a value."""
    return [
        row
        for row in rows
        if row[plot.y] is not None
        and all(same(name, row[column_of(name)], wanted) for name, wanted in plot.where.items())
    ]


def lines_of(plot: Plot, rows: Sequence[Point]) -> dict[str, dict[str, list[tuple[Any, float]]]]:
    """The points of a plot by panel and line, along x."""
    panels: dict[str, dict[str, list[tuple[Any, float]]]] = {}
    for row in chosen(plot, rows):
        line = panels.setdefault(_named(plot.panels, row), {}).setdefault(_named(plot.lines, row), [])
        line.append((position(plot.x, row[column_of(plot.x)]), float(row[plot.y])))
    for lines in panels.values():
        for points in lines.values():
            if all(isinstance(x, float) for x, _ in points):
                points.sort()
    return panels


def _named(names: Sequence[str], row: Point) -> str:
    """The values of some parameters, in words."""
    words = []
    for name in names:
        text = spelled(name, row[column_of(name)])
        words.append(text if name in ("analysis", "name", "kind") else f"{name.replace('_', ' ')} {text}")
    return ", ".join(words)


def draw(plot: Plot, rows: Sequence[Point], colours: Sequence[str] = COLOURS) -> Figure:
    """The plot, a panel beside the other, as a figure of matplotlib's."""
    panels = lines_of(plot, rows) or {"": {}}
    figure = Figure(figsize=(4.6 * len(panels), 3.4), layout="constrained")
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    for axes, (title, lines) in zip(every, panels.items(), strict=True):
        for name, points in lines.items():
            n = names.index(name)
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=colours[n % len(colours)],
                linestyle=DASHES[n // len(colours) % len(DASHES)],
                marker=MARKERS[n % len(MARKERS)],
                label=name,
            )
        axes.set_title(title, fontsize=9)
        _axes(axes, plot)
    every[0].set_ylabel(_LABELS.get(plot.y, plot.y.replace("_", " ")))
    if plot.title:
        figure.suptitle(plot.title, fontsize=10)
    seen: dict[str, Any] = {}
    for axes in every:
        handles, labels = axes.get_legend_handles_labels()
        seen |= dict(zip(labels, handles, strict=True))
    if seen:
        columns = max(1, min(len(seen), 2 * len(panels)))
        figure.legend(seen.values(), seen.keys(), loc="outside lower center", ncols=columns)
    return figure


def _axes(axes: Axes, plot: Plot) -> None:
    unit = " [us]" if plot.x in DURATIONS else ""
    axes.set_xlabel(plot.x.replace("_", " ") + unit)
    if "x" in plot.log:
        axes.set_xscale("log")
    if "y" in plot.log:
        axes.set_yscale("log")


def write_plots(plots: Mapping[str, Plot], rows: Sequence[Point], folder: Path) -> list[Path]:
    """Each plot in each format, by its name."""
    folder.mkdir(exist_ok=True)
    written = []
    with mpl.rc_context(PAPER):
        for name, plot in plots.items():
            figure = draw(plot, rows)
            for form in FORMATS:
                file = folder / f"{name}.{form}"
                when = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}[form]
                figure.savefig(file, dpi=200, metadata=when)
                written.append(file)
    return written


def _plot_svg(name: str, plot: Plot, rows: Sequence[Point]) -> str:
    """The plot as a part of a page."""
    with mpl.rc_context(RC):
        return inline(draw(plot, rows, SERIES), f"plot-{name}")


PAGE = "index.html"
# A page with more points would take a browser seconds to open.
MOST_POINTS = 20_000


def write_page(loaded: Loaded, cells: Cells, rows: Sequence[Point], folder: Path) -> Path:
    """Writes the page beside the result."""
    sweep = loaded.sweep
    figures, parameters = figures_of(sweep)
    shown = rows[:MOST_POINTS]
    data: dict[str, Any] = {
        "parameters": {name: [_shown(name, row[column_of(name)]) for row in shown] for name in parameters},
        "figures": {name: [row[name] for row in shown] for name in figures},
    }
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    text = (
        templates()
        .get_template("sweep.html.j2")
        .render(
            name=loaded.name,
            title=sweep.title,
            kind=sweep.kind.replace("_", " "),
            version=__version__,
            cells=len(cells),
            sets=cells.spec["sets"],
            seed=sweep.seed,
            points=len(rows),
            shown=len(shown),
            plots=[
                {
                    "title": plot.title or name,
                    "wide": bool(plot.panels),
                    "svg": Markup(_plot_svg(name, plot, rows)),
                }
                for name, plot in sweep.plots.items()
            ],
            meanings=[(f.name, f.meaning) for f in FIGURES[sweep.kind]]
            + [(name, meaning) for name, _, meaning in SHARES[sweep.kind]],
            provenances=sorted({row["provenance"] for row in rows}),
            environment=environment_rows(manifest["made_on"]),
            code=manifest["code"],
            # Inside of a script element only this could end it.
            data=Markup(json.dumps(data).replace("<", "\\u003c")),
        )
    )
    file = folder / PAGE
    replace_file(file, text)
    return file


def _shown(name: str, value: Any) -> Any:
    """A value on the page: numbers where it has a place on an axis."""
    place = position(name, value) if value is not None else ""
    return place if isinstance(place, float) else spelled(name, value)
