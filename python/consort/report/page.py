# SPDX-License-Identifier: Apache-2.0
"""The report of a run: one HTML page that needs nothing from outside."""

from __future__ import annotations

import base64
import re
from collections import defaultdict
from typing import Any

import jinja2
from markupsafe import Markup

from consort import __version__
from consort.base.files import LARGEST_PICTURE, is_file, read_bytes
from consort.base.units import STATISTICS, SUFFIX, Statistic, figure_unit, microseconds, number, time_text
from consort.record.ran import LABELS
from consort.record.store import DIAGRAM, Run, SampleReader, inside
from consort.record.summary import PROVENANCE, QUANTILES, Configuration, Histogram, histogram
from consort.report import figures, judged
from consort.report.brief_run import opening_of_page
from consort.report.jobs import Jobs, load_jobs
from consort.report.terminal import outcome
from consort.report.timeline import timeline_svg

# The order in which the metrics of jobs are shown, and what they mean.
MEANING: dict[str, str] = {
    "response": "release to finish of a job",
    "compute": "computing time of the step, on the core that ran it",
    "communication": "input sent to answer received, less the computing time",
    "latency": "release to start of a job",
}
# How the names of events end that tell of a fault; the others (started, ended, back) are news.
FAULTS = ("-died", "-lost", "-silent", "-fault")
# A diagram shrinks with the page to this part of its own width, or to so many pixels, so that it can be read.
DIAGRAM_KEEPS, DIAGRAM_PIXELS = 0.5, 640
# Events of the manifest that the page lists one by one.
EVENTS = 50
_PUBLISHED_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def templates() -> jinja2.Environment:
    """The templates of pages."""
    loader = jinja2.PackageLoader("consort.report", "templates")
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["number"] = number
    made.finalize = _in_code
    return made


def _in_code(value: Any) -> Any:
    """Text with what stands between backticks as code; anything else as it is."""
    if not isinstance(value, str) or isinstance(value, Markup) or "`" not in value:
        return value
    parts = value.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 and at < len(parts) - 1 else part
        for at, part in enumerate(parts)
    )


def render(run: Run) -> str:
    """The page as text; made from the run folder alone, so it can be made again at any time."""
    pages = templates()
    configurations = [_configuration(run, c, index) for index, c in enumerate(run.configurations)]
    return pages.get_template("report.html.j2").render(
        run=run.data,
        version=__version__,
        configurations=configurations,
        diagram=_diagram(run),
        overview=_overview(run),
        distributions=_distributions(run),
        sections=[_section(section, index) for index, section in enumerate(run.data["sections"])],
        environment=environment_rows(run.data["environment"]),
        caveats=_caveats(run),
        opening=opening_of_page(run),
        held=run.held,
        headline=run.held.headline,
        verdicts=[v for c in run.configurations if (v := judged.verdict_of(run, c)) is not None],
        by_task=judged.distributions(run),
        tasks=len(judged.tasks_of(run)),
        drawn=judged.DRAWN,
        outcome=outcome(run),
        timed=any(c["clock"]["provenance"] in ("measured", "simulated") for c in run.configurations),
        untimed=any(c["clock"]["provenance"] in judged.UNTIMED for c in run.configurations),
        provenance=PROVENANCE,
        meaning=MEANING,
        statistics=STATISTICS,
    )


def _diagram(run: Run) -> dict[str, Any] | None:
    """The diagram that lies in the run's folder. As an image: what somebody else put there runs no script."""
    file = inside(run.path, DIAGRAM)
    if not is_file(file):
        return None
    content = read_bytes(file, LARGEST_PICTURE, "diagram", pipes=False)
    found = re.search(rb'<svg[^>]* width="(\d{1,5})[".]', content)
    width = int(found[1]) if found else 0
    return {
        "data": base64.b64encode(content).decode("ascii"),
        "width": max(width * DIAGRAM_KEEPS, min(width, DIAGRAM_PIXELS)),
    }


def environment_rows(environment: dict[str, Any]) -> list[tuple[str, str]]:
    """The environment as label and text; facts that could not be found out are said to be unknown."""
    rows: list[tuple[str, str]] = []
    for key, value in environment.items():
        if value is None:
            text = "unknown"
        elif value == "" or value == []:
            text = "none"
        elif isinstance(value, bool):
            text = "yes" if value else "no"
        elif isinstance(value, dict):
            text = ", ".join(f"{k} {'unknown' if v is None else v}" for k, v in value.items())
        elif isinstance(value, list):
            # Notes are sentences.
            text = ("; " if key == "notes" else " ").join(str(item) for item in value)
        else:
            text = str(value)
        rows.append((key.replace("_", " "), text))
    return rows


def realtime_rows(realtime: dict[str, Any]) -> list[tuple[str, str]]:
    """The measuring program's own results, then each of its workers in one row."""
    rows = environment_rows({key: value for key, value in realtime.items() if key != "workers"})
    for worker in realtime.get("workers", []):
        mine = {key: value for key, value in worker.items() if key != "name"}
        text = "; ".join(f"{label} {found}" for label, found in environment_rows(mine))
        rows.append((str(worker.get("name", "worker")), text))
    return rows


def _caveats(run: Run) -> list[str]:
    """Limits of the figures; nothing of this machine if no clock of this machine was used."""
    if any(c["clock"]["provenance"] == "measured" for c in run.configurations):
        return caveats(run.data["environment"])
    return []


def caveats(environment: dict[str, Any]) -> list[str]:
    """Limits that the environment sets to the figures."""
    found: list[str] = []
    if environment.get("hypervisor"):
        found.append(
            "Measured in a virtual machine: the host can take a core away at any moment, so the"
            " longest times are the host's doing as much as the system's."
        )
    preemption = str(environment.get("preemption") or "unknown")
    if "rt" not in preemption.lower().split("_"):
        found.append(f"The kernel is not PREEMPT_RT (preemption model: {preemption}).")
    if environment.get("isolated") == "":
        found.append("No core is isolated (isolcpus): other threads and interrupts share the cores.")
    return found


def _overview(run: Run) -> dict[str, Any] | None:
    """One row a configuration: the response time where there are jobs."""
    rows = [c for c in run.configurations if "response" in c["summary"]]
    if not rows:
        return None
    return {
        "unit": " / ".join(sorted({figure_unit(c["clock"]).split(",")[0] for c in rows})),
        "rows": [
            {
                "name": c["name"],
                "key": c["key"],
                "jobs": c["jobs"],
                "cells": [
                    judged.statistic(c["summary"]["response"], s) for s in ("median", "p99", "p999", "max")
                ],
                "provenance": c["summary"]["response"]["provenance"],
            }
            for c in rows
        ],
    }


def _configuration(run: Run, configuration: Configuration, index: int) -> dict[str, Any]:
    summary = configuration["summary"]
    time = figure_unit(configuration["clock"]).split(",")[0]
    rows = []
    few = False
    for metric, s in summary.items():
        # A percentile whose rank is the last sample's says nothing that the maximum does not.
        short = [name for name, q in QUANTILES.items() if s["n"] < round(1 / (1 - q))]
        few = few or bool(short)
        rows.append(
            {
                "metric": metric,
                "unit": time if s["unit"] == "ns" else s["unit"],
                "n": number(s["n"]),
                "cells": [judged.statistic(s, name) + ("†" if name in short else "") for name in STATISTICS],
                "provenance": s["provenance"],
            }
        )
    clock = configuration["clock"]
    jobs = load_jobs(run, configuration["key"])
    return {
        "key": configuration["key"],
        "name": configuration["name"],
        "program": configuration["program"],
        "rows": rows,
        "few": few,
        "clock": _clock(configuration),
        "clock_notes": clock["notes"],
        "jobs": configuration.get("jobs"),
        "job_labels": LABELS,
        "counters": configuration["counters"],
        "realtime": realtime_rows(configuration["realtime"]),
        "events": [
            {
                "at": "unknown" if e["ns"] is None else f"{e['ns'] / 1e6:.3f} ms",
                "name": e["name"],
                "fault": e["name"].endswith(FAULTS),
                "args": ", ".join(f"{k} {v}" for k, v in e["args"].items()),
            }
            for e in configuration["events"][:EVENTS]
        ],
        "more_events": max(0, len(configuration["events"]) - EVENTS),
        "event_summary": [
            row | {"fault": row["name"].endswith(FAULTS)} for row in judged.event_rows(configuration)
        ],
        "event_table": configuration["tables"].get("events"),
        "chains": judged.chains(run, configuration, index),
        "more_chains": judged.more_chains(run, configuration),
        "outputs": judged.outputs(run, configuration, index),
        "plants": judged.plants(run, configuration, index),
        "timelines": judged.timelines(run, configuration, jobs, index)
        or _timeline(configuration, jobs, index),
        "trace": judged.trace_text(jobs),
        "interference": [
            {
                "source": i["source"],
                "rate": _rate(i["bytes_per_second"]),
                "seconds": f"{i['seconds']:.1f} s",
                "provenance": i["provenance"],
            }
            for i in configuration.get("interference", [])
        ],
        "published": _published(configuration),
    }


def _clock(configuration: Configuration) -> str:
    """The clock of a recording; one that no hardware has ticks at no rate."""
    clock = configuration["clock"]
    simulated = clock["provenance"] == "simulated"
    rate = "" if simulated else f", {clock['ticks_per_second'] / 1e6:.4f} MHz"
    return f"{clock['name']}{rate}, step {_resolution(configuration):.3g} ns ({clock['provenance']})"


def _rate(bytes_per_second: float | None) -> str:
    return "unknown" if bytes_per_second is None else f"{bytes_per_second / 1e6:.0f} MB/s"


def _deadline(configuration: Configuration) -> int | None:
    """The deadline that the program ran with, where its configuration names one."""
    config = configuration["config"]
    deadline = config.get("deadline_ns") if isinstance(config, dict) else None
    return int(deadline) if isinstance(deadline, int | float) else None


def _resolution(configuration: Configuration) -> float:
    clock = configuration["clock"]
    return float(clock["resolution_ticks"] / clock["ticks_per_second"] * 1e9)


def _published(configuration: Configuration) -> list[dict[str, str]]:
    """Published and recorded values side by side, each in its own column, and their ratio."""
    rows: list[dict[str, str]] = []
    for row in configuration["published"]:
        summary = configuration["summary"].get(row["metric"])
        values: dict[Statistic, float] = row["values"]
        for statistic, value in values.items():
            published = value * _PUBLISHED_NS[row["unit"]]
            # A metric that this run did not record still has its published value.
            recorded = summary[statistic] if summary is not None and summary["unit"] == "ns" else None
            rows.append(
                {
                    "metric": row["metric"],
                    "statistic": SUFFIX[statistic],
                    "unit": "µs",
                    "published": microseconds(published),
                    "recorded": "not recorded" if recorded is None else microseconds(recorded),
                    "provenance": "" if summary is None else summary["provenance"],
                    "ratio": "" if recorded is None or not published else f"{recorded / published:.2f}",
                    "source": row["source"],
                }
            )
    return rows


def _timeline(configuration: Configuration, jobs: Jobs | None, index: int) -> list[dict[str, Any]]:
    """The worst job of a recording that describes no tasks."""
    worst = None if jobs is None or "tasks" in configuration else jobs.worst(0)
    if jobs is None or worst is None:
        return []
    labels = jobs.labels(worst)
    deadline = _deadline(configuration)
    # The time between two releases is not said: the longest time that a job may take stands for it.
    picture = timeline_svg(jobs, worst, deadline, deadline, f"time{index}")
    return [
        {
            "svg": Markup(picture),
            "task": "",
            "seq": number(int(jobs.seq[worst])),
            "response": time_text(
                float(jobs.response[worst]), figure_unit(configuration["clock"]).split(",")[0]
            ),
            "labels": ", ".join(labels) if labels else "no deadline missed and no fault",
        }
    ]


def _distributions(run: Run) -> list[dict[str, Any]]:
    """Figures of all metrics, at most six curves in each.

    A metric of several configurations is one figure; metrics that only one configuration has (a
    benchmark's series) share a figure.
    """
    by_metric: dict[str, list[Configuration]] = defaultdict(list)
    reader = SampleReader(run)
    drawn: dict[tuple[str, str], Histogram] = {}
    for configuration in run.configurations:
        for metric, where in configuration["metrics"].items():
            # Those of tasks have figures of their own.
            if where.get("task") is not None or configuration["summary"][metric]["unit"] != "ns":
                continue
            made = histogram(reader.samples(configuration["key"], metric))
            if made is not None:
                drawn[configuration["key"], metric] = made
                by_metric[metric].append(configuration)
    groups: list[tuple[str, str, list[tuple[str, Configuration, str]]]] = []
    single: dict[str, list[tuple[str, Configuration, str]]] = defaultdict(list)
    for metric, configurations in by_metric.items():
        if len(configurations) > 1 or metric in MEANING:
            title = metric.capitalize() if metric in MEANING else metric
            groups.append((title, metric, [(c["name"], c, metric) for c in configurations]))
        else:
            single[configurations[0]["name"]].append((metric, configurations[0], metric))
    groups += [(name, "time", members) for name, members in single.items()]
    found: list[dict[str, Any]] = []
    for title, label, members in groups:
        for first in range(0, len(members), figures.SERIES_PER_FIGURE):
            part = members[first : first + figures.SERIES_PER_FIGURE]
            ident = f"dist{len(found)}"
            curves = [
                figures.Distribution(
                    name,
                    drawn[c["key"], metric],
                    _resolution(c),
                    _deadline(c) if metric == "response" else None,
                )
                for name, c, metric in part
            ]
            kinds = sorted({c["summary"][metric]["provenance"] for _, c, metric in part})
            negative = sum(drawn[c["key"], metric].negative for _, c, metric in part)
            found.append(
                {
                    "title": title if first == 0 else f"{title} (continued)",
                    "meaning": MEANING.get(label, ""),
                    "kinds": kinds,
                    "negative": negative,
                    "histogram": Markup(figures.histogram_svg(curves, f"{ident}h", label)),
                    "tail": Markup(figures.tail_svg(curves, f"{ident}t", label)),
                }
            )
    return found


def _section(section: dict[str, Any], index: int) -> dict[str, Any]:
    svg = Markup(figures.data_svg(section, f"data{index}")) if section["kind"] == "figure" else None
    return section | {"svg": svg}
