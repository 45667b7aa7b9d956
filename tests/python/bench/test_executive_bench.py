# SPDX-License-Identifier: Apache-2.0
"""`consort bench executive`: what becomes of rounds, of what a machine lacks, and of a record with holes."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from consort.base.errors import EnvironmentLacks
from consort.base.waiting import silent
from consort.cli import cli
from consort_bench import executive
from consort_bench.executive_rounds import Executive, Round, cyclictest_round, cyclictest_said, round_of

sys.path.insert(0, str(Path(__file__).parents[1] / "record"))
from system_recording import Recording, steady

pytestmark = pytest.mark.realtime

NAMES = ["wakeup_over_cyclictest", "job_over_loop", "virtual_over_floor", "records_lost"]


def made(median_us: float, cpu_us: float = 0.0, recorder_us: float = 0.0) -> Round:
    return Round(np.full(100, median_us * 1000), cpu_us * 1000, recorder_us * 1000)


def test_cyclictests_histogram_is_read_with_what_lies_beyond_it():
    said = {"resolution_in_ns": 1, "thread": {"0": {"histogram": {"200": 2, "100": 7}, "cycles": 10}}}
    found = cyclictest_said(said)
    assert (found.percentile(50), found.percentile(90)) == (100, 200)
    assert math.isinf(found.percentile(99)), "one cycle was later than the histogram says"


def test_an_unserved_release_is_infinitely_late_and_costs_no_job(tmp_path):
    recording = steady(8)
    recording.job("servo", 8, 0, 0)
    recording.counters = {"tasks_cpu_us": 80, "recorder_cpu_us": 16}
    found = round_of(recording.write(tmp_path / "raw"))
    assert found.percentile(50) == 1_000
    assert math.isinf(found.percentile(99))
    assert (found.cpu_ns, found.recorder_ns) == (10_000, 2_000)


def test_ratios_are_of_the_same_round():
    # The machine is slower in the second round: what was measured then is held against what was slow as well.
    rounds = {"executive": [made(10), made(100), made(10)], "cyclictest": [made(10), made(100), made(5)]}
    assert executive.paired(rounds, executive.median_lateness, "executive", "cyclictest") == 1.0
    rounds["cyclictest"] = []
    assert executive.paired(rounds, executive.median_lateness, "executive", "cyclictest") is None


def test_a_hole_in_the_record_is_found_though_no_ring_knows_of_it(tmp_path):
    recording = Recording({"filter": {}}, duration_ns=400_000)
    for seq in (0, 1, 3):
        recording.job("filter", seq, 1_000, 2_000)
    recording.outputs[0] = np.zeros(3, dtype=[("seq", "<u8")])
    recording.counters = {"records_lost": 0}
    assert executive.lost_records(recording.write(tmp_path / "hole"), 4) == (3, 1)
    recording.job("filter", 2, 1_000, 2_000)
    assert executive.lost_records(recording.write(tmp_path / "output"), 4) == (4, 1), "an output is missing"
    recording.outputs[0] = np.zeros(4, dtype=[("seq", "<u8")])
    assert executive.lost_records(recording.write(tmp_path / "whole"), 4) == (4, 0)
    recording.counters = {"records_lost": 2}
    assert executive.lost_records(recording.write(tmp_path / "counted"), 4) == (4, 2)


@pytest.fixture
def measured(monkeypatch):
    """The benchmark with rounds that are made up."""
    filter_task = type("Waits", (), {"cpu": 1, "priority": 51, "period_ps": 250_000_000})()
    monkeypatch.setattr(Executive, "of", staticmethod(lambda name, progress: filter_task))
    monkeypatch.setattr(executive, "executive_round", lambda *_: made(20.5, 10, 1))
    monkeypatch.setattr(executive, "cyclictest_round", lambda *_: made(20))
    monkeypatch.setattr(executive, "loop_round", lambda *_: made(20, 10))
    monkeypatch.setattr(executive, "virtual_over_floor", lambda seconds: 9.0)
    row = {"what": "record at 20 kHz", "recorded": 20, "lost": 0}
    monkeypatch.setattr(executive, "long_run", lambda seconds, root, progress: row)
    return monkeypatch


def bench() -> tuple[int, dict]:
    result = CliRunner().invoke(cli, ["bench", "executive", "--quick", "--seconds", "7", "--json"])
    return result.exit_code, {g["name"]: g for g in json.loads(result.stdout)["goals"]}


def test_the_goals_have_the_agreed_names_and_limits(measured):
    status, found = bench()
    assert status == 0 and list(found) == NAMES
    assert {n: (g["sense"], g["limit"]) for n, g in found.items()} == {
        "wakeup_over_cyclictest": ("<=", 1.1),
        "job_over_loop": ("<=", 1.15),
        "virtual_over_floor": ("<=", 20),
        "records_lost": ("<=", 0),
    }
    assert found["wakeup_over_cyclictest"]["value"] == pytest.approx(1.025)
    assert found["job_over_loop"]["value"] == pytest.approx(1.1), "with what the recorder takes"
    assert found["job_over_loop"]["without_recorder"] == pytest.approx(1.0)
    assert found["records_lost"]["seconds"] == 7


def test_a_slow_executive_fails(measured):
    measured.setattr(executive, "executive_round", lambda *_: made(23, 12))
    status, found = bench()
    assert status == 1 and not found["wakeup_over_cyclictest"]["met"] and not found["job_over_loop"]["met"]


def test_without_cyclictest_that_goal_alone_has_no_value(measured):
    monkeypatch = measured
    monkeypatch.setattr(executive, "cyclictest_round", cyclictest_round)
    monkeypatch.setattr("consort_bench.executive_rounds.shutil.which", lambda program: None)
    status, found = bench()
    assert status == 3
    assert found["wakeup_over_cyclictest"]["value"] is None
    assert "rt-tests" in found["wakeup_over_cyclictest"]["reason"]
    assert all(found[name]["met"] for name in NAMES[1:])


def test_without_the_real_time_class_the_ratios_have_no_value(measured):
    def refused(*_):
        raise EnvironmentLacks("SCHED_FIFO was refused", "see `consort doctor`")

    measured.setattr(executive, "executive_round", refused)
    status, found = bench()
    assert status == 3
    for name in NAMES[:2]:
        assert found[name]["met"] is None and "SCHED_FIFO was refused" in found[name]["reason"]
    # An unmet goal weighs more than an unknown one.
    measured.setattr(executive, "virtual_over_floor", lambda seconds: 90.0)
    assert bench()[0] == 1


def test_the_described_task_runs_and_nothing_is_lost(tmp_path):
    """The true executive at 20 kHz for a moment; where the machine has no real-time class, without it."""
    raw = Executive.of("long_run", silent).run(4_000, tmp_path, "test", silent)
    assert executive.lost_records(raw, 4_000) == (4_000, 0)
    found = round_of(raw)
    assert found.lateness_ns.size == 4_000 and found.cpu_ns > 0 and found.recorder_ns > 0


def test_virtual_time_beside_its_floor():
    assert executive.virtual_over_floor(0.01) > 1
