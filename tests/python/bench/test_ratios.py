# SPDX-License-Identifier: Apache-2.0
"""How blocks become ratios, how ratios become goals, and that the whole benchmark runs."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from consort.bench.blocks import Block, central, combine
from consort.bench.icc import goals
from consort.bench.registry import BENCHMARKS, BenchResult, goal, load
from consort.commands.bench import show
from hypothesis import given
from hypothesis import strategies as st

NAMES = [
    "mailbox_8_over_floor",
    "mailbox_48_over_floor",
    "mailbox_8_pause_over_floor",
    "mailbox_8_pause_over_pause_floor",
    "mailbox_48_over_copy",
    "mailbox_1024_over_copy",
    "iceoryx2_over_mailbox",
    "boost_over_mailbox",
    "snapshot_torn",
    "snapshot_p999_over_idle",
]


def test_a_block_whose_floors_disagree_is_dropped():
    ratio = combine([Block(100, 110, 100), Block(100, 500, 131), Block(100, 130, 130)])
    assert (ratio.kept, ratio.dropped) == (2, 1)
    assert ratio.value == pytest.approx((1.1 + 130 / 115) / 2)


def test_without_a_block_that_counts_there_is_no_ratio():
    ratio = combine([Block(100, 110, 300)])
    assert ratio.value is None and ratio.dropped == 1


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=50), st.floats(1, 1e3))
def test_a_regime_that_scales_everything_changes_no_ratio(values, factor):
    blocks = [Block(100, v, 110) for v in values]
    slower = [Block(100 * factor, v * factor, 110 * factor) for v in values]
    assert combine(slower).value == pytest.approx(combine(blocks).value)


def test_the_central_mean_is_finer_than_the_clock_and_deaf_to_outliers():
    samples = np.array([10] * 40 + [20] * 60 + [10**9] * 10)
    assert 10 < central(samples) < 20 or central(samples) == 20
    assert central(np.append(samples, [10**12])) < 21
    assert central(np.array([7])) == 7


def latest(torn=0, p999=200.0):
    return [
        {"key": "snapshot-flat", "torn": torn, "backward": 0, "p999_ns": p999},
        {"key": "snapshot-idle", "median_ns": 100.0},
    ]


def ratios():
    return {
        ("Mailbox", 8, "bare"): 1.0,
        ("Mailbox", 48, "bare"): 1.2,
        ("Mailbox", 8, "pause"): 0.7,
        ("Mailbox", 48, "pause"): 0.7,
        ("Mailbox", 1024, "pause"): 2.0,
        ("copy", 48, "bare"): 1.16,
        ("copy", 1024, "pause"): 2.0,
        ("floor", 4, "pause"): 0.5,
        ("copy", 8, "pause"): 0.45,
        ("Boost.Lockfree spsc_queue", 8, "pause"): 1.5,
        ("iceoryx2-pubsub", 8, "pause"): 5.6,
    }


def test_goals_have_the_agreed_names_and_say_what_is_not_met():
    found = {g["name"]: g for g in goals(ratios(), latest(torn=1), "")}
    assert set(NAMES) <= set(found)
    assert found["mailbox_8_over_floor"]["met"] is True
    assert found["mailbox_48_over_floor"]["met"] is False
    assert found["iceoryx2_over_mailbox"]["value"] == pytest.approx(8)
    assert found["snapshot_torn"]["met"] is False
    assert found["snapshot_p999_over_idle"]["value"] == 2
    # The machine's own copy took as much: the protocol is not at fault.
    assert found["mailbox_48_over_floor"]["raw_copy"] == 1.16
    assert found["mailbox_48_over_copy"]["met"] is True
    assert found["mailbox_48_over_copy"]["value"] == pytest.approx(1.2 / 1.16)
    assert found["mailbox_48_over_copy"]["limit"] == 1.1
    assert found["mailbox_8_pause_over_pause_floor"]["value"] == pytest.approx(1.4)
    assert found["mailbox_8_pause_over_pause_floor"]["limit"] == 1.15
    assert found["mailbox_8_pause_over_pause_floor"]["raw_copy"] == pytest.approx(0.9)
    assert found["mailbox_8_over_floor"]["raw_copy"] is None, "not measured"
    assert "raw_copy" not in found["boost_over_mailbox"]
    for one in found.values():
        assert set(one) >= {"name", "value", "unit", "sense", "limit", "met", "provenance"}


def test_the_raw_copy_stands_beside_the_goals(capsys):
    show(BenchResult(goals(ratios(), latest(), ""), []))
    lines = capsys.readouterr().out.splitlines()
    assert any("raw copy / floor" in line for line in lines)
    (line,) = [line for line in lines if "mailbox_48_over_floor" in line]
    assert "no" in line and "1.16" in line
    show(BenchResult([goal("a", 1, "x", ">=", 1)], []))
    assert "raw copy" not in capsys.readouterr().out


def test_without_a_floor_there_is_no_ratio_to_it():
    without = {k: v for k, v in ratios().items() if k[0] != "floor"}
    found = {g["name"]: g for g in goals(without, latest(), "")}
    assert found["mailbox_8_pause_over_pause_floor"]["met"] is None


def test_a_peer_that_cannot_be_had_is_not_measured_rather_than_failed():
    without = {k: v for k, v in ratios().items() if k[0] in ("Mailbox", "copy")}
    found = {g["name"]: g for g in goals(without, latest(), "cargo is not installed; install it")}
    assert found["iceoryx2_over_mailbox"]["met"] is None
    assert "cargo" in found["iceoryx2_over_mailbox"]["reason"]
    assert "libboost" in found["boost_over_mailbox"]["reason"]


def test_goal_senses():
    assert goal("a", 1, "x", ">=", 1)["met"] and not goal("a", 1, "x", ">=", 1.1)["met"]


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_every_benchmark_of_the_registry_can_be_loaded(name):
    assert callable(load(name))


def consort(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "consort.cli", "bench", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_unknown_benchmarks_and_sizes_are_bad_input():
    assert consort("nothing").returncode == 2
    assert consort().returncode == 2
    wrong = consort("loopback", "--sizes", "8,x")
    assert wrong.returncode == 2 and "8,64,1024" in wrong.stderr


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_icc_runs_and_loses_no_content():
    result = consort("icc", "--quick", "--seconds", "0.5", "--json")
    assert result.returncode in (0, 1), result.stderr
    printed = json.loads(result.stdout)
    assert printed["bench"] == "icc"
    named = {g["name"]: g for g in printed["goals"]}
    assert set(NAMES) <= set(named)
    assert named["snapshot_torn"]["value"] == 0
    assert {row["what"] for row in printed["rows"]} >= {
        "floor",
        "copy",
        "Mailbox",
        "Duplex",
        "Queue",
        "Snapshot",
    }
