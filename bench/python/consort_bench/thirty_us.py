# SPDX-License-Identifier: Apache-2.0
"""`consort bench thirty-us`: through which memory, and with which wait, an application answers within 30 us.

examples/drive-30us on the platform of Coppik et al. 2025, with each of its shared memories, a master that
looks for the answer (poll) or is woken by an interrupt (event), and messages of several sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from consort.analysis.result import Bound
from consort.analysis.system import response_times
from consort.base.toolchain.builds import need_source_tree
from consort.model import Platform, System, load_system, platform_from_data, system_from_data
from consort.record import RunWriter
from consort.report import PAGES
from consort.simulate.build import prepare
from consort.simulate.engine import simulate

from consort_bench.registry import BenchResult, Options, goal

TASK = "loop"
MEMORIES = ("tcm", "ocm", "ddr", "ddr-cci")
# How the master awaits the answer, as the paper names it and as `scheduling` does.
WAITS = {"poll": "spin", "event": "sleep"}
SIZES = (4, 8, 16, 32, 64, 128, 256)
JOBS, QUICK = 20_000, 500
# So long that even the slowest case is answered before its next job, and none is given up at a deadline: a
# response depends on it no further.
PERIOD = "1ms"
US = 10**6
# Where the figures of a column come from.
COLUMNS = {
    "bound_us": "bound",
    "simulated_max_us": "simulated",
    "within_us": "published",
    "with_medians_us": "derived",
    "access_at_most_ns": "bound",
}


@dataclass(frozen=True)
class Case:
    """The example with one choice of memory, wait and, both ways, size [B]; None: the example's sizes."""

    memory: str
    wait: str
    size: int | None = None

    def of(self, example: System, platform: Platform) -> System:
        data = example.to_json()
        data["tasks"][TASK] |= {"period": PERIOD, "deadline": PERIOD}
        data["scheduling"] = {example.tasks[TASK].master: {"wait": WAITS[self.wait]}}
        for channel in data["channels"].values():
            channel["memory"] = self.memory
            if self.size is not None:
                channel["size"] = f"{self.size}B"
        return system_from_data(data, file=example.file, platform=platform)

    def bound(self, example: System, platform: Platform) -> Bound:
        (found,) = response_times(self.of(example, platform))
        return found


def load_example() -> System:
    return load_system(need_source_tree("the example of 30 us") / "examples" / "drive-30us" / "system.yaml")


def with_access(platform: Platform, memory: str, time: int) -> Platform:
    """The platform with another cost [ps] for an access to a word of a memory."""
    data = platform.to_json()
    data["memories"][memory]["access"]["base"] = {"value": f"{time}ps", "derived": "for this sweep"}
    return platform_from_data(data)


def with_medians(platform: Platform) -> Platform:
    """The platform as if each access and each signal took its median, the larger of idle and loaded.

    What follows is not a bound: half of all accesses take longer.
    """
    data = platform.to_json()
    medians: dict[str | None, list[int]] = {}
    for name, one in platform.exchanges.items():
        times = [part.median.value.picoseconds for part in (one, one.loaded) if part and part.median]
        medians.setdefault(one.memory, []).extend(times)
        if one.memory is None:
            data["exchanges"][name]["max"] = {"value": f"{max(times)}ps", "derived": "its median"}
    result = platform_from_data(data)
    for memory, times in medians.items():
        if memory is not None:
            result = with_access(result, memory, max(times))
    return result


def longest_access(case: Case, example: System, platform: Platform, limit: int) -> int | None:
    """The longest that an access to a word may take [ps] for the bound to be within the limit."""
    at = [_response(case.bound(example, with_access(platform, case.memory, time))) for time in (0, 1000)]
    each, rest = (at[1] - at[0]) / 1000, at[0]
    return int((limit - rest) / each) if rest <= limit else None


def _response(bound: Bound) -> int:
    if bound.response is None:
        raise ValueError(bound.verdict())
    return bound.response


def sweep(example: System, jobs: int, options: Options) -> Iterator[dict[str, Any]]:
    """A row for each memory and wait."""
    platform = example.platform_description
    task = example.tasks[TASK]
    limit, medians = task.deadline.picoseconds, with_medians(platform)
    cases = [Case(memory, wait) for memory in MEMORIES for wait in WAITS]
    for number, case in enumerate(cases):
        options.progress(f"{case.memory}, {case.wait}", number / len(cases))
        bound = case.bound(example, platform)
        prepared = prepare(case.of(example, platform))
        seen = simulate(prepared, jobs * prepared.plan.tasks[TASK].period_ps, choice="edges").figures[TASK]
        longest = longest_access(case, example, platform, limit)
        yield {
            "memory": case.memory,
            "wait": case.wait,
            "bound_us": _response(bound) / US,
            "simulated_max_us": (seen.max_response or 0) / US,
            "within_us": limit / US,
            "holds": _response(bound) <= limit,
            "with_medians_us": _response(case.bound(example, medians)) / US,
            "access_at_most_ns": None if longest is None else longest // 1000,
            "rests_on": ", ".join(sorted({figure.kind for figure in bound.figures})),
        }


def curves(example: System) -> list[dict[str, Any]]:
    """Bound over size, a series for each memory and wait, and the limit."""
    platform = example.platform_description
    made = [
        {
            "name": f"{memory}, {wait}",
            "provenance": "bound",
            "x": [float(size) for size in SIZES],
            "y": [_response(Case(memory, wait, size).bound(example, platform)) / US for size in SIZES],
        }
        for memory in MEMORIES
        for wait in WAITS
    ]
    limit = example.tasks[TASK].deadline.picoseconds / US
    allowed = {"name": "allowed", "provenance": "published", "x": [4.0, 256.0], "y": [limit, limit]}
    return [*made, allowed]


def rests_on(example: System) -> list[list[str]]:
    """The figures behind all bounds of the table, each with its source."""
    found = {
        figure.place: [figure.place, figure.value, figure.kind, figure.source]
        for memory in MEMORIES
        for wait in WAITS
        for figure in Case(memory, wait).bound(example, example.platform_description).figures
    }
    return [found[place] for place in sorted(found)]


NOTE = (
    "A bound takes each access and each signal as long as the platform file assumes: twice the loaded"
    " median that the paper prints, of which no maximum is known. With the medians themselves"
    " ('with_medians_us', derived) nothing is bounded. 'access_at_most_ns' is the longest access to a word"
    " for which the bound is within the limit: the figure to measure on a board. 'event' is an interrupt to"
    " the master; the worker looks for requests in any case."
)


def run(options: Options) -> BenchResult:
    """Sweeps memories and waits; `iterations` is the number of simulated jobs of each."""
    example = load_example()
    jobs = options.iterations or (QUICK if options.quick else JOBS)
    rows = list(sweep(example, jobs, options))
    above = sum(row["simulated_max_us"] > row["bound_us"] for row in rows)
    holding = [f"{row['memory']} with {row['wait']}" for row in rows if row["holds"]]
    goals = [
        goal("thirty_us_simulated_above_bound", above, "cases", "<=", 0, provenance="simulated"),
        goal("thirty_us_cases_that_hold", len(holding), "cases", ">=", 1, provenance="bound"),
    ]
    answer = f"within {rows[0]['within_us']:g} us by the bound: {', '.join(holding) or 'none'}"
    with RunWriter("thirty-us", "experiment", options.root, command=options.command, pages=PAGES) as writer:
        writer.add_section(
            "Response through each memory, with each wait",
            columns=[{"name": head, "provenance": COLUMNS.get(head)} for head in rows[0]],
            rows=[[str(cell) if isinstance(cell, bool) else cell for cell in row.values()] for row in rows],
            note=f"{answer}. {NOTE}",
            source="Coppik et al. 2025, sections 2 and 3",
        )
        writer.add_section(
            "Bound over the size of both messages",
            "figure",
            x={"label": "message each way", "unit": "byte", "log": True},
            y={"label": "response", "unit": "us", "log": True},
            series=curves(example),
            note="What is below the line 'allowed' holds.",
            source="Coppik et al. 2025, sections 2 and 3",
        )
        writer.add_section(
            "What the bounds rest on",
            columns=[{"name": head} for head in ("figure", "value", "provenance", "source")],
            rows=rests_on(example),
        )
        writer.add_goals(goals)
        finished = writer.finish()
    return BenchResult(
        goals,
        rows,
        finished.data["environment"],
        [answer, NOTE, f"report: {finished.path / 'report.html'}"],
        {"run": str(finished.path)},
    )
