# SPDX-License-Identifier: Apache-2.0
"""A profile's results in words: a table for a terminal, and the source that stands beside a figure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from consort.model import Duration
from consort.run.profile.figures import ENOUGH_JOBS, FLOOR_NS, Observation, Proposal

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
    left_out = f"{sum(p.disturbed for p in proposals)} disturbed samples excluded"
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
