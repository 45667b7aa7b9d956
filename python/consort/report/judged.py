# SPDX-License-Identifier: Apache-2.0
"""The page's part for a configuration that was judged: the verdict's table, and its pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup

from consort.base.units import Statistic, duration, figure_unit, microseconds, number, time_text
from consort.plan.types import Plan
from consort.record.columns import JOBS
from consort.record.findings import Row
from consort.record.ran import STATUS
from consort.record.sections import EXPECTED
from consort.record.store import Run, SampleReader
from consort.record.summary import Configuration, SummaryData, histogram
from consort.report import figures
from consort.report.jobs import Jobs, select
from consort.report.lines import placed
from consort.report.terminal import MARKS, microseconds_or_endless, on_time, percentiles, tightness
from consort.report.timeline import chain_svg, course_svg, outputs_svg, timeline_svg

# Pictures of worst jobs in one configuration: those of the tasks that came nearest to their deadlines.
TIMELINES = 4
# The most tasks whose distributions are drawn, and the most chains whose longest reactions are: those that
# came nearest to their limits.
DRAWN = 12
# Outputs that are drawn beside the expected ones: so many jobs of so many members.
OUTPUT_JOBS, OUTPUT_MEMBERS = 300, 4
# Members of a plant's state that are drawn.
STATE_MEMBERS = 8
# Clocks that say nothing of the time of hardware.
UNTIMED = ("counted", "emulated")

Limits = tuple[float | None, float | None]


def verdict_of(run: Run, configuration: Configuration) -> dict[str, Any] | None:
    """The verdict's table with every figure written out; None where nothing was judged."""
    found = run.findings(configuration["key"])
    if found is None:
        return None
    counts = {count.task: count for count in found.tasks}
    plan = run.plan(configuration["key"])
    rows = []
    before = ""
    for row in found.rows:
        subject = f"{row.kind} {row.subject}"
        first = subject != before
        before = subject
        count = counts.get(row.subject) if row.kind == "task" else None
        summary = configuration["summary"].get(f"{row.subject}.response")
        rows.append(
            {
                "subject": row.subject if first else "",
                "kind": row.kind,
                "where": _where(plan, row) if first else "",
                "counts": on_time(count) if first and count is not None else "",
                "percentiles": percentiles(summary) if first and count and summary else "",
                "missed": bool(count and count.late + count.unserved),
                "quantity": row.quantity,
                "required": microseconds(row.required),
                "bound": "none" if row.bound is None else microseconds(row.bound),
                "source": row.missing if row.bound is None else row.bound_source,
                "simulated": microseconds(row.simulated),
                "simulated_source": row.simulated_source,
                "undisturbed": microseconds(row.undisturbed),
                "seen": microseconds(row.seen),
                "bad": row.outcome in ("above bound", "late", "not seen"),
                "mark": MARKS[row.outcome][0],
                "outcome": row.outcome,
                "note": row.note,
            }
        )
    return {
        "key": configuration["key"],
        "name": configuration["name"],
        "unit": figure_unit(configuration["clock"]).split(",")[0],
        "provenance": configuration["clock"]["provenance"],
        "rows": rows,
        "summary": found.summary,
        "machine": found.machine,
        "reasons": found.reasons,
        "notes": [*found.notes, *tightness(found.rows)],
        "simulated": any(row.simulated is not None for row in found.rows),
        "checks": found.checks,
        "pauses": [
            {
                "core": p.core,
                "culprit": p.culprit,
                "count": number(p.count),
                "total": duration(p.total_ns),
                "longest": duration(p.longest_ns),
            }
            for p in found.pauses
        ],
    }


def _where(plan: Plan | None, row: Row) -> str:
    return row.kind if row.kind != "task" or plan is None else placed(plan.tasks[row.subject])


def _limits(run: Run, configuration: Configuration) -> Callable[[str, str], Limits]:
    """The function of a task and a quantity that gives its deadline (or what is required) and bound [ns]."""
    found = run.findings(configuration["key"])
    rows = () if found is None else found.rows
    judged: dict[tuple[str, str], Limits] = {
        (r.subject, r.quantity): (r.required, r.bound) for r in rows if r.kind == "task"
    }

    def limits(task: str, quantity: str) -> Limits:
        known = judged.get((task, quantity))
        deadline = _deadline(run, configuration, task) if quantity == "response" else None
        return (deadline, None) if known is None else known

    return limits


def _deadline(run: Run, configuration: Configuration, task: str) -> float | None:
    """A task's deadline in ns; None in a configuration without that task."""
    ran = run.ran(configuration["key"])
    return None if ran is None or task not in ran.plan.tasks else ran.ns(ran.plan.tasks[task].deadline_ps)


def timelines(run: Run, configuration: Configuration, jobs: Jobs | None, index: int) -> list[dict[str, Any]]:
    """The worst job of each of the tasks that came nearest to their deadlines, or furthest past them."""
    ran = run.ran(configuration["key"])
    if jobs is None or not len(jobs) or ran is None:
        return []
    found = []
    for number_of, task in enumerate(ran.tasks):
        worst = jobs.worst(number_of)
        if worst is not None:
            found.append((float(jobs.response[worst]) / ran.ns(task.deadline_ps), worst, task))
    made: list[dict[str, Any]] = []
    for _, worst, task in sorted(found, key=lambda item: -item[0])[:TIMELINES]:
        labels = jobs.labels(worst)
        period, deadline = ran.ns(task.period_ps), ran.ns(task.deadline_ps)
        picture = timeline_svg(jobs, worst, period, deadline, f"time{index}-{len(made)}")
        made.append(
            {
                "svg": Markup(picture),
                "task": task.name,
                "seq": number(int(jobs.seq[worst])),
                "response": time_text(float(jobs.response[worst]), _unit(configuration)),
                "labels": ", ".join(labels) if labels else "no deadline missed and no fault",
            }
        )
    return made


def trace_text(jobs: Jobs | None) -> str:
    """The jobs that the trace shows, in words."""
    return "" if jobs is None or not len(jobs) else select(jobs).text


def chains(run: Run, configuration: Configuration, index: int) -> list[dict[str, Any]]:
    """The longest reactions of chains, drawn through the jobs that carried them."""
    found = run.findings(configuration["key"])
    if found is None:
        return []
    bounds = {row.subject: row for row in found.rows if (row.kind, row.quantity) == ("chain", "reaction")}
    made: list[dict[str, Any]] = []
    ways = sorted(found.ways, key=lambda way: _nearness(bounds[way.chain]))
    for place, way in enumerate(ways[:DRAWN]):
        row = bounds[way.chain]
        made.append(
            {
                "name": way.chain,
                "svg": Markup(chain_svg(way, row.bound, f"chain{index}-{place}")),
                "reaction": f"{microseconds(row.seen)} {_unit(configuration)}",
            }
        )
    return made


def more_chains(run: Run, configuration: Configuration) -> int:
    """How many chains have a longest reaction that is not drawn."""
    found = run.findings(configuration["key"])
    return 0 if found is None else max(0, len(found.ways) - DRAWN)


def _nearness(row: Row) -> float:
    """Sorts by how near the largest time seen came to what is allowed, or else to its bound."""
    limit = row.required or row.bound
    return -row.seen / limit if limit and row.seen is not None else 0.0


def outputs(run: Run, configuration: Configuration, index: int) -> list[dict[str, Any]]:
    """The outputs of each task over time; and some over the expected ones, around the first wrong one or from
    the start."""
    made: list[dict[str, Any]] = []
    for table in configuration["tables"]:
        if not table.startswith("outputs-"):
            continue
        rows = run.table(configuration["key"], table)
        names = [name for name in rows.column_names if name + EXPECTED in rows.column_names]
        if not names or not rows.num_rows:
            continue
        wrong = _wrong_rows(run, configuration, table.removeprefix("outputs-"), rows)
        differing = [n for n in names if not rows[n].equals(rows[n + EXPECTED])]
        first = int(wrong[0]) if wrong.size else 0
        begin = max(0, first - OUTPUT_JOBS // 3)
        part = rows.slice(begin, OUTPUT_JOBS)
        shown = (differing if wrong.size else [])[:OUTPUT_MEMBERS]
        shown += [n for n in names if n not in shown][: OUTPUT_MEMBERS - len(shown)]
        members = [(n, part[n].to_numpy(), part[n + EXPECTED].to_numpy()) for n in shown]
        seq = part["seq"].to_numpy()
        task = table.removeprefix("outputs-")
        times = _releases(run, configuration, task, rows["seq"].to_numpy())
        ident = f"out{index}-{len(made)}"
        whole = None
        if times is not None and rows.num_rows > OUTPUT_JOBS:
            values = [(n, rows[n].to_numpy()) for n in shown]
            whole = Markup(course_svg(times, values, f"course{index}-{len(made)}"))
        made.append(
            {
                "task": task,
                "course": whole,
                "svg": Markup(
                    outputs_svg(
                        seq if times is None else times[begin : begin + OUTPUT_JOBS],
                        members,
                        ident,
                        timed=times is not None,
                    )
                ),
                "wrong": int(wrong.size),
                "text": f"jobs {number(int(seq[0]))} to {number(int(seq[-1]))} of {number(rows.num_rows)},"
                f" {_of_members(shown, len(names))}",
            }
        )
    return made


def _of_members(shown: list[str], count: int) -> str:
    """The members of an output that are drawn; their number only where some are left out."""
    words = f"{'member' if len(shown) == 1 else 'members'} {', '.join(shown)}"
    return words if len(shown) == count else f"{words} ({number(len(shown))} of {number(count)})"


def plants(run: Run, configuration: Configuration, index: int) -> list[dict[str, Any]]:
    """The state of each plant over its logical time."""
    made: list[dict[str, Any]] = []
    for table in configuration["tables"]:
        if not table.startswith("plant-"):
            continue
        rows = run.table(configuration["key"], table)
        names = [name for name in rows.column_names if name != "t_ns"]
        if rows.num_rows < 2 or not names:
            continue
        times = rows["t_ns"].to_numpy().astype(np.float64)
        values = [(name, rows[name].to_numpy()) for name in names[:STATE_MEMBERS]]
        ident = f"plant{index}-{len(made)}"
        made.append(
            {
                "name": table.removeprefix("plant-"),
                "svg": Markup(course_svg(times, values, ident, "logical time since the start")),
                "left_out": len(names) - len(values),
            }
        )
    return made


def _releases(
    run: Run, configuration: Configuration, task: str, seq: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any] | None:
    """When these jobs of a task were released, since the first release of the run [ns]; None where a number
    stands for several jobs, or for none."""
    if JOBS not in configuration["tables"] or task not in configuration.get("tasks", {}):
        return None
    jobs = run.table(configuration["key"], JOBS, ["task", "seq", "release_ns"])
    first = pc.min(jobs["release_ns"]).as_py()
    mine = jobs.filter(pc.equal(jobs["task"].cast(pa.string()), task))
    numbers, place = np.unique(mine["seq"].to_numpy(), return_index=True)
    if numbers.size != mine.num_rows or first is None or not np.isin(seq, numbers).all():
        return None
    releases = mine["release_ns"].to_numpy()[place][np.searchsorted(numbers, seq)]
    return np.asarray(releases - first, dtype=np.float64)


def _wrong_rows(run: Run, configuration: Configuration, task: str, rows: Any) -> np.ndarray[Any, Any]:
    """The rows of a table of outputs whose job carries the error bit."""
    if JOBS not in configuration["tables"] or task not in configuration.get("tasks", {}):
        return np.zeros(0, dtype=np.int64)
    jobs = run.jobs(configuration["key"], task)
    bad = jobs["seq"].to_numpy()[(jobs["status"].to_numpy() & STATUS["output_errors"]) != 0]
    return np.flatnonzero(np.isin(rows["seq"].to_numpy(), bad))


def distributions(run: Run) -> list[dict[str, Any]]:
    """Response (and, of offloaded tasks, communication) of tasks: a curve for each configuration.

    Of many tasks the DRAWN that came nearest to their deadlines, in the order of the description.
    """
    made: list[dict[str, Any]] = []
    reader = SampleReader(run)
    names = tasks_of(run)
    limits = {c["key"]: _limits(run, c) for c in run.configurations}
    if len(names) > DRAWN:

        def nearness(task: str) -> float:
            return min(_to_deadline(run, c, task) for c in run.configurations)

        nearest = set(sorted(names, key=nearness)[:DRAWN])
        names = [task for task in names if task in nearest]
    for task in names:
        for quantity in ("response", "communication"):
            metric = f"{task}.{quantity}"
            having = [c for c in run.configurations if metric in c["metrics"]]
            found = ((c, histogram(reader.samples(c["key"], metric))) for c in having)
            mine = {c["key"]: (c, made) for c, made in found if made is not None}
            if not mine:
                continue
            curves = []
            for c, made_of in list(mine.values())[: figures.SERIES_PER_FIGURE]:
                deadline, bound = limits[c["key"]](task, quantity)
                step = float(c["clock"]["resolution_ticks"] / c["clock"]["ticks_per_second"] * 1e9)
                curves.append(figures.Distribution(c["name"], made_of, step, deadline, bound))
            unit = _unit(having[0])
            made.append(
                {
                    "title": f"{task}: {quantity}",
                    "kinds": sorted({c["clock"]["provenance"] for c, _ in mine.values()}),
                    "tail": Markup(figures.tail_svg(curves, f"task{len(made)}", quantity, unit)),
                }
            )
    return made


def tasks_of(run: Run) -> list[str]:
    """The tasks of all configurations, each once."""
    return list(dict.fromkeys(task for c in run.configurations for task in c.get("tasks", {})))


def _to_deadline(run: Run, configuration: Configuration, task: str) -> float:
    """Sorts by how near a task's worst job came to its deadline; a release that was not served is past it."""
    summary = configuration["summary"].get(f"{task}.response")
    deadline = _deadline(run, configuration, task)
    if summary is None or deadline is None:
        return 0.0
    return -float("inf") if summary["max"] is None else -summary["max"] / deadline


def event_rows(configuration: Configuration) -> list[dict[str, Any]]:
    """Events counted by kind, task, core and cause."""
    return [
        {
            "name": e["name"] + (f": {e['cause']}" if e.get("cause") else ""),
            "count": number(e["count"]),
            "where": ", ".join(filter(None, (e["task"], e["core"]))),
            "first": "unknown" if e["first_ns"] is None else f"{e['first_ns'] / 1e6:.3f} ms",
            "last": "unknown" if e["last_ns"] is None else f"{e['last_ns'] / 1e6:.3f} ms",
            "longest": "" if e["longest_ns"] is None else duration(e["longest_ns"]),
            "total": "" if e["total_ns"] is None else duration(e["total_ns"]),
        }
        for e in configuration.get("event_summary", [])
    ]


def statistic(summary: SummaryData, name: Statistic) -> str:
    """A statistic of a metric: a time in µs, anything else as it is."""
    if summary["unit"] == "ns":
        return microseconds_or_endless(summary[name])
    return number(summary[name])


def _unit(configuration: Configuration) -> str:
    return figure_unit(configuration["clock"]).split(",")[0]
