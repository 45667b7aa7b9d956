# SPDX-License-Identifier: Apache-2.0
"""No bound rests on a cost that nobody gave: each figure has a source, and one that is missing is named."""

from __future__ import annotations

import csv
import itertools
import re
from pathlib import Path
from typing import Any

import free
import pytest
from consort.analysis.figures import Figures, remedy_of
from consort.analysis.lacking import remedies
from consort.analysis.offload_costs import offload_costs
from consort.analysis.result import Bound
from consort.analysis.system import analyze_system, response_times
from consort.base.errors import BadInput
from consort.model import (
    BadDescription,
    Platform,
    System,
    load_platform,
    load_system,
    platform_from_data,
    system_from_data,
)
from consort.plan import plan_of
from consort.simulate.build import prepare
from consort.simulate.engine import simulate
from loops import for_each

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(file for file in ROOT.glob("examples/*/*.yaml") if "platform:" in file.read_text())
PLATFORMS = sorted(ROOT.glob("platforms/*.yaml"))
SOURCED = {"published", "derived", "bound", "simulated", "counted", "measured", "assumed"}
MS = 10**9


def each_mode(system: System) -> list[System]:
    # One that changes modes is never in none.
    whole = [system] if system.mode_changes is None else []
    return [*whole, *(system.in_mode(mode) for mode in system.modes)]


def check(bound: Bound) -> None:
    """A bound rests on figures that all say where they come from; none names what is missing."""
    assert "counts as" not in bound.verdict()
    if bound.response is None:
        assert bound.missing or bound.notes
        return
    assert bound.figures, bound
    assert {figure.kind for figure in bound.figures} <= SOURCED, bound
    assert all(figure.source and figure.place and figure.value for figure in bound.figures)
    listed = bound.to_json()
    assert {figure["kind"] for figure in listed["figures"]} == set(listed["rests_on"])


def test_there_are_examples_and_platforms() -> None:
    assert len(EXAMPLES) >= 8 and len(PLATFORMS) >= 6


@for_each("file", EXAMPLES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_bound_of_an_example_has_its_sources(file: Path) -> None:
    for system in each_mode(load_system(file)):
        bounds = analyze_system(system)
        for bound in bounds:
            check(bound)
            assert bound.response is not None, bound.verdict()


def everywhere(platform: Platform) -> list[dict[str, Any]]:
    """A local task on each kind of core; an offloaded one for each pair of them through each memory."""
    wcet = {"value": "1ms", "assumed": "for this test"}
    cores = [f"{group}-0" for group, described in platform.cores.items()]
    made: list[dict[str, Any]] = [
        {"tasks": {"a": {"period": "1s", "wcet": wcet, "on": core}}} for core in cores
    ]
    for (master, worker), memory in itertools.product(itertools.permutations(cores, 2), platform.memories):
        task = {"period": "1s", "wcet": wcet, "on": worker, "execution": "offloaded", "master": master}
        channels = {f"a.{end}": {"memory": memory, "size": "8B"} for end in ("in", "out")}
        made.append({"tasks": {"a": task}, "channels": channels})
    return made


@for_each("file", PLATFORMS, ids=lambda file: file.stem)
def test_every_bound_on_a_platform_has_its_sources(file: Path) -> None:
    platform = load_platform(file)
    found = []
    for described in everywhere(platform):
        system = system_from_data({"consort": 1, "platform": file.stem, **described}, platform=platform)
        bounds = analyze_system(system)
        for bound in bounds:
            check(bound)
        found.append(bounds[0])
        if bounds[0].missing:
            # The simulator wants the same.
            with pytest.raises(BadInput, match="no figure for"):
                prepare(system)
        else:
            prepare(system)
    assert any(bound.response is not None for bound in found)


BOARD: dict[str, Any] = {
    "consort": 1,
    "name": "board",
    "processors": {"m": {"isa": "armv7e-m"}, "w": {"isa": "aarch64"}},
    "cores": {
        "m": {"processor": "m", "count": 1, **free.NO_SWITCH},
        "w": {"processor": "w", "count": 1, **free.NO_SWITCH},
    },
    "memories": {"ram": {"kind": "sram", "access": {"base": "100ns", "per_byte": "1ns"}}},
}
TASK: dict[str, Any] = {
    "period": "1ms",
    "wcet": {"w": {"offloaded": "100us"}},
    "on": "w-0",
    "execution": "offloaded",
    "master": "m-0",
}
SLEEPS = {"scheduling": {"m-0": {"wait": "sleep"}}}
MEDIAN = {"from": "w", "to": "m", "median": "3us", "published": "a table"}
SIGNAL = MEDIAN | {"max": "5us", "loaded": {"max": "7us"}}
CHANNELS = {f"a.{end}": {"memory": "ram", "size": "16B"} for end in ("in", "out")}


def bound_with(board: dict[str, Any] = BOARD, **parts: Any) -> Bound:
    from consort.model import platform_from_data

    described = {"consort": 1, "platform": "board", "tasks": {"a": TASK}, "channels": CHANNELS, **parts}
    return analyze_system(system_from_data(described, platform=platform_from_data(board)))[0]


def without(data: Any, *path: str) -> Any:
    key, *rest = path
    return {k: without(v, *rest) if k == key and rest else v for k, v in data.items() if k != key or rest}


@pytest.mark.parametrize(
    ("board", "parts", "missing"),
    [
        (without(BOARD, "cores", "m", "context_switch"), {}, "cores.m.context_switch"),
        (without(BOARD, "memories", "ram", "access"), {}, "memories.ram.access"),
        (without(BOARD, "memories", "ram", "access", "base"), {}, "memories.ram.access.base"),
        (without(BOARD, "memories", "ram", "access", "per_byte"), {}, "memories.ram.access.per_byte"),
        (BOARD, {"channels": without(CHANNELS, "a.in", "size")}, "channels.a.in.size"),
        (BOARD, {"tasks": {"a": without(TASK, "wcet")}}, "tasks.a.wcet"),
        (
            without(BOARD, "cores", "m", "timer_lateness"),
            {"run": {"time_base": "sleep"}},
            "cores.m.timer_lateness",
        ),
        (BOARD, SLEEPS, "exchanges.signal-w-m.max"),
        # The other way, there and back, or through a memory, is another figure; a median bounds nothing.
        (BOARD | {"exchanges": {"a": SIGNAL | {"from": "m", "to": "w"}}}, SLEEPS, "exchanges.signal-w-m.max"),
        (BOARD | {"exchanges": {"a": SIGNAL | {"round_trip": True}}}, SLEEPS, "exchanges.signal-w-m.max"),
        (BOARD | {"exchanges": {"a": SIGNAL | {"memory": "ram"}}}, SLEEPS, "exchanges.signal-w-m.max"),
        (BOARD | {"exchanges": {"a": MEDIAN}}, SLEEPS, "exchanges.signal-w-m.max"),
    ],
)
def test_a_missing_figure_leaves_no_bound_and_is_named(
    board: dict[str, Any], parts: dict[str, Any], missing: str
) -> None:
    assert bound_with().response is not None
    bound = bound_with(board, **parts)
    assert bound.response is None and not bound.schedulable
    assert bound.missing == (missing,)
    for word in ("no figure for", missing, remedy_of(missing).format("it"), "assumed:"):
        assert word in bound.verdict()


def test_a_memory_that_nobody_named_is_to_be_named_and_not_assumed() -> None:
    bound = bound_with(channels=without(CHANNELS, "a.in", "memory"))
    assert bound.missing == ("channels.a.in.memory",)
    assert "write it: a memory of the platform (ram)" in bound.verdict()
    assert "assumed" not in bound.verdict()
    assert remedies(bound.missing) == "write channels.a.in.memory: a memory of the platform"
    assert "assumed" in remedies([*bound.missing, "tasks.a.wcet"])


@pytest.mark.parametrize(
    ("place", "remedy"),
    [
        ("tasks.pi.wcet", "`consort profile`"),
        ("channels.pi.in.size", "the size of its type"),
        ("cores.m.context_switch", "`consort probe`"),
        ("memories.far.fault.page", "a run over the remote memory"),
        ("links.pcie.rate", "a data sheet"),
    ],
)
def test_a_remedy_is_one_that_gives_the_figure(place: str, remedy: str) -> None:
    assert remedy in remedy_of(place)
    assert ("consort" in remedy) == ("consort" in remedy_of(place))


def test_what_the_master_computes_is_its_accesses_unless_it_is_given() -> None:
    word, copy = 104_000, 116_000
    ends = 3 * word + copy
    derived = bound_with()
    # Write, look and read, there and back, around the step.
    assert derived.response == 2 * (2 * ends + word) + 100 * 10**6
    given = bound_with(tasks={"a": TASK | {"dispatch": {"send": "2us", "receive": "1us"}}})
    assert given.response == derived.response + 3 * 10**6
    assert {"tasks.a.dispatch.send", "tasks.a.dispatch.receive"} <= {f.place for f in given.figures}


EXCHANGE = {"from": "m", "to": "w", "memory": "ram", "round_trip": True, "published": "a table"}


def test_a_message_that_was_timed_takes_its_maximum() -> None:
    timed = {
        "small": EXCHANGE | {"size": "8B", "max": "2us"},
        "fits": EXCHANGE | {"size": "16B", "max": "3us", "loaded": {"max": "4us"}},
        "large": EXCHANGE | {"size": "1KiB", "max": "90us"},
    }
    tasks = {"a": TASK | {"dispatch": {"send": "2us", "receive": "1us", "assumed": "so"}}}
    bound = bound_with(BOARD | {"exchanges": timed}, tasks=tasks)
    assert bound.response == (2 + 4 + 100 + 4 + 1) * 10**6
    assert ("exchanges.fits.loaded.max", "published") in {(f.place, f.kind) for f in bound.figures}


def test_a_master_that_sleeps_waits_for_the_longest_signal() -> None:
    from consort.model import platform_from_data

    board = BOARD | {"exchanges": {"signal": SIGNAL}}
    polled, slept = bound_with(board), bound_with(board, **SLEEPS)
    assert polled.response is not None and slept.response == polled.response + 7 * 10**6
    assert ("exchanges.signal.loaded.max", "published") in {(f.place, f.kind) for f in slept.figures}
    assert "exchanges.signal.loaded.max" not in {f.place for f in polled.figures}
    described = {"consort": 1, "platform": "board", "tasks": {"a": TASK}, "channels": CHANNELS}
    seen = []
    for parts in ({}, SLEEPS):
        system = system_from_data({**described, **parts}, platform=platform_from_data(board))
        seen.append(simulate(prepare(system), 10 * MS).figures["a"].max_response)
    assert seen == [polled.response, slept.response]


def test_a_signal_may_keep_a_worker_from_its_other_tasks() -> None:
    from consort.model import platform_from_data

    board = platform_from_data(BOARD | {"exchanges": {"signal": SIGNAL}})
    found = []
    for names in ("a", "ab"):
        tasks = dict.fromkeys(names, TASK)
        channels = {
            f"{name}.{end}": {"memory": "ram", "size": "16B"} for name in names for end in ("in", "out")
        }
        described = {"consort": 1, "platform": "board", "tasks": tasks, "channels": channels}
        figures = Figures(plan_of(system_from_data(described, platform=board)))
        found.append(offload_costs(figures, "a", sleeps=True))
    alone, shared = found
    assert shared.worker == alone.worker + 7 * 10**6 and shared.answer == alone.answer - 7 * 10**6


def test_a_median_bounds_nothing() -> None:
    timed = {"fits": EXCHANGE | {"size": "16B", "median": "3us", "mean": "3us"}}
    board = without(BOARD, "memories", "ram", "access") | {"exchanges": timed}
    tasks = {"a": TASK | {"dispatch": {"send": "2us", "receive": "1us", "assumed": "so"}}}
    assert bound_with(board, tasks=tasks).missing == ("memories.ram.access",)


def test_figures_without_a_source_are_called_given() -> None:
    kinds = {figure.place: figure.kind for figure in bound_with().figures}
    assert kinds["tasks.a.wcet.w.offloaded"] == "given" and kinds["cores.m.context_switch"] == "assumed"


def test_a_source_of_a_task_holds_for_its_figures() -> None:
    bound = bound_with(tasks={"a": TASK | {"assumed": "made up"}})
    (wcet,) = [figure for figure in bound.figures if figure.place.startswith("tasks.a.wcet")]
    assert (wcet.kind, wcet.source) == ("assumed", "made up")


def test_a_use_without_a_cost_is_refused_by_the_simulator() -> None:
    from consort.model import platform_from_data

    board = platform_from_data(without(BOARD, "cores", "m", "context_switch"))
    tasks = {"a": {"period": "1ms", "wcet": "1us", "on": "m-0"}}
    with pytest.raises(BadDescription, match=r"cores\.m\.context_switch"):
        prepare(system_from_data({"consort": 1, "platform": "board", "tasks": tasks}, platform=board))


def test_assumed_figures_of_the_servo_rest_on_the_counts_they_name() -> None:
    """A count that changes leaves no description behind that assumes the old one."""
    folder = next(file.parent for file in EXAMPLES if file.parent.name == "servo")
    counted = (folder / "bench" / "counted.csv").read_text(encoding="utf-8")
    counts = {row["instructions"] for row in csv.DictReader(counted.splitlines()[1:])}
    named = {
        number
        for file in folder.glob("*.yaml")
        for number in re.findall(r"each of (?:the )?(\d+) instructions", file.read_text(encoding="utf-8"))
    }
    assert len(named) >= 4 and named <= counts


SLEEPERS = {
    "a": {"period": "1ms", "deadline": "101us", "wcet": "99us", "on": "c-0", "priority": 2},
    "b": {"period": "10ms", "wcet": "1ms", "on": "c-0", "priority": 1},
}


def late_by(lateness: str | None, tasks: dict[str, Any], **parts: Any) -> list[Bound]:
    cores: dict[str, Any] = {"processor": "p", "count": 2, "context_switch": {"value": "1us", "assumed": "x"}}
    if lateness is not None:
        cores["timer_lateness"] = {"value": lateness, "assumed": "x"}
    data: dict[str, Any] = {"consort": 1, "name": "late", "processors": {"p": {"isa": "x86_64"}}}
    data |= {"cores": {"c": cores}, "memories": {"m": {"kind": "sram", "size": "1MiB", "assumed": "x"}}}
    whole = {"consort": 1, "platform": "late", "tasks": tasks, **parts}
    return response_times(system_from_data(whole, platform=platform_from_data(data)))


@pytest.mark.parametrize("run", [{}, *({"time_base": base} for base in ("hybrid", "sleep", "spin"))])
def test_a_core_of_several_tasks_sleeps_and_wakes_late(run: dict[str, str]) -> None:
    """Whatever `time_base` says, as `consort plan` says it: one that spins would keep the others waiting."""
    for bound in late_by(None, SLEEPERS, run=run):
        assert bound.response is None and bound.missing == ("cores.c.timer_lateness",)
        assert "which sleeps until a release" in bound.notes[0] and "consort probe" in bound.notes[0]
    punctual = [bound.response for bound in late_by("0us", SLEEPERS, run=run)]
    assert punctual[0] == 102 * 10**6
    late = [bound.response for bound in late_by("50us", SLEEPERS, run=run)]
    assert late[0] == punctual[0] + 50 * 10**6 and (late[1] or 0) >= (punctual[1] or 0) + 50 * 10**6


def test_a_core_of_one_task_spins_at_once_or_from_a_margin_on() -> None:
    """The margin is how late a timer is: it must be known, and then nothing is late."""
    alone = {"a": SLEEPERS["a"]}
    for base in ("sleep", "hybrid"):
        assert late_by(None, alone, run={"time_base": base})[0].missing == ("cores.c.timer_lateness",)
    late = {"sleep": 50, "hybrid": 0, "spin": 0}
    for base, us in late.items():
        assert late_by("50us", alone, run={"time_base": base})[0].response == (101 + us) * 10**6
    assert late_by(None, alone, run={"time_base": "spin"})[0].response == 101 * 10**6


def test_a_core_whose_task_blocks_release_sleeps() -> None:
    """It waits for the block, whatever `time_base` says: nobody knows when that comes."""
    tasks: dict[str, Any] = {
        "w": {"period": "1ms", "wcet": "99us", "on": "c-1", "writes": ["k"]},
        "a": {"min_interarrival": "1ms", "wcet": "99us", "on": "c-0", "reads": ["k"], "arrival": "k"},
    }
    channels = {"k": {"kind": "queue", "capacity": 8, "memory": "m", "size": "8B"}}
    parts: dict[str, Any] = {"channels": channels, "run": {"time_base": "spin"}}
    bounds = {bound.task: bound for bound in late_by(None, tasks, **parts)}
    assert bounds["w"].response is not None and bounds["a"].missing == ("cores.c.timer_lateness",)


def test_resources_under_edf_have_none_where_a_timer_is_late() -> None:
    tasks = {
        name: {"period": "1ms", "wcet": "9us", "on": "c-0", "sections": {"bus": {"length": "1us"}}}
        for name in ("a", "b")
    }
    parts: dict[str, Any] = {
        "resources": {"bus": {"protocol": "priority-ceiling"}},
        "scheduling": {"c-0": {"policy": "edf"}},
    }
    assert all(bound.response is not None for bound in late_by("0us", tasks, **parts))
    for base in ("hybrid", "spin"):
        for bound in late_by("50us", tasks, **parts, run={"time_base": base}):
            assert bound.response is None and "bounds without jitter" in bound.notes[0]


@for_each("file", PLATFORMS, ids=[file.stem for file in PLATFORMS])
def test_every_platform_says_how_late_its_timers_wake(file: Path) -> None:
    for group, cores in load_platform(file).cores.items():
        if cores.context_switch is not None:
            assert cores.timer_lateness is not None and cores.timer_lateness.provenance is not None, group
