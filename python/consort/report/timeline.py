# SPDX-License-Identifier: Apache-2.0
"""The worst job of a task over all cores, and the way of a chain's longest reaction, as inline SVG.

Where a job lasted for many periods the time axis is broken: its beginning and its end are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from consort.base.units import duration
from consort.record.findings import ChainWay
from consort.report.figures import RC, SERIES, TEXT, inline, vertical
from consort.report.jobs import ABSENT, Jobs

# The part drawn around the worst job, in periods of its task; a job that lasts longer than this is broken up.
AROUND, WHOLE, PART = 1.0, 10.0, 3.0
# The most that is drawn on either side of it, in times of its own length; and the blank part of the axis.
BESIDE, BLANK = 1.0, 0.02
# Stretches of a run whose outputs are drawn.
STRETCHES = 400
# Bars narrower than a pixel say no more: at most so many of a task are drawn in one part of the axis.
BARS = 400
# Rows of one picture: those of the worst job's core and worker, then those of other cores.
ROWS = 40
_ROW = 0.36


def timeline_svg(
    jobs: Jobs, worst: int, period_ns: float | None, deadline_ns: float | None, ident: str
) -> str:
    """The worst job and what ran on any core meanwhile: a row for each core and task, at most ROWS."""
    release, finish = (int(jobs.times[name][worst]) for name in ("release", "finish"))
    parts = _parts(release, finish, period_ns)
    rows = _rows(jobs, parts)
    if len(parts) == 1:
        parts = [_filled(jobs, rows, parts[0], (release, finish), deadline_ns)]
    drawn = _nearest(jobs, worst, rows)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9.2, 1.1 + _ROW * len(drawn)), layout="constrained")
        widths = [end - begin for begin, end in parts]
        axes = figure.subplots(1, len(parts), sharey=True, squeeze=False, width_ratios=widths)[0]
        for place, (axis, (begin, end)) in enumerate(zip(axes, parts, strict=True)):
            for number, row in enumerate(drawn):
                _draw(axis, jobs, worst, number, row, row.bars[place], release)
            axis.set_xlim((begin - release) / 1e3, (end - release) / 1e3)
            axis.grid(axis="y", visible=False)
            axis.locator_params(axis="x", nbins=5)
            # Each name on the side where the other's line is not.
            marks: list[tuple[str, float | None, Literal["left", "right"]]] = [
                ("release", 0, "left"),
                ("deadline", deadline_ns, "right"),
            ]
            for name, at, side in marks:
                if at is not None and begin - release <= at <= end - release:
                    vertical(axis, at, name, side)
            if place:
                axis.spines["left"].set_visible(False)
                axis.tick_params(axis="y", length=0)
        axes[0].set_yticks(range(len(drawn)), [row.label for row in drawn])
        axes[0].set_ylim(len(drawn) - 0.4, -0.6)
        label = "time since the worst job's release [µs]"
        if len(parts) > 1:
            label += f"; {duration(parts[1][0] - parts[0][1])} between the two parts are left out"
        if len(rows) > len(drawn):
            label += f"; {len(rows) - len(drawn)} more rows are not drawn"
        figure.supxlabel(label, fontsize=9)
        return inline(figure, ident)


def _parts(release: int, finish: int, period_ns: float | None) -> list[tuple[int, int]]:
    """The stretches of time that are drawn."""
    lasted = max(finish - release, 1)
    period = int(period_ns or lasted)
    margin = int(min(AROUND * period, BESIDE * lasted))
    if lasted <= WHOLE * period:
        return [(release - margin, finish + margin)]
    part = int(PART * period)
    return [(release - margin, release + part), (finish - part, finish + margin)]


def _filled(
    jobs: Jobs,
    rows: Sequence[_Row],
    part: tuple[int, int],
    worst: tuple[int, int],
    deadline_ns: float | None,
) -> tuple[int, int]:
    """The stretch without what is empty at its ends, as before the first job of a run."""
    begin, end = worst
    if deadline_ns is not None and begin + deadline_ns <= part[1]:
        end = max(end, begin + int(deadline_ns))
    for row in rows:
        bars = row.bars[0]
        if bars.size:
            first, last = row.times
            begin = min(begin, int(jobs.times[first][bars].min()))
            end = max(end, int(jobs.times[last][bars].max()))
    blank = max(int(BLANK * (end - begin)), 1)
    return max(part[0], begin - blank), min(part[1], end + blank)


@dataclass(frozen=True)
class _Row:
    """A task on a core, and its jobs that have a bar there in each of the drawn parts."""

    label: str
    task: int
    core: str
    computing: bool
    """True if it computes there for another core."""
    bars: list[NDArray[np.int64]]

    @property
    def times(self) -> tuple[str, str]:
        """The names of the times at which its bars begin and end."""
        return ("worker_receive", "worker_send") if self.computing else ("start", "finish")


def _rows(jobs: Jobs, parts: Sequence[tuple[int, int]]) -> list[_Row]:
    """Bars of a drawn part, by core; and those of another core that computed for a task, in the run or
    not."""
    own = [_within(jobs, "start", "finish", part) for part in parts]
    computed = [_within(jobs, "worker_receive", "worker_send", part) for part in parts]
    found = []
    for core, core_name in enumerate(jobs.cores):
        here = [bars[jobs.core[bars] == core] for bars in own]
        ran = {int(task) for bars in here for task in np.unique(jobs.task[bars])}
        served = {
            int(task)
            for bars in computed
            for task in np.unique(jobs.task[bars])
            if jobs.workers[task] == core_name
        }
        for task in sorted(ran | served):
            for computing, bars, has in ((False, here, task in ran), (True, computed, task in served)):
                if has:
                    found.append(_row(jobs, core_name, task, computing, bars))
    named = {worker for worker in jobs.workers if worker is not None and worker not in jobs.cores}
    for worker in sorted(named):
        for task in range(len(jobs.tasks)):
            if jobs.workers[task] == worker:
                found.append(_row(jobs, worker, task, True, computed))
    return found


def _row(jobs: Jobs, core: str, task: int, computing: bool, bars: Sequence[NDArray[np.int64]]) -> _Row:
    mine = [some[jobs.task[some] == task] for some in bars]
    return _Row(f"{core}: {jobs.tasks[task]}", task, core, computing, mine)


def _nearest(jobs: Jobs, worst: int, rows: Sequence[_Row]) -> list[_Row]:
    """The rows of one picture, in their order: the worst job's, then those of its core and its worker."""
    if len(rows) <= ROWS:
        return list(rows)
    task = int(jobs.task[worst])
    cores = {jobs.cores[int(jobs.core[worst])], jobs.workers[task]}
    order = sorted(range(len(rows)), key=lambda n: (rows[n].task != task, rows[n].core not in cores, n))
    return [rows[n] for n in sorted(order[:ROWS])]


def _within(jobs: Jobs, begin: str, end: str, part: tuple[int, int]) -> NDArray[np.int64]:
    """The jobs that have a bar between two of their times in a part of the axis."""
    first, last = jobs.times[begin], jobs.times[end]
    return np.flatnonzero((first != ABSENT) & (last != ABSENT) & (last >= part[0]) & (first <= part[1]))


def _draw(
    axis: Axes,
    jobs: Jobs,
    worst: int,
    row: int,
    what: _Row,
    bars: NDArray[np.int64],
    zero: int,
) -> None:
    task, computing = what.task, what.computing
    begin, end = what.times
    colour = SERIES[task % len(SERIES)]
    bars = bars[:BARS]
    left = (jobs.times[begin][bars] - zero) / 1e3
    width = (jobs.times[end][bars] - jobs.times[begin][bars]) / 1e3
    # A core that waits for an answer is lighter than one that computes.
    waits = not computing and jobs.workers[task] is not None
    faint = [0.55 if waits and sent != ABSENT else 1.0 for sent in jobs.times["sent"][bars]]
    axis.broken_barh(
        list(zip(left.tolist(), width.tolist(), strict=True)),
        (row - 0.3, 0.6),
        facecolors=[
            (colour, (1.0 if index == worst else 0.45) * of) for index, of in zip(bars, faint, strict=True)
        ],
        edgecolors=[TEXT if index == worst else "none" for index in bars],
        linewidths=0.8,
    )
    released = int(jobs.times["release"][worst])
    if not computing and worst in bars and released != ABSENT:
        start = float(left[bars == worst][0])
        axis.plot([(released - zero) / 1e3, start], [row, row], color=colour, linewidth=2, alpha=0.8)


def chain_svg(way: ChainWay, bound_ns: float | None, ident: str) -> str:
    """The longest reaction of a chain: each job from its read to its write, from stimulus to effect."""
    links, zero = way.links, way.stimulus_ns
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9.2, 1.0 + 0.42 * (len(links) + 1)), layout="constrained")
        axis = figure.subplots()
        axis.plot(0, 0, marker="v", markersize=7, color=TEXT)
        at, row = 0.0, 0
        for place, (_, _, read, written) in enumerate(links):
            begin, end = (read - zero) / 1e3, (written - zero) / 1e3
            colour = SERIES[place % len(SERIES)]
            axis.annotate(
                "",
                (begin, place + 1),
                xytext=(at, row),
                arrowprops={"arrowstyle": "->", "color": TEXT, "linewidth": 0.9},
            )
            axis.barh(place + 1, end - begin, left=begin, height=0.55, color=colour, linewidth=0)
            at, row = end, place + 1
        axis.plot(at, row, marker="o", markersize=5, color=TEXT)
        names = ["stimulus", *(f"{task}, job {seq:,}" for task, seq, _, _ in links)]
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.4, -0.8)
        axis.set_xlim(-0.03 * max(at, 1e-3), 1.1 * max(at, 1e-3))
        if bound_ns is not None and bound_ns / 1e3 < 1.6 * at:
            axis.set_xlim(right=max(1.1 * at, 1.05 * bound_ns / 1e3))
            vertical(axis, bound_ns, "bound")
        axis.grid(axis="y", visible=False)
        axis.set_xlabel("time since the stimulus [µs]")
        return inline(figure, ident)


def course_svg(
    times_ns: NDArray[np.float64],
    members: Sequence[tuple[str, NDArray[Any]]],
    ident: str,
    label: str = "time of the job's release",
) -> str:
    """Values over a whole run, one panel for each member: from the least to the most of each stretch."""
    divisor, unit = _unit_of(float(times_ns[-1] - times_ns[0]))
    starts = np.unique(np.linspace(0, times_ns.size, STRETCHES, endpoint=False).astype(np.int64))
    # Each band reaches to the next stretch's first value.
    at = np.append(times_ns[starts], times_ns[-1]) / divisor
    with mpl.rc_context(RC):
        figure, axes = _panels(len(members))
        for axis, (name, values) in zip(axes, members, strict=True):
            numbers = values.astype(np.float64)
            least, most = (of.reduceat(numbers, starts) for of in (np.minimum, np.maximum))
            band = [np.append(edge, edge[-1]) for edge in (least, most)]
            axis.fill_between(at, *band, step="post", color=SERIES[1], linewidth=0.9)
            _name_panel(axis, name)
        axes[-1].set_xlabel(f"{label} [{unit}]")
        return inline(figure, ident)


def outputs_svg(
    at: NDArray[Any],
    members: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    ident: str,
    *,
    timed: bool = False,
) -> str:
    """Outputs (dots) over what was expected of them (a line), one panel for each member.

    They stand at their jobs' numbers, or where `timed` at their releases [ns].
    """
    divisor, label = 1.0, "job"
    if timed:
        divisor, unit = _unit_of(float(at[-1] - at[0]))
        label = f"time of the job's release [{unit}]"
    x = np.asarray(at) / divisor
    with mpl.rc_context(RC):
        figure, axes = _panels(len(members))
        for axis, (name, found, expected) in zip(axes, members, strict=True):
            axis.plot(x, expected, color=SERIES[0], linewidth=1.3, label="expected")
            axis.plot(
                x, found, color=SERIES[1], linestyle="none", marker=".", markersize=3.5, label="this run"
            )
            _name_panel(axis, name)
        axes[-1].set_xlabel(label)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        return inline(figure, ident)


def _panels(count: int) -> tuple[Figure, NDArray[Any]]:
    figure = Figure(figsize=(9.2, 0.7 + 1.35 * count), layout="constrained")
    return figure, figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]


def _name_panel(axis: Axes, name: str) -> None:
    axis.set_title(name, fontsize=8, loc="left")
    axis.margins(x=0.01)
    # The axis has whole values: neither "+1.25e3" above it, nor two marks that read the same.
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
    axis.yaxis.set_major_locator(MaxNLocator(4))


def _unit_of(span_ns: float) -> tuple[float, str]:
    """The unit in which a span is a number of a few digits, and how many nanoseconds it has."""
    return next((unit for unit in ((1e9, "s"), (1e6, "ms")) if span_ns >= 2 * unit[0]), (1e3, "µs"))
