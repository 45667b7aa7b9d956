# SPDX-License-Identifier: Apache-2.0
"""The verdict of a run for a terminal: 80 columns, nothing cut, every time in µs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from statistics import median
from typing import Any

from consort.base.units import (
    THIN_SPACE,
    Statistic,
    duration,
    figure_unit,
    microseconds,
    number,
    time_text,
    times,
)
from consort.plan.types import Plan
from consort.record.findings import JobCounts, Row
from consort.record.sections import Held
from consort.record.store import Run
from consort.record.summary import Configuration
from consort.report.lines import CELL, LABEL, heads_line, placed, wrapped
from consort.report.terminal_modes import mode_lines


def tightness(rows: Sequence[Row]) -> list[str]:
    """A sentence, or none where nothing that was seen has a bound. An endless time is one not served."""
    ratios = {
        (row.subject, row.quantity): row.undisturbed / row.bound
        for row in rows
        if row.bound and row.bound != inf and row.undisturbed is not None
    }
    if not ratios:
        return []
    (subject, quantity), closest = max(ratios.items(), key=lambda entry: entry[1])
    middle, nearest = (
        "∞" if value == inf else f"{value:.2f}" for value in (median(ratios.values()), closest)
    )
    many = "1 bound" if len(ratios) == 1 else f"{len(ratios)} bounds"
    return [
        f"Longest undisturbed time over its bound: median {middle} of {many},"
        f" the closest {nearest} ({quantity} of {subject})."
    ]


# Words with a meaning of their own, explained below the first table that has them.
UNDISTURBED = "undisturbed: of jobs that the machine did not stop; these must hold"
UNSERVED = "unserved: released, and never executed or answered"
# The marks at the end of a row, and what each says.
MARKS: dict[str, tuple[str, str]] = {
    "holds": ("✓", "holds"),
    "above bound": ("✗", "above its bound or deadline"),
    "late": ("✗", "above its bound or deadline"),
    "disturbed": ("~", "above it only where the machine disturbed"),
    "no bound": (" ", ""),
    "not judged": ("?", "an emulator's time, held against nothing"),
    "not seen": ("∅", "never seen"),
    "not due": ("-", "never seen: the mode was left before"),
    "cannot be shown": ("?", "the machine stops a core for longer"),
}
_HEADS = ("deadline", "bound", "simulated", "undisturbed", "all")
_STATISTICS: tuple[tuple[Statistic, str], ...] = (
    ("median", "median"),
    ("p99", "p99"),
    ("p999", "p99.9"),
    ("max", "max"),
)

# Events that are not faults; those of modes stand in their own lines, disturbances in those of the machine.
_NEWS = ("started", "ended", "disturbed", "executed", "preempted")
_ELSEWHERE = ("mode-", "state-")
# How jobs were served that were not served as usual.
_SERVED_OTHERWISE = (
    ("local_fallbacks", "computed by the master instead of a worker"),
    ("outputs_held", "without an answer, for which the last output was held"),
    ("late_answers_discarded", "late answers discarded"),
)


def verdict_lines(run: Run, *, files: bool = True) -> list[str]:
    """Each configuration's result, the cost of offloading, the machine's disturbances, and the verdict.

    No line is longer than 80 columns but for a path.

    `files`: whether the last lines say where the pages are, or how to get them.
    """
    lines: list[str] = []
    for number_of, configuration in enumerate(run.configurations):
        lines += [*_configuration(run, configuration, number_of == 0), ""]
    lines += mode_lines(run)
    lines += list(_cost_of_offloading(run))
    for configuration, found in run.judged:
        if found.machine:
            lines += wrapped(f"{configuration['key']}: the machine: {found.machine}.")
    for configuration in run.configurations:
        happened = _happened(configuration)
        if happened:
            lines += wrapped(f"{configuration['key']}: events: {'; '.join(happened)}.")
    lines += list(_last(run))
    if files:
        lines += files_of(run)
    return [line.replace(THIN_SPACE, ",") for line in lines]


def files_of(run: Run) -> list[str]:
    """The lines that say where the pages of a run are, or how to get them."""
    pages = {"report: ": run.path / "report.html", "trace:  ": run.path / "trace.pftrace"}
    written = [f"{head}{page}" for head, page in pages.items() if page.exists()]
    return written or [f"report:  consort report {run.path}"]


def _configuration(run: Run, configuration: Configuration, first: bool) -> Iterator[str]:
    unit = figure_unit(configuration["clock"])
    yield from wrapped(f"{configuration['key']}: {configuration['name']}. All times in {unit}.")
    found = run.findings(configuration["key"])
    if found is None:
        yield from _without_verdict(configuration)
        return
    yield heads_line(_HEADS)
    rows: dict[str, list[Row]] = {}
    for row in found.rows:
        rows.setdefault(f"{row.kind} {row.subject}", []).append(row)
    counts = {count.task: count for count in found.tasks}
    plan = run.plan(configuration["key"])
    used: dict[str, str] = {}
    for mine in rows.values():
        yield from _subject(mine[0], counts, configuration, plan)
        for row in mine:
            mark, words = MARKS[row.outcome]
            if words:
                used[mark] = words
            yield _row(row, mark)
    if used:
        yield from wrapped("   ".join(f"{mark} {words}" for mark, words in used.items()), indent="")
    if first:
        yield from wrapped(f"{UNDISTURBED}; {UNSERVED}.")
    for text in (*found.notes, *tightness(found.rows)):
        yield from wrapped(text)
    for check in found.checks:
        if not check.holds:
            yield from wrapped(f"Assumption not kept: {check.text}.")


def _subject(
    row: Row, counts: Mapping[str, JobCounts], configuration: Configuration, plan: Plan | None
) -> Iterator[str]:
    name = row.subject
    if row.kind != "task":
        yield from wrapped(f"{row.kind} {name}", indent="")
        return
    where = "" if plan is None else f" {placed(plan.tasks[name])}"
    yield from wrapped(f"{name}{where}", indent="")
    yield from wrapped(on_time(counts[name]), first="  ")
    summary = configuration["summary"].get(f"{name}.response")
    if summary is not None:
        yield from wrapped(percentiles(summary), first="  ")


def on_time(count: JobCounts) -> str:
    """Counts of a task's jobs by how they ended, those served on time first."""
    text = (
        f"{number(count.on_time)} of {number(count.released)} on time, {number(count.late)} late,"
        f" {number(count.unserved)} unserved"
    )
    if count.disturbed:
        text += (
            f"; the machine disturbed {number(count.disturbed)}, of which"
            f" {number(count.disturbed_misses)} missed"
        )
    if count.causes:
        text += "; undisturbed misses: " + ", ".join(f"{number(n)} {w}" for w, n in count.causes.items())
    return text


def percentiles(summary: Mapping[str, Any]) -> str:
    """The statistics of a response time; one that falls on an unserved release is ∞."""
    text = ", ".join(f"{label} {microseconds_or_endless(summary[name])}" for name, label in _STATISTICS)
    if any(summary[name] is None for name, _ in _STATISTICS):
        text += f" (∞: {number(summary['unserved'])} of {number(summary['n'])} unserved)"
    return text


def microseconds_or_endless(ns: float | None) -> str:
    """A statistic of a summary, where None is an infinite time."""
    return "∞" if ns is None else microseconds(ns)


def _row(row: Row, mark: str) -> str:
    cells = [
        microseconds(row.required),
        "none" if row.bound is None else microseconds(row.bound),
        microseconds(row.simulated),
        microseconds(row.undisturbed),
        microseconds(row.seen),
    ]
    return figures_line(row.quantity, cells, mark)


def figures_line(quantity: str, cells: Sequence[str], mark: str = "") -> str:
    """A row under such headings."""
    figures = "".join(f"{cell:>{CELL}}" for cell in cells)
    return f"  {quantity:<{LABEL - 2}}{figures} {mark}".rstrip()


def _without_verdict(configuration: Configuration) -> Iterator[str]:
    """The figures of a recording that describes no tasks."""
    summary = configuration["summary"]
    if not summary:
        yield "  no samples were recorded"
        return
    yield " " * LABEL + "".join(f"{label:>{CELL}}" for _, label in _STATISTICS) + f"{'samples':>{CELL}}"
    for metric, s in summary.items():
        cells = [
            microseconds_or_endless(s[name]) if s["unit"] == "ns" else number(s[name])
            for name, _ in _STATISTICS
        ]
        yield from _labelled(metric, [*cells, number(s["n"])])
    jobs = configuration.get("jobs")
    if jobs is not None:
        yield from wrapped(
            f"{number(jobs['on_time'])} of {number(jobs['jobs'])} on time, {number(jobs['late'])} late,"
            f" {number(jobs['unserved'])} unserved; {number(jobs['output_errors'])} wrong outputs",
            first="  ",
        )


def _labelled(label: str, cells: list[str]) -> Iterator[str]:
    """A row of figures; a label that is too long has a line of its own."""
    figures = "".join(f"{cell:>{CELL}}" for cell in cells)
    if len(label) > LABEL - 3:
        yield from wrapped(label, first="  ")
        label = ""
    yield f"  {label:<{LABEL - 2}}{figures}"


def _cost_of_offloading(run: Run) -> Iterator[str]:
    """The cost of each offloaded task's exchange, and its response beside that of the local one."""
    for configuration in run.configurations:
        plan = run.plan(configuration["key"])
        for name, task in plan.tasks.items() if plan is not None else ():
            exchange = configuration["summary"].get(f"{name}.communication")
            if task.worker is None or exchange is None:
                continue
            unit = figure_unit(configuration["clock"]).split(",")[0]
            median, tail = (time_text(exchange[name_of], unit) for name_of in ("median", "p999"))
            text = (
                f"{configuration['key']}: offloading {name} cost {median} (median), {tail} (p99.9) for the"
                " exchange"
            )
            beside = _local_twin(run, configuration["key"])
            here = configuration["summary"].get(f"{name}.response")
            there = beside["summary"].get(f"{name}.response") if beside is not None else None
            if here is not None and there is not None:
                pairs = [
                    f"{time_text(here[s], unit)} instead of {time_text(there[s], unit)}"
                    for s in ("median", "p999")
                ]
                text += f"; it responds in {pairs[0]} (median), {pairs[1]} (p99.9)"
            yield from wrapped(text + ".")


def _local_twin(run: Run, key: str) -> Configuration | None:
    wanted = key.replace("offloaded", "local", 1)
    return next((c for c in run.configurations if c["key"] == wanted != key), None)


def _happened(configuration: Configuration) -> list[str]:
    """Failures that the machine did not cause, and the jobs concerned: how often, how long."""
    found = []
    for event in configuration.get("event_summary", ()):
        if event["name"] in _NEWS or event["name"].startswith(_ELSEWHERE):
            continue
        where = event["task"] or event["core"]
        longest = "" if event["longest_ns"] is None else f", longest {duration(event['longest_ns'])}"
        found.append(f"{where + ': ' if where else ''}{event['name']} {times(event['count'])}{longest}")
    jobs = configuration.get("jobs") or {}
    found += [f"{number(jobs[bit])} {words}" for bit, words in _SERVED_OTHERWISE if jobs.get(bit)]
    return found


def _last(run: Run) -> Iterator[str]:
    judged = run.judged
    for configuration, found in judged:
        if len(found.reasons) <= 1:
            yield from wrapped(f"{configuration['key']}: {found.summary}")
            continue
        yield f"{configuration['key']}: {found.ok.headline}:"
        for reason in found.reasons:
            yield from wrapped(f"- {reason}")
    shown = {f"{c['name']}: {reason}" for c, found in judged for reason in found.reasons}
    more = [reason for reason in run.verdict["reasons"] if reason not in shown]
    for reason in more:
        yield from wrapped(f"- {reason}")
    if not judged:
        yield outcome(run)
    elif more:
        yield "The run failed." if run.held is Held.NOT_HELD else f"{run.held.headline}."


def outcome(run: Run) -> str:
    """One line on a run without a judge's verdict. It says nothing of times that no clock measured."""
    if not run.held:
        return "The run failed." if run.held is Held.NOT_HELD else f"{run.held.headline}."
    emulated = [c for c in run.configurations if c["clock"]["provenance"] in ("emulated", "counted")]
    late = sum(c.get("jobs", {}).get("late", 0) + _above_deadline(c) for c in emulated)
    if late:
        return "Nothing failed; some emulated times are above the deadline, which says nothing of real ones."
    if emulated:
        return "Nothing failed; the times are an emulator's, not those of hardware."
    return "The run held: nothing failed."


def _above_deadline(configuration: Configuration) -> int:
    """1 where a recorded response is above the deadline that the program ran with."""
    config = configuration["config"]
    deadline = config.get("deadline_ns") if isinstance(config, dict) else None
    summary = configuration["summary"].get("response")
    if not isinstance(deadline, int | float) or summary is None:
        return 0
    return int(summary["max"] is None or summary["max"] > deadline)
