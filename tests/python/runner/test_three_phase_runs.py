# SPDX-License-Identifier: Apache-2.0
"""`consort run` of three-phase systems: every byte arrives, responses are judged as the analysis allows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from consort.cli import main
from consort.errors import BadInput
from consort.model import load_system
from consort.record.store import open_run
from consort.runner.three_phase import RESPONSES, disturbances, task_rows, throttled
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]

STEP = """
#include <cstdint>
#include "consort/spm/step.hpp"
namespace filter {
struct Sum {
    struct Constants { std::uint32_t factor[64]; };
    struct In { std::uint32_t value; };
    struct State { std::uint64_t sum; std::uint32_t jobs; };
    // Three bytes of padding, which are not compared.
    struct Out { std::uint64_t sum; std::uint8_t odd; };
    static Constants constants() { Constants c{}; for (auto& f : c.factor) f = 3; return c; }
    static void step(const Constants& c, const In& in, State& state, Out& out) noexcept {
        state.sum += in.value * c.factor[state.jobs++ % 64];
        out.sum = state.sum;
        out.odd = state.sum % 2;
    }
};
struct Plain {
    using Constants = consort::spm::Empty;
    using In = consort::spm::Empty;
    using State = consort::spm::Empty;
    struct Out { std::uint32_t answer; };
    static void step(const Constants&, const In&, State&, Out& out) noexcept { out.answer = 42; }
};
// Keeps something that no DMA moves.
struct Hidden : Plain {
    static void step(const Constants&, const In&, State&, Out& out) noexcept {
        static std::uint32_t jobs = 0;
        out.answer = jobs++;
    }
};
}
"""
INPUTS = """
import numpy as np
def inputs(dtype, first):
    return np.arange(first, first + 5, dtype=np.uint32).view(dtype)
"""
SYSTEM = """
consort: 1
platform: chip.yaml
scheduling:
  core: {policy: three-phase, slot: 500us}
tasks:
  sum:
    step: step.hpp::filter::Sum::step
    input: {function: inputs.py::inputs, arguments: {first: 7}}
    period: 10ms
    wcet: 1ms
    footprint: {code: 256B, data: 16B, inputs: 4B, outputs: 16B}
    on: core-0
    execution: three-phase
  plain:
    step: step.hpp::filter::Plain::step
    period: 20ms
    wcet: 1ms
    footprint: {code: 64B, outputs: 4B}
    on: core-1
    execution: three-phase
run: {iterations: 30}
"""
# Beside the two a task whose outputs cannot be right.
HIDDEN = """
  hidden:
    step: step.hpp::filter::Hidden::step
    period: 20ms
    wcet: 1ms
    footprint: {code: 64B, outputs: 4B}
    on: core-1
    execution: three-phase
"""
LOCAL = """  local:
    {period: 1s, wcet: 1ms, on: other-0}
run: {"""
CHIP = """
consort: 1
name: chip
processors: {small: {isa: other}}
cores:
  core: {processor: small, count: 2, scratchpad: {size: 16KiB}}
  other: {processor: small, count: 1}
"""


@pytest.fixture
def system(tmp_path: Path, two_cpus: None) -> Path:
    for name, text in {
        "step.hpp": STEP,
        "inputs.py": INPUTS,
        "chip.yaml": CHIP,
        "system.yaml": SYSTEM,
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "system.yaml"


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int | str | None, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["run", *map(str, words)])
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


def test_every_job_is_recorded_and_every_wrong_output_found(
    system: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    system.write_text(SYSTEM.replace("\nrun:", f"{HIDDEN}run:"))
    status, out, _ = run(capsys, system, "--json", "--name", "three")
    told: dict[str, Any] = json.loads(out)
    recorded = open_run(Path(told["path"]))
    # A machine whose processors others use may miss deadlines; that is all it may do.
    reasons = told["verdict"]["reasons"]
    assert status == 1 and not [r for r in reasons if "defect" in r], reasons
    assert [r.partition(":")[0] for r in reasons if "wrong output" in r] == ["hidden"], reasons
    configurations = {c["key"]: c for c in told["configurations"]}
    assert list(configurations) == ["sum", "plain", "hidden"]
    for key, period in (("sum", 10_000_000), ("plain", 20_000_000)):
        table = pq.read_table(recorded.path / key / "jobs.parquet").to_pydict()
        assert 1 <= len(table["seq"]) <= 300_000_000 // period + 1
        assert table["seq"] == sorted(table["seq"])
        assert set(np.diff(table["release_ns"]) % period) <= {0, 1, period - 1}
        for release, load, ready, start, executed, unload, finish in zip(
            *(
                table[f"{n}_ns"]
                for n in ("release", "load", "ready", "start", "executed", "unload", "finish")
            ),
            strict=True,
        ):
            assert release <= load < ready <= start <= executed <= unload < finish
    (section,) = (s for s in recorded.data["sections"] if s["title"] == RESPONSES)
    for row in section["rows"]:
        _, _, jobs, undisturbed, _, response, as_seen, bound, deadline, longest = row
        assert undisturbed <= jobs and deadline in (10_000, 20_000) and bound is not None
        assert undisturbed == 0 or (response <= bound and response <= longest)
        assert as_seen is not None and as_seen <= bound
    assert (recorded.path / "trace.pftrace").is_file()


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        (
            ("step: step.hpp::filter::Plain::step", ""),
            [],
            "tasks.plain: to run the task its 'step' is needed",
        ),
        (("filter::Plain::step", "step"), [], "tasks.plain.step: a three-phase step is a static function"),
        (("period: 20ms", "min_interarrival: 20ms"), [], "tasks.plain.min_interarrival: only periodic"),
        (("period: 20ms", "period: 20000000500ps"), [], "tasks.plain.period: is not a whole number of nano"),
        (("wcet: 1ms", ""), [], "tasks.sum.wcet: no WCET for three-phase execution"),
        (("iterations: 30", "iterations: 4000000000"), [], "run.iterations: so many jobs take"),
        (
            ("run: {", LOCAL),
            [],
            "tasks.sum.execution: three-phase tasks are run in systems that have no others",
        ),
        (("Sum::step", "Gone::step"), [], "the application does not compile"),
        (("", ""), ["--only", "local-off"], "--only: three-phase systems have one configuration"),
        (("", ""), ["--counted"], "--counted: only boards count instructions"),
    ],
)
def test_what_cannot_be_run_is_refused(
    system: Path,
    runs: Path,
    capsys: pytest.CaptureFixture[str],
    change: tuple[str, str],
    words: list[str],
    said: str,
) -> None:
    system.write_text(SYSTEM.replace(*change, 1) if change[0] else SYSTEM)
    status, _, err = run(capsys, system, *words)
    assert status == 2 and said in err
    assert not runs.exists() or list(runs.iterdir()) == []


def test_inputs_are_as_many_bytes_as_the_step_takes(system: Path) -> None:
    described = load_system(system)
    assert task_rows(described, "sum", 4).tobytes() == np.arange(7, 12, dtype=np.uint32).tobytes()
    assert task_rows(described, "plain", 0).size == 1
    with pytest.raises(BadInput, match=r"inputs.py: inputs raised ValueError"):
        task_rows(described, "sum", 16)
    system.write_text(SYSTEM.replace("first: 7", "second: 7"))
    with pytest.raises(BadInput, match=r"inputs.py: inputs raised TypeError"):
        task_rows(load_system(system), "sum", 4)


@pytest.mark.parametrize(
    ("runtime", "period", "said"),
    [
        ("950000", "1000000", "takes 50 ms of each 1000 ms"),
        ("-1", "1000000", ""),
        ("1000000", "1000000", ""),
        ("", "1000000", ""),
    ],
)
def test_what_the_kernel_takes_is_named(tmp_path: Path, runtime: str, period: str, said: str) -> None:
    (tmp_path / "sched_rt_runtime_us").write_text(runtime)
    (tmp_path / "sched_rt_period_us").write_text(period)
    found = throttled(tmp_path)
    assert said in found and bool(said) == bool(found)
    assert throttled(tmp_path / "gone") == ""


def test_one_processor_is_too_few(system: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("consort.runner.three_phase.usable_cpus", lambda: [0])
    status, _, err = run(capsys, system)
    assert status == 3 and "a core and the I/O core need two" in err
    monkeypatch.setattr("consort.runner.three_phase.usable_cpus", lambda: [0, 1])
    system.write_text(SYSTEM.replace("slot: 500us", "slot: 500us, arbitration: round-robin"))
    (system.parent / "chip.yaml").write_text(CHIP + "dmas: {dma: {rate: 1GB/s}}\n")
    status, _, err = run(capsys, system)
    assert status == 3 and "under round robin the cores cannot be run one after the other" in err


# --- undisturbed jobs

JOB = np.dtype([(n, "<u8") for n in ("release", "ready", "start", "executed", "finish")])


def jobs(*rows: tuple[int, int, int, int, int]) -> np.ndarray:
    return np.array(list(rows), JOB)


def found(rows: dict[str, np.ndarray], events: list[int], budget: int = 50) -> dict[str, list[bool]]:
    hit, _ = disturbances(rows, dict.fromkeys(rows, budget), np.array(events, np.uint64), 10)
    return {name: list(map(bool, flags)) for name, flags in hit.items()}


def test_a_disturbance_reaches_to_the_next_idle_time_and_not_further() -> None:
    rows = {
        "a": jobs((1000, 1020, 1020, 1050, 1070), (2000, 2020, 2020, 2050, 2070)),
        "b": jobs((1050, 1080, 1080, 1120, 1140), (3000, 3020, 3020, 3050, 3070)),
    }
    none = {"a": [False, False], "b": [False, False]}
    assert found(rows, []) == none
    assert found(rows, [1500]) == none, "the core was idle"
    # In b's first job: a's, which the same busy stretch holds and which had ended, did not see it.
    assert found(rows, [1130]) == {"a": [False, False], "b": [True, False]}
    # Before b's release but in its stretch: what b had to wait for was longer by it.
    assert found(rows, [1030]) == {"a": [True, False], "b": [True, False]}
    assert found(rows, [2060]) == {"a": [False, True], "b": [False, False]}


def test_a_core_that_looks_late_is_a_disturbance() -> None:
    rows = {"a": jobs((1000, 1020, 1090, 1120, 1140), (2000, 2020, 2030, 2060, 2080))}
    # At the first job for 100, at the second for 40.
    hit, at = disturbances(rows, {"a": 50}, np.array([], np.uint64), 10)
    assert list(at["a"]) == [100, 40] and list(hit["a"]) == [True, False]
    # Waiting for the job before is no lateness.
    both = {"a": jobs((1000, 1020, 1020, 1060, 1080)), "b": jobs((1000, 1030, 1060, 1100, 1120))}
    hit, at = disturbances(both, {"a": 50, "b": 50}, np.array([], np.uint64), 10)
    assert list(at["b"]) == [40] and not hit["a"][0] and not hit["b"][0]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 30)), min_size=1, max_size=30),
    st.lists(st.integers(0, 3000), max_size=5),
)
def test_disturbed_jobs_are_those_of_busy_stretches_with_an_event(
    given_jobs: list[tuple[int, int]], events: list[int]
) -> None:
    rows, now, end = [], 1000, 0
    for gap, length in given_jobs:
        now += gap
        start = max(now + 2, end)
        end = start + length
        rows.append((now, start, start, end, end + 2))
        end += 2
    (flags,) = found({"a": jobs(*rows)}, events).values()
    begin, last = None, -1
    for (release, _, _, _, finish), flag in zip(rows, flags, strict=True):
        begin = release if begin is None or release > last else begin
        last = max(last, finish)
        assert flag == any(begin - 10 <= event <= finish + 10 for event in events)
