# SPDX-License-Identifier: Apache-2.0
"""A run in progress: the figures of its summary page as data, and as a table of at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from consort.base.units import THIN_SPACE, duration, microseconds, number
from consort.record.ran import Ran
from consort.report.lines import WIDTH, wrapped

_LABEL, _CELL = 12, 17
_COUNTS = ("jobs/s", "jobs", "missed", "unserved")
_TIMES = ("last", "median", "max", "deadline")
_LINKS = ("link_blocks", "link_failures", "link_deaths")
_CORE = ("disturbed", "longest", "throttled", "lost")

Data = Mapping[str, Any]


def live_data(
    run: str,
    configuration: Data,
    ran: Ran,
    state: str,
    head: Data,
    tasks: Sequence[Data],
    cores: Sequence[Data],
) -> dict[str, Any]:
    """The data of one line of `consort watch --json`. Times in ns; None: not seen, or endless (the median).

    `head`, `tasks` and `cores`: the structs of the page; each task has `rate_per_s` beside them.
    """
    data: dict[str, Any] = {
        "run": run,
        "configuration": configuration["key"],
        "title": configuration["title"],
        "state": state,
        "elapsed_ns": head["elapsed_ns"],
        "duration_ns": _whole(ran.facts.duration_ns or 0.0),
        "tasks": {
            task.name: {
                "core": task.core,
                "worker": task.worker,
                "period_ns": _whole(ran.ns(task.period_ps)),
                "deadline_ns": _whole(ran.ns(task.deadline_ps)),
                **row,
            }
            for task, row in zip(ran.tasks, tasks, strict=True)
        },
        "cores": {name: dict(row) for name, row in zip(ran.core_names, cores, strict=True)},
        "records_lost": head["records_lost"],
        "blocks_corrupt": head["blocks_corrupt"],
        **{key: head.get(key, 0) for key in _LINKS},
    }
    data["failing"] = list(_failing(data))
    return data


def _whole(ns: float) -> int | float:
    return int(ns) if ns.is_integer() else ns


def _failing(data: Data) -> Iterator[str]:
    """Reasons that the run would not hold if it ended now. Only the judge tells apart what the machine
    did."""
    for name, task in data["tasks"].items():
        for count, words in (("missed", "missed their deadline"), ("aborted", "were aborted")):
            if task[count]:
                yield f"{name}: {number(task[count])} of {number(task['jobs'])} jobs {words}"
    for name, core in data["cores"].items():
        if core["deaths"]:
            yield f"{name}: its process died ({number(core['deaths'])})"
    if data["records_lost"]:
        yield f"{number(data['records_lost'])} records found no room"
    if data["blocks_corrupt"]:
        yield f"{number(data['blocks_corrupt'])} blocks were not what their number says"
    if data["link_failures"]:
        yield f"{number(data['link_failures'])} transactions over links failed"
    if data["link_deaths"]:
        yield f"engines of links died ({number(data['link_deaths'])})"


def _link_words(data: Data) -> str:
    return (
        f"Over links {number(data['link_blocks'])} blocks arrived; {number(data['link_failures'])}"
        f" transactions failed, engines died {number(data['link_deaths'])} times."
    )


def live_lines(data: Data) -> list[str]:
    """The table of `live_data`; none of its lines is longer than 80 columns."""
    lines = [*wrapped(f"{data['run']}: {data['configuration']}, {data['title']}")]
    elapsed = min(data["elapsed_ns"], data["duration_ns"])
    lines += wrapped(
        f"{data['state']}, {duration(elapsed)} of {duration(data['duration_ns'])}."
        " Response times of served jobs and lateness in µs, measured.",
        indent="",
    )
    lines += [_row("", _COUNTS), _row("", _TIMES)]
    for name, task in data["tasks"].items():
        where = f" on {task['core']}" + (f", computed on {task['worker']}" if task["worker"] else "")
        lines += wrapped(f"{name}{where}", indent="")
        rate = "–" if task["rate_per_s"] is None else number(task["rate_per_s"])
        lines.append(_row("  jobs", (rate, *(number(task[n]) for n in _COUNTS[1:]))))
        times = [task["response_last_ns"], task["response_median_ns"], task["response_max_ns"]]
        lines.append(_row("  response", map(microseconds, (*times, task["deadline_ns"]))))
        late = ("lateness_last_ns", None, "lateness_max_ns")
        lines.append(_row("  lateness", (_time(task, key) for key in late)))
        start = ("start_last_ns", None, "start_max_ns")
        lines.append(_row("  late start", (_time(task, key) for key in start)))
    lines.append(_row("cores", _CORE))
    for name, core in data["cores"].items():
        cells = (
            number(core["disturbed"]),
            duration(core["disturbed_longest_ns"]) if core["disturbed"] else "–",
            number(core["throttled"]),
            number(core["records_lost"]),
        )
        if len(name) > _LABEL - 3:
            lines += wrapped(f"  {name}")
            name = ""
        lines.append(_row(f"  {name}", cells))
    if data["link_blocks"]:
        lines += wrapped(_link_words(data), indent="")
    lines += [line for reason in data["failing"] for line in wrapped(f"- {reason}")]
    return [line.rstrip().replace(THIN_SPACE, ",") for line in lines]


def _time(row: Data, key: str | None) -> str:
    return "" if key is None else microseconds(row[key])


def _row(label: str, cells: Any) -> str:
    line = f"{label:<{_LABEL}}" + "".join(f"{cell:>{_CELL}}" for cell in cells)
    assert len(line) <= WIDTH, line
    return line
