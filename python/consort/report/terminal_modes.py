# SPDX-License-Identifier: Apache-2.0
"""Changes of mode, hand-overs and fail-overs of a run, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from consort.base.units import microseconds
from consort.record.sections import CHANGES_OF_MODE, FAIL_OVERS, HAND_OVERS, PHASES
from consort.record.store import Run
from consort.report.lines import CELL, LABEL, heads_line, wrapped


def mode_lines(run: Run) -> list[str]:
    """The lines of the tables of a run that changed modes; none for another one."""
    return [*_changes_of_mode(run), *_fail_overs(run), *_hand_overs(run), *_phases(run)]


def _hand_overs(run: Run) -> Iterator[str]:
    """The hand-over of each task and mode that was complete last; the report has all of them."""
    for section in run.data["sections"]:
        if not section["title"].startswith(HAND_OVERS):
            continue
        text = f"{section['title']}. All times in µs, from the idle instant; the slowest of each."
        yield from wrapped(text)
        yield heads_line(("hand-overs", "given", "taken", "accesses ≤", "agreement"))
        kinds: dict[tuple[str, str], list[list[Any]]] = {}
        for row in section["rows"]:
            kinds.setdefault((row[0], row[1]), []).append(row)
        for (task, mode), rows in kinds.items():
            slowest = max(rows, key=lambda row: float(row[4]))
            yield f"{task} into {mode}, {slowest[2]}"
            cells = [
                str(len(rows)),
                *(("–" if us is None else microseconds(us * 1000)) for us in slowest[3:]),
            ]
            mark = "✓" if slowest[4] <= slowest[6] else "~"
            yield " " * LABEL + "".join(f"{cell:>{CELL}}" for cell in cells) + f" {mark}"
        yield ""


def _phases(run: Run) -> Iterator[str]:
    """The longest of each phase of a task's hand-overs, and its bound below it."""
    for section in run.data["sections"]:
        if not section["title"].startswith(PHASES):
            continue
        yield from wrapped(f"{section['title']}. All times in µs; the longest of each, and its bound.")
        kinds: dict[tuple[str, str, str], list[list[Any]]] = {}
        for row in section["rows"]:
            kinds.setdefault((row[0], row[1], row[2]), []).append(row)
        for place, ((task, mode, cores), rows) in enumerate(kinds.items()):
            if place == 0:
                yield heads_line([row[3] for row in rows])
            yield f"{task} into {mode}, {cores}"
            for column, label in ((4, "longest"), (5, "bound")):
                cells = ["–" if row[column] is None else microseconds(row[column] * 1000) for row in rows]
                yield f"{'  ' + label:<{LABEL}}" + "".join(f"{cell:>{CELL}}" for cell in cells)
        yield ""


def _fail_overs(run: Run) -> Iterator[str]:
    """Lines for the tasks of each core that died: when another one went on with them."""
    for section in run.data["sections"]:
        if not section["title"].startswith(FAIL_OVERS):
            continue
        yield from wrapped(f"{section['title']}. All times in µs, from the core's last sign of life.")
        yield heads_line(("jobs lost", "noticed", "released", "first job", "bound"))
        for core, mode, task, lost, noticed, _, released, first, bound in section["rows"]:
            yield f"{task}: {core} died in {mode}"
            known = (
                "–" if us is None else microseconds(us * 1000) for us in (noticed, released, first, bound)
            )
            cells = ["–" if lost is None else str(lost), *known]
            mark = " " if bound is None or first is None else "✓" if first <= bound else "✗"
            yield " " * LABEL + "".join(f"{cell:>{CELL}}" for cell in cells) + f" {mark}"
        yield ""


def _changes_of_mode(run: Run) -> Iterator[str]:
    """The slowest change between each two modes, and how many there were; the report has all of them."""
    for section in run.data["sections"]:
        if not section["title"].startswith(CHANGES_OF_MODE):
            continue
        yield from wrapped(f"{section['title']}. All times in µs; the slowest of each.")
        yield heads_line(("changes", "requested", "idle after", "latency", "bound"))
        slowest: dict[tuple[str, str], list[Any]] = {}
        counts: dict[tuple[str, str], int] = {}
        for row in section["rows"]:
            kind = (row[0], row[1])
            counts[kind] = counts.get(kind, 0) + 1
            if kind not in slowest or row[5] > slowest[kind][5]:
                slowest[kind] = row
        for (old, new), (_, _, requested, idle, _, latency, bound) in slowest.items():
            mark = " " if bound is None else "✓" if latency <= bound else "✗"
            yield f"{old} -> {new}"
            cells = [str(counts[old, new])]
            cells += [
                "–" if us is None else microseconds(us * 1000)
                for us in (requested, idle - requested, latency, bound)
            ]
            yield " " * LABEL + "".join(f"{cell:>{CELL}}" for cell in cells) + f" {mark}"
        yield ""
