# SPDX-License-Identifier: Apache-2.0
"""The worst job of a task over all cores, and the way of a chain's longest reaction, as inline SVG.

Where a job lasted for many periods the time axis is broken: its beginning and its end are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from consort.report.figures import RC, SERIES, TEXT, inline, vertical
from consort.report.jobs import ABSENT, Jobs
from consort.report.units import duration

# What is drawn around the worst job, in periods of its task; a job that lasts longer than this is broken up.
AROUND, WHOLE, PART = 1.0, 10.0, 3.0
# Bars narrower than a pixel say no more: at most so many of a task are drawn in one part of the axis.
BARS = 400
_ROW = 0.36


def timeline_svg(
    jobs: Jobs, worst: int, period_ns: float | None, deadline_ns: float | None, ident: str
) -> str:
    """The worst job and all that ran on any core meanwhile: a row for each core and task."""
    release, finish = (int(jobs.times[name][worst]) for name in ("release", "finish"))
    parts = _parts(release, finish, period_ns)
    rows = _rows(jobs, parts)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9.2, 1.1 + _ROW * len(rows)), layout="constrained")
        widths = [end - begin for begin, end in parts]
        axes = figure.subplots(1, len(parts), sharey=True, squeeze=False, width_ratios=widths)[0]
        for place, (axis, (begin, end)) in enumerate(zip(axes, parts, strict=True)):
            for row, (_, task, core, computing) in enumerate(rows):
                _draw(axis, jobs, worst, row, (task, core, computing), (begin, end), release)
            axis.set_xlim((begin - release) / 1e3, (end - release) / 1e3)
            axis.grid(axis="y", visible=False)
            axis.locator_params(axis="x", nbins=5)
            _mark(axis, 0, "release", begin - release, end - release)
            if deadline_ns is not None:
                _mark(axis, deadline_ns, "deadline", begin - release, end - release)
            if place:
                axis.spines["left"].set_visible(False)
                axis.tick_params(axis="y", length=0)
        axes[0].set_yticks(range(len(rows)), [row[0] for row in rows])
        axes[0].set_ylim(len(rows) - 0.4, -0.75)
        label = "time since the worst job's release [µs]"
        if len(parts) > 1:
            label += f"; {duration(parts[1][0] - parts[0][1])} between the two parts are left out"
        figure.supxlabel(label, fontsize=9)
        return inline(figure, ident)


def _parts(release: int, finish: int, period_ns: float | None) -> list[tuple[int, int]]:
    """The stretches of time that are drawn."""
    lasted = max(finish - release, 1)
    period = int(period_ns or lasted)
    margin = int(min(AROUND * period, 4 * lasted))
    if lasted <= WHOLE * period:
        return [(release - margin, finish + margin)]
    part = int(PART * period)
    return [(release - margin, release + part), (finish - part, finish + margin)]


def _rows(jobs: Jobs, parts: Sequence[tuple[int, int]]) -> list[tuple[str, int, int, bool]]:
    """Label, task, core and whether it computes there for another core; only what ran in a drawn stretch."""
    found: list[tuple[str, int, int, bool]] = []
    for core, core_name in enumerate(jobs.cores):
        for task, task_name in enumerate(jobs.tasks):
            for computing in (False, True):
                if computing and jobs.workers[task] != core_name:
                    continue
                if any(_bars(jobs, (task, core, computing), part).size for part in parts):
                    found.append((f"{core_name}: {task_name}", task, core, computing))
    named = {worker for worker in jobs.workers if worker is not None and worker not in jobs.cores}
    for worker in sorted(named):
        for task, task_name in enumerate(jobs.tasks):
            if jobs.workers[task] == worker:
                found.append((f"{worker}: {task_name}", task, -1, True))
    return found


def _bars(jobs: Jobs, row: tuple[int, int, bool], part: tuple[int, int]) -> np.ndarray[Any, Any]:
    """The jobs that have a bar in a row."""
    task, core, computing = row
    begin, end = ("worker_receive", "worker_send") if computing else ("start", "finish")
    first, last = jobs.times[begin], jobs.times[end]
    mine = (jobs.task == task) & (first != ABSENT) & (last != ABSENT) & (last >= part[0]) & (first <= part[1])
    if not computing:
        mine &= jobs.core == core
    return np.flatnonzero(mine)


def _draw(
    axis: Axes,
    jobs: Jobs,
    worst: int,
    row: int,
    what: tuple[int, int, bool],
    part: tuple[int, int],
    zero: int,
) -> None:
    task, _, computing = what
    begin, end = ("worker_receive", "worker_send") if computing else ("start", "finish")
    colour = SERIES[task % len(SERIES)]
    for index in _bars(jobs, what, part)[:BARS].tolist():
        # A core that waits for an answer is lighter than one that computes.
        mine = index == worst
        alpha = 1.0 if mine else 0.45
        if not computing and jobs.workers[task] is not None and jobs.times["sent"][index] != ABSENT:
            alpha *= 0.55
        left = (int(jobs.times[begin][index]) - zero) / 1e3
        width = (int(jobs.times[end][index]) - int(jobs.times[begin][index])) / 1e3
        edge = TEXT if mine else "none"
        axis.add_patch(
            Rectangle(
                (left, row - 0.3), width, 0.6, facecolor=colour, alpha=alpha, edgecolor=edge, linewidth=0.8
            )
        )
        released = int(jobs.times["release"][index])
        if mine and not computing and released != ABSENT:
            axis.plot([(released - zero) / 1e3, left], [row, row], color=colour, linewidth=2, alpha=0.8)


def _mark(axis: Axes, at: float, name: str, begin: float, end: float) -> None:
    if begin <= at <= end:
        vertical(axis, at, name)


def chain_svg(way: Mapping[str, Any], bound_ns: float | None, ident: str) -> str:
    """The longest reaction of a chain: each job from its read to its write, from stimulus to effect."""
    links = way["links"]
    zero = float(way["stimulus_ns"])
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


def outputs_svg(
    jobs: Sequence[int], members: Sequence[tuple[str, Sequence[float], Sequence[float]]], ident: str
) -> str:
    """Outputs (dots) over what was expected of them (a line), one panel for each member."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9.2, 0.7 + 1.35 * len(members)), layout="constrained")
        axes = figure.subplots(len(members), 1, sharex=True, squeeze=False)[:, 0]
        for axis, (name, found, expected) in zip(axes, members, strict=True):
            axis.plot(jobs, expected, color=SERIES[0], linewidth=1.3, label="expected")
            axis.plot(
                jobs, found, color=SERIES[1], linestyle="none", marker=".", markersize=3.5, label="this run"
            )
            axis.set_title(name, fontsize=8, loc="left")
        axes[-1].set_xlabel("job")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        return inline(figure, ident)
