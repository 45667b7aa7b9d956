# SPDX-License-Identifier: Apache-2.0
"""`consort place`: what it prints, writes and refuses, and that what it writes is what it says."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from consort.analysis.mode_changes import analyze_modes
from consort.analysis.system import analyze_system
from consort.base.errors import BadInput
from consort.cli import cli
from consort.model import load_system
from consort.place import goals
from consort.plan import plan

EXAMPLES = Path(__file__).parents[3] / "examples"

PLATFORM = """\
consort: 1
name: two
processors: {m4: {isa: armv7e-m}}
cores:
  m4: {processor: m4, count: 2, assumed: for this test, context_switch: 1us, timer_lateness: 0ns}
"""
# Two tasks of 60 % and one that is light: the core m4-0 is overloaded as it stands.
SYSTEM = """\
# A comment at the top.
consort: 1
platform: two.yaml
assumed: for this test

tasks:
  pump: {period: 10ms, wcet: 6ms, on: m4-0, energy: 5uJ}   # beside it stands why

  # The second one.
  valve:
    period: 10ms
    wcet: 6ms
    on: m4-0        # for now
    energy: 5uJ
  lamp: {period: 100ms, wcet: 1ms, on: m4-1, energy: 1uJ}
channels:
  pressure: {kind: sporadic, from: pump, to: [valve], size: 8B}
chains:
  open: {path: [pump, valve], reaction: 100ms}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "two.yaml").write_text(PLATFORM, encoding="utf-8")
    (tmp_path / "system.yaml").write_text(SYSTEM, encoding="utf-8")
    return tmp_path


def place(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["place", *map(str, arguments)], catch_exceptions=True)


def found(*arguments: object, status: int = 0) -> dict[str, Any]:
    result = place(*arguments, "--json")
    assert result.exit_code == status, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def test_the_file_changes_where_a_task_moves_and_nowhere_else(folder: Path) -> None:
    out = folder / "placed.yaml"
    data = found(folder / "system.yaml", "--output", out, "--best", "reaction")
    assert data["status"] == "optimal" and data["value_before"] is None and len(data["moved"]) == 1
    before, after = SYSTEM.splitlines(), out.read_text(encoding="utf-8").splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed in (
        [("    on: m4-0        # for now", "    on: m4-1        # for now")],
        [(before[6], before[6].replace("m4-0", "m4-1"))],
    )
    bounds = analyze_system(load_system(out))
    assert all(bound.schedulable for bound in bounds)
    reaction = next(bound.response for bound in bounds if bound.kind == "reaction time")
    assert data["value"] == -(reaction or 0)


def test_the_objective_before_and_after_is_shown_and_nothing_is_written(folder: Path) -> None:
    result = place(folder / "system.yaml", "--svg", folder / "loads.svg")
    assert result.exit_code == 0
    assert "it does not hold as it stands" in result.output and "Proven optimal" in result.output
    assert "1 task moves: no placement as good moves fewer." in result.output
    assert "Nothing is written" in result.output
    assert (folder / "system.yaml").read_text(encoding="utf-8") == SYSTEM
    drawn = (folder / "loads.svg").read_text(encoding="utf-8")
    assert "120.0%" in drawn and "m4-1" in drawn and "<title>" in drawn


def test_the_same_arguments_give_the_same_placement(folder: Path) -> None:
    assert place(folder / "system.yaml", "--diff").output == place(folder / "system.yaml", "--diff").output


def test_what_cannot_hold_is_explained_by_what_is_in_conflict_and_no_more(folder: Path) -> None:
    data = found(folder / "system.yaml", "--keep", "pump", "--keep", "valve", "--keep", "lamp", status=1)
    conflict = data["conflict"]
    assert data["status"] == "infeasible" and conflict["minimal"]
    named = {(one["kind"], one["name"]) for one in conflict["requirements"]}
    assert named == {("keep", "pump"), ("keep", "valve"), ("task", "pump"), ("task", "valve")}
    result = place(folder / "system.yaml", "--moves", 0)
    assert result.exit_code == 1
    assert "--moves 0" in result.output and "lamp" not in result.output
    assert "task pump, deadline 10ms, which may run on m4-0 to m4-1" in result.output


def test_what_is_in_conflict_is_in_conflict_without_the_rest(tmp_path: Path) -> None:
    """An offset makes bounds lower: without one task others may not hold by themselves."""
    (tmp_path / "one.yaml").write_text(
        "consort: 1\nname: one\nprocessors: {p: {isa: x86_64}}\n"
        "cores: {c: {processor: p, count: 1, context_switch: 1us, timer_lateness: 0us}}\n",
        encoding="utf-8",
    )
    head = "consort: 1\nassumed: a test\nplatform: one.yaml\nrun: {time_base: spin}\ntasks:\n"
    two = (
        "  high: {period: 10ms, jitter: 4ms, wcet: 3ms, on: c-0}\n  low: {period: 10ms, wcet: 4ms, on: c-0}\n"
    )
    more = (
        "  x: {period: 100ms, wcet: 35ms, on: c-0}\n"
        "  late: {period: 40ms, offset: 39ms, wcet: 10us, on: c-0}\n"
    )
    for rest in ("", more):
        file = tmp_path / "system.yaml"
        file.write_text(head + two + rest, encoding="utf-8")
        conflict = found(file, status=1)["conflict"]
        assert {one["name"] for one in conflict["requirements"]} == {"high", "low"} and conflict["minimal"]


@pytest.mark.parametrize("time_base", ["spin", "sleep"])
def test_a_placement_has_the_time_base_of_the_run(tmp_path: Path, time_base: str) -> None:
    """A core of one task that spins needs no figure of its timer; one that sleeps does."""
    (tmp_path / "one.yaml").write_text(
        "consort: 1\nname: one\nprocessors: {p: {isa: x86_64}}\n"
        "cores: {c: {processor: p, count: 1, context_switch: 1us}}\n",
        encoding="utf-8",
    )
    file = tmp_path / "system.yaml"
    head = f"consort: 1\nassumed: a test\nplatform: one.yaml\nrun: {{time_base: {time_base}}}\ntasks:\n"
    one = "  low: {period: 10ms, wcet: 4ms, on: c-0}\n"
    for tasks in (one, one + "  late: {period: 40ms, wcet: 10us, on: c-0}\n"):
        file.write_text(head + tasks, encoding="utf-8")
        holds = all(bound.schedulable for bound in analyze_system(plan(load_system(file), "analysis")))
        assert holds == (time_base == "spin" and tasks == one)
        data = found(file, status=0 if holds else 4)
        assert data["status"] == ("optimal" if holds else "undecided")
        assert data["missing"] == ([] if holds else ["cores.c.timer_lateness"])


def test_nothing_is_proven_for_want_of_a_figure(folder: Path) -> None:
    """Neither that no placement holds, nor that the best of some is the best of all without a word of it."""
    (folder / "two.yaml").write_text(PLATFORM.replace(", timer_lateness: 0ns", ""), encoding="utf-8")
    for arguments in ((), ("--best", "cores"), ("--best", "reaction")):
        data = found(folder / "system.yaml", *arguments, status=4)
        assert data["status"] == "undecided" and data["conflict"] is None
        assert data["missing"] == ["cores.m4.timer_lateness"]
    for arguments in ((), ("--pareto", "cores,slack")):
        result = place(folder / "system.yaml", *arguments)
        assert result.exit_code == 4
        assert "Undecided" in result.output and "cores.m4.timer_lateness" in result.output
        assert "proven" not in result.output


def test_a_figure_that_only_some_placements_need_is_named_beside_the_best(folder: Path) -> None:
    platform = PLATFORM + "  m4b: {processor: m4, count: 1, assumed: for this test, timer_lateness: 0ns}\n"
    (folder / "two.yaml").write_text(platform, encoding="utf-8")
    result = place(folder / "system.yaml")
    assert result.exit_code == 0 and "Proven optimal" in result.output
    assert "Left out" in result.output and "cores.m4b.context_switch" in result.output
    assert found(folder / "system.yaml")["missing"] == ["cores.m4b.context_switch"]


def test_a_limit_that_is_missed_whatever_a_figure_is_needs_no_figure(folder: Path) -> None:
    late = SYSTEM.replace("on: m4-0", "deadline: 5ms, on: m4-0", 1)
    (folder / "system.yaml").write_text(late, encoding="utf-8")
    for lacks in ("context_switch: 1us", "timer_lateness: 0ns"):
        platform = PLATFORM + f"  m4b: {{processor: m4, count: 1, assumed: for this test, {lacks}}}\n"
        (folder / "two.yaml").write_text(platform, encoding="utf-8")
        assert found(folder / "system.yaml", "--keep", "pump", status=1)["status"] == "infeasible"


UNBOUNDED = (
    SYSTEM.replace("kind: sporadic, from: pump", "kind: queue, capacity: 2, from: pump")
    .replace("wcet: 6ms, on: m4-0, energy", "wcet: 3ms, on: m4-0, energy")
    .replace("on: m4-0        # for now", "on: m4-1\n    offset: 40ms")
    .replace("  open: {path: [pump, valve], reaction: 100ms}", "  open: {path: [pump, valve]}")
)


def test_a_chain_without_a_bound_is_no_chain_of_0(folder: Path) -> None:
    """Its valve begins when four blocks of two have come: the placements hold, and it has no bound."""
    file = folder / "system.yaml"
    file.write_text(UNBOUNDED, encoding="utf-8")
    assert found(file)["status"] == "optimal"
    for arguments in (("--best", "reaction"), ("--pareto", "reaction,cores"), ("--pareto", "cores,reaction")):
        result = place(file, *arguments)
        assert isinstance(result.exception, BadInput), (arguments, result.output, result.exception)
        assert "chains.open: placements hold, and in none" in str(result.exception)
    # A queue that has room for them all has a bound.
    file.write_text(UNBOUNDED.replace("capacity: 2", "capacity: 16"), encoding="utf-8")
    assert found(file, "--best", "reaction")["value"] < 0


def test_a_chain_is_a_requirement_too(folder: Path) -> None:
    file = folder / "system.yaml"
    file.write_text(SYSTEM.replace("reaction: 100ms", "reaction: 25ms"), encoding="utf-8")
    named = {(one["kind"], one["name"]) for one in found(file, status=1)["conflict"]["requirements"]}
    assert named == {("chain", "open"), ("task", "pump"), ("task", "valve")}


def test_time_that_is_over_is_no_proof() -> None:
    from consort.place.problem import problem_of
    from consort.place.search import Search

    problem = problem_of(load_system(EXAMPLES / "vehicle" / "system.yaml"))
    search = Search(problem, 0)
    result = search.best("slack")
    assert result.status == "feasible" and result.outcome is not None
    assert result.bound is None or result.bound > result.value


def test_what_is_said_of_better_placements_stands_where_the_time_was_over(folder: Path) -> None:
    data = found(EXAMPLES / "vehicle" / "system.yaml", "--time-limit", "0.1", status=1)
    assert data["status"] == "feasible" and data["words"][1].startswith("Not proven: ")
    assert data["bound"] is None or data["bound"] > data["value"]


def test_several_keys_go_from_a_mapping_in_one_line_and_aliases_are_refused(folder: Path) -> None:
    from consort.place.apply import edited, placed
    from consort.place.problem import Place, problem_of

    file = folder / "system.yaml"
    line = (
        "  pump: {period: 10ms, wcet: 6ms, on: m4-0, execution: offloaded, master: m4-1,"
        " dispatch: {send: 1us, receive: 1us}}\n"
    )
    text = f"consort: 1\nplatform: two.yaml\ntasks:\n{line}"
    text += "channels:\n  pump.in: {size: 64B}   # there\n  pump.out: {size: 8B}\n"
    text += "scheduling:\n  m4: {policy: fixed-priority, wait: sleep}\n  m4-1: {wait: sleep}\n"
    file.write_text(text, encoding="utf-8")
    system = load_system(file)
    problem = problem_of(system)
    wanted = placed(problem, (problem.decisions[0].places.index(Place("local", "m4-1")),), {"pump": 3})
    after = "consort: 1\nplatform: two.yaml\ntasks:\n"
    after += "  pump: {period: 10ms, priority: 3, wcet: 6ms, on: m4-1, execution: local}\n"
    after += "scheduling:\n  m4: {policy: fixed-priority}\n"
    assert edited(system, wanted) == after
    file.write_text(
        "consort: 1\nplatform: two.yaml\ntasks:\n  a: &a {period: 10ms, wcet: 1ms, on: m4-0}\n  b: *a\n",
        encoding="utf-8",
    )
    system = load_system(file)
    problem = problem_of(system)
    assert problem.decisions[0].places == (Place("local", "m4-0"), Place("local", "m4-1"))
    wanted = placed(problem, (1, 0), {})
    with pytest.raises(BadInput, match=r"aliases .* write them out"):
        edited(system, wanted)


def test_a_cost_that_nobody_gave_is_named() -> None:
    result = place(EXAMPLES / "vehicle" / "system.yaml", "--best", "energy")
    assert isinstance(result.exception, BadInput)
    assert "tasks.camera.energy" in str(result.exception) and "on a72" in str(result.exception)


def test_energy_is_that_of_all_jobs_in_a_second(folder: Path) -> None:
    # 100 jobs of 5 uJ of each of two tasks, 10 of 1 uJ.
    assert found(folder / "system.yaml", "--best", "energy")["value"] == -(1000 + 10) * 10**6


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["--keep", "pmup"], "--keep"),
        (["--output", "/elsewhere/placed.yaml"], "--output"),
        (["--pareto", "cores"], "--pareto"),
        (["--pareto", "cores,slack", "--diff"], "--diff"),
        (["--diff", "--json"], "--json"),
    ],
)
def test_what_cannot_be_done_is_refused(folder: Path, arguments: list[str], field: str) -> None:
    result = place(folder / "system.yaml", *arguments)
    assert isinstance(result.exception, BadInput) and result.exception.field == field


def test_a_priority_that_differs_by_mode_is_refused(folder: Path) -> None:
    file = folder / "system.yaml"
    file.write_text(SYSTEM + "modes: {m: {overrides: {lamp: {priority: 3}}}}\n", encoding="utf-8")
    result = place(file)
    assert isinstance(result.exception, BadInput)
    assert result.exception.field == "modes.m.overrides.lamp.priority"


def test_a_front_has_what_no_other_placement_is_better_than(folder: Path) -> None:
    data = found(folder / "system.yaml", "--pareto", "cores,slack")
    assert data["whole"]
    values = [(point["cores"], point["slack"]) for point in data["points"]]
    assert values and all(a < b and c > d for (c, a), (d, b) in pairwise(values))


@pytest.mark.parametrize(
    ("example", "objective", "options"),
    [
        pytest.param("vehicle", "slack", [], marks=pytest.mark.slow),
        pytest.param("vehicle", "reaction", [], marks=pytest.mark.slow),
        ("vehicle", "cores", ["--in-modes"]),
        ("uav", "cores", []),
        ("uav", "reaction", ["--in-modes"]),
    ],
)
def test_the_examples_are_placed_better_than_they_stand(
    tmp_path: Path, example: str, objective: goals.Goal, options: list[str]
) -> None:
    file = tmp_path / "system.yaml"
    shutil.copyfile(EXAMPLES / example / "system.yaml", file)
    data = found(file, "--best", objective, "--output", file, *options)
    assert data["status"] == "optimal" and data["value"] > data["value_before"]
    system = load_system(file)
    if system.mode_changes is not None:
        assert analyze_modes(system).schedulable
    else:
        for mode in (None, *system.modes):
            assert all(bound.schedulable for bound in analyze_system(plan(system, "analysis", mode=mode)))
    # Again from there: nothing is left to gain, and nothing moves.
    again = found(file, "--best", objective, *options)
    assert again["value"] == data["value"] and again["moved"] == []
