# SPDX-License-Identifier: Apache-2.0
"""Execution times by measurement: what counts, what is proposed, and how it is written into a description."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from consort.base.errors import BadInput, SystemFails
from consort.commands.profile import margin_of
from consort.model import load_system
from consort.model.load import diff
from consort.plan import plan
from consort.run.profile import Observation, Proposal, edited, proposals
from consort.run.profile.edit import added, lines, source_of
from consort.run.profile.figures import Series, observe, rounded, unrepeated
from consort.run.profile.measure import sources_of
from effort import PATIENCE
from hypothesis import given
from hypothesis import strategies as st

CONSORT = Path(sys.executable).with_name("consort")
STEP = """#pragma once
#include <cstdint>
namespace small {
struct In { std::uint32_t rounds; };
struct State { std::uint32_t sum; };
struct Out { std::uint32_t sum; };
inline void step(const In& in, State& state, Out& out) {
    for (std::uint32_t i = 0; i < in.rounds; ++i) state.sum = state.sum * 1664525U + 1013904223U;
    out.sum = state.sum;
}
struct Next { std::uint32_t sum; };
struct Nothing {};
inline void after(const Out& in, Nothing&, Next& out) { out.sum = in.sum + 1; }
}
"""
INPUTS = """import numpy as np

def inputs(dtype, rows):
    made = np.zeros(rows, dtype)
    made["rounds"] = np.arange(rows) % 7 * 10
    return made
"""
TEXT = """# A description with words.
consort: 1
platform: linux-host

tasks:
  # The first one.
  first:
    step: step.hpp::small::step   # its step
    period: 1ms
    on: worker-0
    execution: offloaded
    master: master-0
    on_miss: local-fallback
    input: {function: inputs.py::inputs, arguments: {rows: 64}}
    writes: [sums]

  second:
    step: step.hpp::small::after
    period: 2ms
    wcet: 40us  # guessed
    bcet:
      host: 1us
    # Its core.
    on: master-0
    reads: [sums]

channels:
  sums: {kind: sporadic, memory: shm}

run:
  iterations: 100
  time_base: sleep
  interference: []
"""


@pytest.fixture
def description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "step.hpp").write_text(STEP)
    (tmp_path / "inputs.py").write_text(INPUTS)
    file = tmp_path / "system.yaml"
    file.write_text(TEXT)
    monkeypatch.setenv("CONSORT_RUNS", str(tmp_path / "runs"))
    return file


def observation(
    task: str = "first", core: str = "worker-0", high: float = 1000.0, low: float = 100.0, used: int = 1000
) -> Observation:
    return Observation(task, core, 1, "alone", used + 1, used, 1, 0, 0, high, low, 4, 0.5, 1.0)


def series_of(times: list[float], **changes: object) -> Series:
    values = {
        "core": "worker-0",
        "cpu": 1,
        "released": len(times),
        "compute_ns": np.array(times, dtype=np.float64),
        "least_ns": np.zeros(len(times)),
        "release_s": np.arange(len(times), dtype=np.float64),
        "disturbed": 0,
        "preempted": 0,
        "keys": np.arange(len(times)).reshape(-1, 1) % 3,
        "watched_s": float(len(times)),
        **changes,
    }
    return Series(**values)  # type: ignore[arg-type]


SOURCE = {name: {"wcet": "a run, not a bound", "bcet": "a run"} for name in ("first", "second")}


class TestWhatCounts:
    def test_a_pause_of_one_repetition_is_left_out_and_counted(self) -> None:
        quiet, paused = [100.0] * 40, [100.0] * 40
        paused[20] = 90_000.0
        seen = observe("first", "alone", [series_of(quiet), series_of(paused)])
        assert (seen.high_ns, seen.unrepeated, seen.used, seen.released) == (100.0, 1, 79, 80)
        assert seen.inputs == 3

    def test_a_long_execution_that_both_show_stays(self) -> None:
        times = [100.0] * 40
        times[20] = 90_000.0
        shifted = [*times[3:], *times[:3]]
        seen = observe("first", "alone", [series_of(times), series_of(shifted)])
        assert (seen.high_ns, seen.unrepeated) == (90_000.0, 0)
        assert seen.rose_after_s == 20.0

    def test_what_a_disturbed_job_executed_at_least_is_in_the_high_water_mark(self) -> None:
        """A job beyond a tick always meets an interrupt: without it the mark is that of the short jobs."""
        times, least = [100.0] * 40, np.zeros(40)
        times[20], least[20] = np.nan, 3e6
        both = [series_of(times, least_ns=least), series_of(times, least_ns=least)]
        seen = observe("first", "alone", both)
        assert (seen.high_ns, seen.low_ns, seen.used, seen.in_part) == (3e6, 100.0, 78, 2)
        said = source_of(proposals([seen], {"worker-0": "host"}, Fraction(1, 5)), {"date": "2026-01-01"})
        assert "2 counted with what they executed at least" in said["wcet"]
        # The low-water mark is of whole jobs, and what one repetition alone shows was the machine's.
        least[20] = 50.0
        assert observe("first", "alone", [series_of(times, least_ns=least)] * 2).low_ns == 100.0
        least[20] = 3e6
        seen = observe("first", "alone", [series_of(times, least_ns=least), series_of([100.0] * 40)])
        assert (seen.high_ns, seen.unrepeated, seen.in_part) == (100.0, 1, 0)

    def test_one_repetition_leaves_nothing_out(self) -> None:
        assert not unrepeated(np.array([1.0, 1e6]), []).any()

    def test_a_repetition_of_which_the_machine_left_no_job(self) -> None:
        assert unrepeated(np.array([]), [np.array([1.0, 2.0])]).size == 0
        assert not unrepeated(np.array([1.0, 2.0]), [np.array([])]).any()

    def test_without_an_undisturbed_job_there_is_no_figure(self) -> None:
        with pytest.raises(SystemFails, match="none of 2 jobs"):
            observe("first", "alone", [series_of([np.nan, np.nan])])


class TestProposals:
    def test_high_and_low_water_marks_with_the_margin(self) -> None:
        seen = [
            observation(high=10_000.0, low=7_200.0),
            observation(core="master-0", high=20_000.0, low=9_000.0),
        ]
        found = proposals(seen, {"worker-0": "host", "master-0": "host"}, Fraction(1, 5))
        assert [(p.task, p.processor, p.wcet_ps, p.bcet_ps) for p in found] == [
            ("first", "host", 24_000_000, 6_000_000)
        ]
        assert added(found) == "20 %"

    def test_the_margin_has_a_floor_for_the_clock_and_the_probe(self) -> None:
        (found,) = proposals([observation(high=750.0, low=700.0)], {"worker-0": "host"}, Fraction(1, 5))
        assert (found.wcet_ps, found.bcet_ps) == (1_750_000, 1_000)
        assert "at least 1us for the clock and the probe" in added([found])
        source = source_of([found], {"date": "2026-01-01"})
        assert "measured + 20 %, at least 1us for the clock and the probe, not a bound" in source["wcet"]
        # Without a margin the proposal is what was seen.
        (found,) = proposals([observation(high=750.0, low=700.0)], {"worker-0": "host"}, Fraction(0))
        assert (found.wcet_ps, found.bcet_ps) == (750_000, 700_000) and added([found]) == "0 %"

    @pytest.mark.parametrize(("jobs", "share"), [(10**6, 20), (1000, 20), (250, 40), (40, 100), (10, 200)])
    def test_the_margin_grows_where_samples_are_few(self, jobs: int, share: int) -> None:
        seen = [observation(high=10_000.0, low=10_000.0, used=jobs)]
        (found,) = proposals(seen, {"worker-0": "host"}, Fraction(1, 5))
        assert found.share == Fraction(share, 100)
        assert found.wcet_ps == 100_000 * (100 + share)
        few = f"(20 %, and more for {jobs} jobs, fewer than 1000)"
        said = "\n".join(lines([found], {"first": None}))
        assert (few in said) == (few in added([found])) == (jobs < 1000)

    def test_one_for_each_kind_of_processor(self) -> None:
        seen = [observation(), observation(core="master-0")]
        found = proposals(seen, {"worker-0": "big", "master-0": "small"}, Fraction(0))
        assert [p.processor for p in found] == ["big", "small"]

    @given(st.fractions(min_value=1, max_value=10**12))
    def test_rounding_is_towards_the_careful_side(self, time: Fraction) -> None:
        assert rounded(time, up=True) >= time
        assert rounded(time, up=False) <= max(time, 1000)
        assert rounded(time, up=True) - time <= max(time / 100, 1000)

    @pytest.mark.parametrize("text", ["20", "-1%", "x%", "5000%"])
    def test_what_is_no_margin(self, text: str) -> None:
        with pytest.raises(BadInput, match="is not a margin"):
            margin_of(text)
        assert margin_of("12.5%") == Fraction(1, 8)


class TestEdits:
    def made(self, description: Path, *found: Proposal) -> str:
        return edited(load_system(description), found, SOURCE)

    def test_only_the_figures_change(self, description: Path) -> None:
        text = self.made(
            description,
            Proposal("first", "host", 2_400_000, 83_000, Fraction(1, 5), Fraction(1, 5), (observation(),)),
            Proposal(
                "second",
                "host",
                7_000_000,
                2_000_000,
                Fraction(1, 5),
                Fraction(1, 5),
                (observation("second"),),
            ),
        )
        (description.parent / "after.yaml").write_text(text)
        after = load_system(description.parent / "after.yaml")
        for name, wcet, bcet in (("first", "2400ns", "83ns"), ("second", "7us", "2us")):
            assert after.wcet(name) == type(after.wcet(name)).parse(wcet)  # type: ignore[union-attr]
            assert after.bcet(name) == type(after.bcet(name)).parse(bcet)  # type: ignore[union-attr]
            figure = after.tasks[name].wcet
            assert str(figure.provenance) == "measured: a run, not a bound"  # type: ignore[union-attr]
        changed = diff(description, text).splitlines()[2:]
        assert {line for line in changed if line.startswith("-")} == {
            "-    wcet: 40us  # guessed",
            "-      host: 1us",
        }
        kept = [line for line in TEXT.splitlines() if line.strip().startswith("#")]
        assert [line for line in text.splitlines() if line.strip().startswith("#")] == kept

    def test_what_is_applied_twice_changes_nothing_more(self, description: Path) -> None:
        found = Proposal(
            "second", "host", 7_000_000, 2_000_000, Fraction(1, 5), Fraction(1, 5), (observation("second"),)
        )
        first = self.made(description, found)
        description.write_text(first)
        assert self.made(description, found) == first

    def test_on_a_target_each_figure_names_its_processor(self, description: Path) -> None:
        """One that names none is that of the description's own platform, and is asked for its own."""
        targets = "\ntargets:\n  versal: {cores: {worker-0: a72-0, master-0: r5f-0}, memories: {shm: ddr}}\n"
        found = [
            Proposal("second", "r5f", 4_000_000, 3_000_000, *[Fraction(1, 5)] * 2, (observation("second"),))
        ]
        description.write_text(TEXT + targets)
        with pytest.raises(BadInput, match=r"tasks.second.wcet: the figure names no processor"):
            edited(load_system(description, "versal"), found, SOURCE, elsewhere=True)
        description.write_text(TEXT.replace("wcet: 40us", "wcet: {host: 40us}") + targets)
        text = edited(load_system(description, "versal"), found, SOURCE, elsewhere=True)
        description.write_text(text)
        both = load_system(description), load_system(description, "versal")
        assert [str(system.wcet("second")) for system in both] == ["40us", "4us"]

    def test_a_task_on_one_line_is_refused(self, description: Path) -> None:
        description.write_text(json.dumps(load_system(description).to_given()))
        with pytest.raises(BadInput, match="one key a line"):
            self.made(
                description, Proposal("first", "host", 1000, 1000, Fraction(0), Fraction(0), (observation(),))
            )


def test_what_the_inputs_come_from_runs_too(description: Path) -> None:
    made = plan(load_system(description), "linux", place="local")
    assert sources_of(made, "second") == ["second", "first"]
    assert sources_of(made, "first") == ["first"]


def test_the_command_writes_what_it_measured(description: Path) -> None:
    """A real run: no time is asserted, but that what the step does longest lies within what was measured."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("an offloaded task needs two CPUs")
    done = subprocess.run(
        [str(CONSORT), "profile", str(description), "--duration", "200ms", "--write", "--json"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    places = {(o["task"], o["core"]) for p in found["proposals"] for o in p["observations"]}
    # With its fallback the offloaded step runs on its master, too.
    assert places == {("first", "worker-0"), ("first", "master-0"), ("second", "master-0")}
    after = load_system(description)
    for proposal in found["proposals"]:
        wcet = after.wcet(proposal["task"])
        assert wcet is not None and wcet.picoseconds == proposal["wcet_ps"]
        assert proposal["wcet_ps"] >= 1200 * max(o["high_ns"] for o in proposal["observations"]) - 1
        assert not proposal["bound"]
        for seen in proposal["observations"]:
            left = seen["disturbed"] + seen["unrepeated"] + seen["preempted"]
            assert seen["used"] + left <= seen["released"]
            assert seen["inputs"] <= 64 or seen["task"] == "second"
    assert len(json.loads((Path(found["path"]) / "run.json").read_text())["configurations"]) == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task", "frist"], "did you mean 'first'"),
        (["--mode", "kruise"], "there is no mode 'kruise'; did you mean 'cruise'?"),
        (["--mode", "cruise", "--task", "first"], "there is no task 'first'; tasks: second"),
        (["--margin", "a lot"], "is not a margin"),
        (["--json", "--diff"], "choose one"),
    ],
)
def test_bad_input_ends_with_2(description: Path, arguments: list[str], words: str) -> None:
    description.write_text(TEXT + "modes: {cruise: {tasks: [second]}}\n")
    done = subprocess.run(
        [str(CONSORT), "profile", str(description), *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_times_of_another_processor_are_not_measured_here(tmp_path: Path) -> None:
    source = Path(__file__).parents[3] / "examples" / "servo" / "stm32mp157.yaml"
    done = subprocess.run(
        [str(CONSORT), "profile", str(source)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 2 and "not its times" in done.stderr


def test_what_a_mode_has_of_its_own_is_not_written_over_what_all_share(description: Path) -> None:
    description.write_text(TEXT + "modes: {cruise: {tasks: [second], overrides: {second: {wcet: 2ms}}}}\n")
    before = description.read_text()
    done = subprocess.run(
        [str(CONSORT), "profile", str(description), "--mode", "cruise", "--write"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 2 and "modes.cruise.overrides.second.wcet: the mode cruise has" in done.stderr
    assert description.read_text() == before
