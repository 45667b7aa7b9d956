# SPDX-License-Identifier: Apache-2.0
"""Proposed execution times written into a description: comments, order and all else stay as they are."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from consort.base.units import counted
from consort.model import Duration, System
from consort.model.document import Document
from consort.model.load import loaded_from
from consort.model.reading import read_document
from consort.run.profile.figures import ENOUGH_JOBS, FLOOR_NS, Observation, Proposal

_WIDTH = 110
# The keys that stand before these in a task, in the order of the reference.
_BEFORE = (
    "jitter",
    "priority",
    "offset",
    "deadline",
    "burst",
    "min_distances",
    "min_interarrival",
    "period",
    "types",
    "step",
)


def edited(
    system: System,
    proposals: Sequence[Proposal],
    source: Mapping[str, Mapping[str, str]],
    *,
    elsewhere: bool = False,
) -> str:
    """The description's text with the proposed `wcet` and `bcet` of each task, checked to be right.

    `source`: for each task what its `wcet` and its `bcet` are measured by. `elsewhere`: the system lies on
    one of its targets, so that each figure names its processor. `BadInput` where a task is not written as a
    block, one key a line, or has figures for further processors in a form that cannot be added to.
    """
    lines = system.file.read_text(encoding="utf-8").splitlines(keepends=True)
    document = read_document(system.file)
    edits: list[tuple[int, int, list[str]]] = []
    for task in dict.fromkeys(proposal.task for proposal in proposals):
        mine = [proposal for proposal in proposals if proposal.task == task]
        if elsewhere:
            _refuse_bare(document, task)
        edits += _edits(document, lines, task, mine, source[task], elsewhere)
    for begin, end, entry in sorted(edits, reverse=True):
        lines[begin:end] = entry
    text = "".join(lines)
    _check(system, text)
    return text


def _check(system: System, text: str) -> None:
    """A description that does not load is never shown: it would be a defect of this module."""
    loaded_from(system, text)


def _refuse_bare(document: Document, task: str) -> None:
    """A figure that names no processor would be lost to one of a target's."""
    for key in ("wcet", "bcet"):
        given = document.get("tasks", task, key)
        if given is not None and (not isinstance(given, dict) or "value" in given):
            raise document.problem(
                ("tasks", task, key),
                "the figure names no processor; write its processor before it, and profile again",
            )


def _edits(
    document: Document,
    lines: list[str],
    task: str,
    proposals: Sequence[Proposal],
    source: Mapping[str, str],
    elsewhere: bool,
) -> Iterator[tuple[int, int, list[str]]]:
    keys = document.get("tasks", task)
    here = ("tasks", task)
    task_line = document.keys[here][0]
    places = {key: document.keys[(*here, key)] for key in keys}
    flow = [key for key, (line, _) in places.items() if line == task_line]
    columns = {column for _, column in places.values()}
    if flow or len(columns) != 1 or len({line for line, _ in places.values()}) != len(places):
        raise document.problem(
            here, "the task is not written with one key a line, so nothing can be added to it; write it so"
        )
    margin = " " * (columns.pop() - 1)
    for key, other in (("wcet", None), ("bcet", "wcet")):
        text = _entry(margin, key, keys.get(key), proposals, source, document, task, elsewhere)
        if key in places:
            begin = places[key][0] - 1
            end = _end(lines, begin, margin)
            yield begin, end, text
            continue
        after = [k for k in (other, *_BEFORE) if k is not None and k in places]
        # After the key that stands before it in the reference, or at the top of the task.
        at = _end(lines, places[after[0]][0] - 1, margin) if after else task_line
        # If there are two insertions at one line, the later one must not come first: both keys are written by
        # the first.
        if other is not None and other not in places:
            continue
        if key == "wcet" and "bcet" not in places:
            text += _entry(margin, "bcet", None, proposals, source, document, task, elsewhere)
        yield at, at, text


def _end(lines: list[str], begin: int, margin: str) -> int:
    """The line after a key's value: what is indented deeper belongs to it, comments and blank lines only
    before more of it."""
    end = begin + 1
    for number in range(begin + 1, len(lines)):
        text = lines[number]
        bare = text.strip()
        if not bare or (bare.startswith("#") and len(text) - len(text.lstrip()) <= len(margin)):
            continue
        if len(text) - len(text.lstrip()) <= len(margin):
            break
        end = number + 1
    return end


def _entry(
    margin: str,
    key: str,
    given: object,
    proposals: Sequence[Proposal],
    source: Mapping[str, str],
    document: Document,
    task: str,
    elsewhere: bool,
) -> list[str]:
    times = {p.processor: Duration(p.wcet_ps if key == "wcet" else p.bcet_ps) for p in proposals}
    kept = dict(given) if isinstance(given, dict) and "value" not in given else {}
    for processor, value in kept.items():
        if isinstance(value, dict) and processor in times and "value" not in value:
            raise document.problem(
                ("tasks", task, key, processor),
                "figures for each way of executing stand here; write one figure for the processor, and"
                " profile again",
            )
    if len(times) == 1 and not kept and not elsewhere:
        return [f"{margin}{key}:\n", *_figure(margin + "  ", next(iter(times.values())), source[key])]
    text = [f"{margin}{key}:\n"]
    for processor, value in kept.items():
        if processor not in times:
            text.append(f"{margin}  {processor}: {_flow(value)}\n")
    for processor, time in times.items():
        text += [f"{margin}  {processor}:\n", *_figure(margin + "    ", time, source[key])]
    return text


def _figure(margin: str, time: Duration, source: str) -> list[str]:
    folded = textwrap.wrap(source, _WIDTH - len(margin) - 2, break_long_words=False, break_on_hyphens=False)
    return [
        f"{margin}value: {time}\n",
        f"{margin}measured: >-\n",
        *(f"{margin}  {line}\n" for line in folded),
    ]


def _flow(value: object) -> str:
    """A figure of another processor, as JSON, which is YAML, too."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_HEADS = ("", "jobs", "inputs", "left out", "lowest", "highest", "last rose")


def percent(margin: Fraction) -> str:
    return f"{float(margin * 100):g} %"


def added(proposals: Sequence[Proposal]) -> str:
    """The largest margin of proposals: its share, why it is more than was asked for, and the floor."""
    most = max(proposals, key=lambda one: one.share)
    text = percent(most.share)
    if most.share > most.margin:
        text += f" ({percent(most.margin)}, and more for {most.used} jobs, fewer than {ENOUGH_JOBS})"
    if any(one.floored for one in proposals):
        text += f", at least {FLOOR_NS / 1000:g}us for the clock and the probe"
    return text


def source_of(proposals: Sequence[Proposal], environment: Mapping[str, Any]) -> dict[str, str]:
    """The source of a task's `wcet` and `bcet`, as its description states it."""
    seen = [one for proposal in proposals for one in proposal.observations]
    conditions = "alone and under interference" if len({one.condition for one in seen}) > 1 else "alone"
    cpus = ", ".join(dict.fromkeys(str(one.cpu) for one in seen if one.cpu is not None))
    machine = environment.get("cpu") or environment.get("machine") or "an unknown machine"
    if environment.get("hypervisor"):
        machine += " in a virtual machine"
    high = max(seen, key=lambda one: one.high_ns)
    low = min(one.low_ns for one in seen)
    inputs = [one.inputs for one in seen if one.inputs is not None]
    head = f"consort profile, {environment['date'][:10]}, {machine}{f', CPU {cpus}' if cpus else ''}:"
    jobs = f"of {sum(one.used for one in seen)} jobs {conditions}" + (
        f" ({max(inputs)} distinct inputs)" if inputs else " (inputs from a plant or a driver)"
    )
    left_out = f"{counted(sum(p.disturbed for p in proposals), 'disturbed sample')} excluded"
    if in_part := sum(p.in_part for p in proposals):
        left_out += f", {in_part} counted with what they executed at least"
    margin = added(proposals)
    return {
        "wcet": f"{head} high-water mark {_time(high.high_ns)} {jobs}, unchanged for"
        f" {high.watched_s - high.rose_after_s:.1f} s at the end, {left_out}; measured + {margin}, not a"
        f" bound",
        "bcet": f"{head} low-water mark {_time(low)} {jobs}, {left_out}; measured, a margin of {margin},"
        " not a bound",
    }


def lines(proposals: Sequence[Proposal], conditions: Mapping[str, Duration | None]) -> Iterator[str]:
    """The table. `conditions`: the wcet that each task has in the description now."""
    rows: list[tuple[str, ...]] = [_HEADS]
    for proposal in proposals:
        rows += [_row(one) for one in proposal.observations]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEADS))]

    def line(cells: tuple[str, ...]) -> str:
        first = f"  {cells[0]:<{widths[0]}}"
        rest = (f"{cell:>{width}}" for cell, width in zip(cells[1:], widths[1:], strict=True))
        return "  ".join([first, *rest]).rstrip()

    yield line(_HEADS)
    for proposal in proposals:
        now = conditions.get(proposal.task)
        had = "it has none" if now is None else f"it has {now}"
        yield f"{proposal.task} on {proposal.processor}: {had}"
        for one in proposal.observations:
            yield line(_row(one))
        yield f"  wcet {Duration(proposal.wcet_ps)}, bcet {Duration(proposal.bcet_ps)}: + {added([proposal])}"
    yield ""
    for text in _words(proposals):
        yield from textwrap.wrap(text, 80)


def _words(proposals: Sequence[Proposal]) -> Iterator[str]:
    yield (
        "wcet is the high-water mark and bcet the low-water mark, with a margin: measured, not a bound."
        f" The margin grows where fewer than {ENOUGH_JOBS} jobs were seen, and is at least"
        f" {FLOOR_NS / 1000:g}us, which is what the clock and the probe may cost a job."
        " An input or a state of the machine that did not occur here may take longer."
    )
    yield (
        "Left out: jobs that the machine was seen to stop while they executed (disturbed), jobs that took"
        " far longer"
        " than in a second run of the same (not repeated), and jobs that another task preempted."
        " Of a disturbed job (in part) the high-water mark counts what it executed at least, where that is"
        " known."
    )
    yield "Last rose: when the high-water mark last rose, of the time watched; where late, profile longer."
    if any(one.inputs is None for proposal in proposals for one in proposal.observations):
        yield "Inputs -: they come from a plant or a driver, whose values are not recorded."


def _row(one: Observation) -> tuple[str, ...]:
    out = [f"{one.disturbed} disturbed"] if one.disturbed else []
    out += [f"{one.in_part} in part"] if one.in_part else []
    out += [f"{one.unrepeated} not repeated"] if one.unrepeated else []
    out += [f"{one.preempted} preempted"] if one.preempted else []
    return (
        f"{one.core}, {one.condition}",
        f"{one.used}",
        "-" if one.inputs is None else f"{one.inputs}",
        " ".join(out) or "0",
        _time(one.low_ns),
        _time(one.high_ns),
        f"{one.rose_after_s:.1f}/{one.watched_s:.1f}s",
    )


def _time(nanoseconds: float) -> str:
    return f"{nanoseconds / 1000:.2f}us"


def as_json(proposals: Sequence[Proposal]) -> list[dict[str, Any]]:
    """The proposals as JSON: `_ps` are picoseconds, `_ns` nanoseconds."""
    return [
        {
            "task": p.task,
            "processor": p.processor,
            "wcet_ps": p.wcet_ps,
            "bcet_ps": p.bcet_ps,
            "margin": float(p.share),
            "least_added_ns": FLOOR_NS if p.margin else 0,
            "provenance": "measured",
            "bound": False,
            "observations": [asdict(one) for one in p.observations],
        }
        for p in proposals
    ]
