# SPDX-License-Identifier: Apache-2.0
"""`consort place --choose`: which values there are to choose, what is written, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from consort.analysis.system import analyze_system
from consort.analysis.three_phase import DmaShare, bound_core
from consort.analysis.unitask import UniTask
from consort.base.errors import BadInput
from consort.cli import cli
from consort.model import load_system
from consort.place.cuts import Cuts
from consort.place.evaluate import Evaluator
from consort.place.problem import Problem, problem_of
from consort.place.settings import parsed

PLATFORM = """\
consort: 1
name: two
processors: {m4: {isa: armv7e-m}, r5: {isa: armv7-r}}
cores:
  m4: {processor: m4, count: 2, assumed: for this test, context_switch: 1us, timer_lateness: 0ns}
  r5:
    processor: r5
    count: 1
    context_switch: {value: 1us, assumed: for this test}
    timer_lateness: {value: 0ns, assumed: none in this test}
    scratchpad: {size: 64KiB, partitions: 2, assumed: for this test}
dmas: {dma: {rate: 10MB/s, setup: 1us, assumed: for this test}}
memories:
  slow: {kind: ddr, access: {base: 2us, per_byte: 2us, assumed: for this test}}
  fast: {kind: sram, access: {base: 20ns, per_byte: 10ns, assumed: for this test}}
  own: {kind: tcm, access: {from: {r5: {base: 5ns, per_byte: 5ns}}, assumed: for this test}}
  boot: {kind: flash, access: {base: 5ns, per_byte: 5ns, assumed: for this test}}
"""
SUPPLIED = """\
consort: 1
platform: two.yaml
assumed: for this test
scheduling:
  m4-0: {supply: {kind: tdma, budget: 4ms, period: 5ms}}   # of the first
  m4-1:
    supply:
      kind: periodic-server
      budget: 4ms     # of the second
      period: 5ms
tasks:
  pump: {period: 20ms, wcet: {m4: 3ms}, on: m4-0}
  lamp: {period: 50ms, wcet: {m4: 3ms}, on: m4-1}
"""
OFFLOADED = """\
consort: 1
platform: two.yaml
assumed: for this test
tasks:
  far: {period: 20ms, wcet: {r5: {offloaded: 3ms}}, on: r5-0, execution: offloaded, master: m4-0}
channels:
  far.in: {memory: slow, size: 64B}    # it may lie elsewhere
  far.out: {size: 8B, memory: slow}
"""
FAST = PLATFORM.replace("{kind: sram,", "{kind: sram, size: 70B,").replace("fast:", "tiny:")
CHANNELS = """\
consort: 1
platform: two.yaml
assumed: for this test
tasks:
  a: {period: 20ms, wcet: {m4: 3ms}, on: m4-0}
  b: {period: 20ms, wcet: {m4: 3ms}, on: m4-1}
channels:
  small: {from: a, to: [b], memory: slow, size: 8B}
  large: {from: b, to: [a], memory: slow, size: 64B}
"""
LOADED = """\
consort: 1
platform: two.yaml
assumed: for this test
scheduling:
  r5: {policy: three-phase, slot: 2ms}    # why so long?
tasks:
  a: {period: 20ms, wcet: {r5: {three-phase: 1ms}}, on: r5-0, execution: three-phase,
      footprint: {code: 4KiB, data: 1KiB}}
  b: {period: 30ms, wcet: {r5: {three-phase: 2ms}}, on: r5-0, execution: three-phase,
      footprint: {code: 2KiB, data: 1KiB}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "two.yaml").write_text(PLATFORM, encoding="utf-8")
    return tmp_path


def described(folder: Path, text: str) -> Path:
    (folder / "system.yaml").write_text(text, encoding="utf-8")
    return folder / "system.yaml"


def asked(folder: Path, text: str, *choose: str) -> Problem:
    return problem_of(load_system(described(folder, text)), choose=parsed(choose))


def place(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["place", *map(str, arguments)], catch_exceptions=True)


def found(*arguments: object) -> dict[str, Any]:
    result = place(*arguments, "--json")
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def refused(*arguments: object) -> str:
    result = place(*arguments)
    assert isinstance(result.exception, BadInput), result.output
    return str(result.exception)


def test_without_the_option_no_value_changes(folder: Path) -> None:
    data = found(described(folder, SUPPLIED))
    assert data["chosen"] == []


def test_the_least_budgets_are_written_where_they_stand_and_nothing_else_changes(folder: Path) -> None:
    file, out = described(folder, SUPPLIED), folder / "placed.yaml"
    data = found(file, "--choose", "supplies", "--best", "budgets", "--moves", 0, "--output", out)
    assert data["status"] == "optimal" and data["moved"] == []
    chosen = {one["field"]: one for one in data["chosen"]}
    first = chosen["scheduling.m4-0.supply.budget"]
    assert first["before"] == "4ms" and first["after"] != "4ms"
    before, after = SUPPLIED.splitlines(), out.read_text(encoding="utf-8").splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    second = chosen["scheduling.m4-1.supply.budget"]["after"]
    assert changed == [
        (before[4], before[4].replace("budget: 4ms", f"budget: {first['after']}")),
        (before[8], before[8].replace("4ms", second)),
    ]
    assert all(bound.schedulable for bound in analyze_system(load_system(out)))
    # A step less of either, and a deadline is missed.
    problem = asked(folder, SUPPLIED, "supplies")
    evaluator = Evaluator(problem)
    best = tuple(setting.values.index(chosen[str(setting)]["after"]) for setting in problem.settings)
    places = problem.given[: len(problem.decisions)]
    assert evaluator.outcome((*places, *best)).holds
    for number in range(2):
        less = tuple(index - (at == number) for at, index in enumerate(best))
        assert not evaluator.outcome((*places, *less)).holds


def test_one_analysed_budget_speaks_of_all_smaller_ones(folder: Path) -> None:
    problem = asked(folder, SUPPLIED, "supplies")
    evaluator = Evaluator(problem)
    at = len(problem.decisions)
    choice = (*problem.given[:at], 0, 0)
    cuts = list(Cuts(problem, evaluator).of(evaluator.outcome(choice), target=None, reactions=False))
    sides = [one for cut in cuts for one in cut.literals if one.decision >= at]
    assert len(cuts) == 2 and {one.side for one in sides} == {"at most"}
    # Each is the largest budget that fails.
    for one in sides:
        for index, holds in ((one.place, False), (one.place + 1, True)):
            tried = [99, 99]
            tried[one.decision - at] = index
            assert evaluator.outcome((*problem.given[:at], *tried)).holds is holds


def test_a_range_leaves_out_the_given_value(folder: Path) -> None:
    data = found(described(folder, SUPPLIED), "--choose", "supplies=1ms..2ms/500us")
    assert {one["after"] for one in data["chosen"]} <= {"1ms", "1500us", "2ms"}
    problem = asked(folder, SUPPLIED, "supplies=1ms..2ms/500us")
    assert not problem.allows(problem.given)
    assert (
        found(described(folder, SUPPLIED), "--choose", "supplies=4ms..6ms/1ms")["chosen"][0]["after"] == "5ms"
    )


def test_a_range_in_which_nothing_holds_is_in_conflict(folder: Path) -> None:
    result = place(described(folder, SUPPLIED), "--choose", "supplies=50us..500us/50us", "--json")
    assert result.exit_code == 1
    conflict = json.loads(result.stdout)["conflict"]
    assert conflict["minimal"]
    named = {(one["kind"], one["text"]) for one in conflict["requirements"]}
    assert ("choose", "--choose supplies=50us..500us/50us") in named and len(named) > 1
    # Fewer tasks may leave nothing to choose: here one without a channel.
    text = OFFLOADED.replace("channels:", "  late: {period: 20ms, wcet: {m4: 21ms}, on: m4-1}\nchannels:")
    result = place(described(folder, text), "--choose", "memories", "--json")
    assert result.exit_code == 1
    assert [one["name"] for one in json.loads(result.stdout)["conflict"]["requirements"]] == ["late"]


def test_requests_and_answers_go_where_they_cost_least_and_both_sides_reach(folder: Path) -> None:
    file, out = described(folder, OFFLOADED), folder / "placed.yaml"
    problem = asked(folder, OFFLOADED, "memories")
    # The master's cost of the worker's own memory is not known, and nothing is written to a flash.
    assert [setting.values for setting in problem.settings] == [("slow", "fast", "own")] * 2
    assert {(number, value) for _, _, number, value in problem.apart} == {(0, 2), (1, 2)}
    data = found(file, "--choose", "memories", "--output", out)
    assert data["value"] > data["value_before"]
    assert OFFLOADED.replace("slow", "fast") == out.read_text(encoding="utf-8")
    # Where the master's own time was measured, it is a figure of the memory that it was measured with.
    measured = OFFLOADED.replace("on: r5-0", "on: r5-0, dispatch: {send: 1us, receive: 1us}")
    assert "dispatch" in refused(described(folder, measured), "--choose", "memories")


def test_a_channel_of_local_tasks_goes_where_no_access_costs_more(folder: Path) -> None:
    """A wcet holds the accesses of the memory that is described, so it bounds those of a faster one."""
    (folder / "two.yaml").write_text(FAST, encoding="utf-8")
    file, out = described(folder, CHANNELS), folder / "placed.yaml"
    data = found(file, "--choose", "memories", "--best", "latency", "--moves", 0, "--output", out)
    chosen = {one["field"]: one["after"] for one in data["chosen"]}
    # Only one of the two blocks fits into the small memory; the one of more bytes gains more.
    assert chosen == {"channels.large.memory": "tiny", "channels.small.memory": "slow"}
    bounds = [bound for bound in analyze_system(load_system(out)) if bound.kind == "latency"]
    assert len(bounds) == 2 and data["value"] == -sum(bound.response or 0 for bound in bounds)
    # In a memory whose words are faster but whose blocks are not a wcet might be too short.
    (folder / "two.yaml").write_text(FAST.replace("per_byte: 10ns", "per_byte: 3us"), encoding="utf-8")
    data = found(file, "--choose", "memories", "--best", "latency", "--moves", 0)
    assert all(one["before"] == one["after"] for one in data["chosen"])


def test_a_latency_without_figures_is_none(folder: Path) -> None:
    file = described(folder, CHANNELS.replace("memory: slow, size: 64B", "memory: own, size: 64B"))
    text = refused(file, "--best", "latency")
    assert "memories.own.access" in text and "or keep b where it is known (--keep b)" in text
    assert "no channel between tasks" in refused(described(folder, SUPPLIED), "--best", "latency")


def test_a_memory_that_was_not_named_is_added(folder: Path) -> None:
    platform = PLATFORM.replace("slow:", "shm:")
    (folder / "two.yaml").write_text(platform, encoding="utf-8")
    file, out = (
        described(folder, OFFLOADED.replace("memory: slow, ", "").replace(", memory: slow", "")),
        folder / "o.yaml",
    )
    found(file, "--choose", "memories", "--output", out)
    assert "far.in: {size: 64B, memory: fast}    # it may lie elsewhere" in out.read_text(encoding="utf-8")


def test_the_slot_is_as_short_as_its_tasks_allow_where_that_is_best(folder: Path) -> None:
    file = described(folder, LOADED)
    problem = asked(folder, LOADED, "slots")
    assert [setting.values for setting in problem.settings] == [("auto", "308200ns", "513us", "2ms")]
    data = found(file, "--choose", "slots")
    assert data["chosen"][0]["before"] == "2ms" and data["value"] > data["value_before"]
    result = place(file, "--choose", "slots=600us..900us/100us")
    assert "600us" in result.output and "why so long?" in result.output
    problem = asked(folder, LOADED, "slots=600us..900us/100us")
    assert not problem.allows(problem.given)


def test_a_longer_slot_can_be_what_makes_all_hold(folder: Path) -> None:
    """The reason why slots are looked at one by one."""
    sets = (("a", 36, 114, 114), ("b", 28, 120, 120), ("c", 26, 198, 198))
    tasks = [UniTask(name, *times) for name, *times in sets]
    bounds = [bound_core(tasks, DmaShare.equal(slot, 1))[1].response for slot in (1, 2)]
    assert bounds == [None, 102]
    lines = [
        f"  {name}: {{period: {period}00us, wcet: {{r5: {{three-phase: {wcet}00us}}}}, on: r5-0,"
        " execution: three-phase, footprint: {code: 512B}}"
        for name, wcet, period, _ in sets
    ]
    text = LOADED[: LOADED.index("  a: ")].replace("2ms", "100us") + "\n".join(lines) + "\n"
    (folder / "two.yaml").write_text(PLATFORM.replace("value: 1us", "value: 0ns"), encoding="utf-8")
    data = found(described(folder, text), "--choose", "slots=100us..200us/100us")
    assert data["value_before"] is None
    assert data["chosen"] == [{"field": "scheduling.r5.slot", "before": "100us", "after": "200us"}]


def test_what_there_is_not_to_choose_is_said(folder: Path) -> None:
    file = described(folder, SUPPLIED)
    for option, said in {
        "slots": "no slot to choose",
        "memories": "no channel between tasks",
        "bandwidths": "no core has a 'bandwidth'",
        "supply": "did you mean 'supplies'",
        "supplies,supplies": "stands twice",
        "supplies=3ms..1ms": "is not a range",
        "supplies=1ms": "is not a range",
        "bandwidths=1ms..2ms": "is not a range",
        "supplies=1us..5ms/1us": "more than 1000 values",
        "memories=ddr": "memories have no range",
    }.items():
        assert said in refused(file, "--choose", option), option
    assert "add --choose supplies" in refused(file, "--best", "budgets")
    with pytest.raises(BadInput):
        parsed(["priorities"])
