# SPDX-License-Identifier: Apache-2.0
"""Scaled figures, and how far they can be scaled: what is found holds, and so does every easier one tried."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from consort.analysis.scaling import HALVINGS, Scale, check_scale, hardest_that_holds, scaled, sensitivity
from consort.analysis.system import analyze_system
from consort.model import System, load_system, system_from_data
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[3]
TWO = {
    "consort": 1,
    "name": "Two tasks",
    "platform": "embedded-plus",
    "scheduling": {"a72": {"policy": "fixed-priority", "context_switch": "0ns"}},
    "tasks": {
        "fast": {"period": "10ms", "wcet": {"a72": "2ms"}, "on": "a72-0"},
        "slow": {"period": "20ms", "wcet": {"a72": "6ms", "x86": "1ms"}, "on": "a72-0"},
    },
}


@pytest.fixture
def two() -> System:
    return system_from_data(TWO)


def test_scaled_execution_times(two):
    one = scaled(two, Scale("wcet", "slow"), Fraction(1, 2))
    assert str(one.wcet("slow")) == "3ms" and str(one.wcet("fast")) == "2ms"
    # Up, where it is not a whole picosecond: never optimistic.
    third = scaled(two, Scale("wcet"), Fraction(1, 3))
    assert third.wcet("fast").picoseconds == 666_666_667
    clock = scaled(two, Scale("clock", "a72"), Fraction(1, 2))
    assert str(clock.wcet("slow")) == "12ms" and str(clock.tasks["slow"].wcet_on("x86")) == "1ms"


def test_scaled_bandwidth_and_scratchpad(two):
    rate = two.platform_description.links["pcie"].rate.value.bytes_per_second
    half = scaled(two, Scale("bandwidth", "pcie"), Fraction(1, 2)).platform_description
    assert half.links["pcie"].rate.value.bytes_per_second == rate // 2
    assert half.links["pcie"].rate.provenance.kind == "assumed"
    access = scaled(two, Scale("bandwidth"), Fraction(1, 2)).platform_description.memories["host-ddr"].access
    assert (
        str(access.from_["x86"].rate.value) == "5GB/s"
        and str(access.from_["x86"].loaded.rate.value) == "1GB/s"
    )
    assert str(access.from_["x86"].base.value) == "100ns"
    small = scaled(two, Scale("scratchpad", "r5f"), Fraction(1, 4)).platform_description
    assert str(small.cores["r5f"].scratchpad.size.value) == "32KiB"


def test_what_cannot_be_scaled_is_named(two):
    assert "did you mean 'clock'?" in check_scale(two, Scale("clocks"))
    assert "did you mean 'slow'?" in check_scale(two, Scale("wcet", "slw"))
    assert check_scale(two, Scale("wcet", "slow")) is None


def test_factors_of_two_tasks(two):
    """Fast: 2 ms of 10; slow: 6 ms of 20, with twice the fast one in between: 6 f + 4 f = 20 at f = 2."""
    found = {(one.scale.what, one.of): one for one in sensitivity(two)}
    step = 2.0**-HALVINGS
    assert found["wcet", None].factor == pytest.approx(2, abs=4 * step)
    assert found["wcet", "fast"].factor == pytest.approx(3.5, abs=8 * step)
    assert found["wcet", "slow"].factor == pytest.approx(16 / 6, abs=8 * step)
    assert found["clock", "a72"].factor == pytest.approx(0.5, abs=4 * step)
    assert "not limiting" in found["bandwidth", "pcie"].note
    for one in found.values():
        assert one.factor is not None and one.to_json()["provenance"] == "bound"
        hard = Fraction(one.factor)
        assert all(bound.schedulable for bound in analyze_system(scaled(two, one.scale, hard)))


def test_a_scratchpad_holds_its_tasks():
    """The smallest scratchpad: below it the largest task no longer fits into a partition."""
    system = load_system(ROOT / "examples" / "automotive" / "system.yaml")
    largest = max(task.footprint.bytes for task in system.tasks.values() if task.footprint is not None)
    found = sensitivity(system, ["scratchpad"])[0]
    group = next(g for g in system.platform_description.cores.values() if g.scratchpad is not None)
    size = group.scratchpad.size.value.bytes * found.factor
    assert largest <= size / group.scratchpad.partitions <= group.scratchpad.partition_bytes


def grid(limit: Fraction):
    return lambda value: value <= limit


@given(st.fractions(Fraction(1, 32), 500))
def test_search_finds_a_limit(limit):
    found, _, failed = hardest_that_holds(grid(limit))
    assert (
        found is not None and found <= limit < found * (1 + Fraction(1, 2 ** (HALVINGS - 1))) and not failed
    )


@given(st.integers(0, 2**40))
def test_without_monotony_every_easier_one_tried_holds(bits):
    """Values hold without a rule: whatever is answered, nothing easier that was tried failed."""
    asked: dict[Fraction, bool] = {}

    def holds(value: Fraction) -> bool:
        asked[value] = bool((bits >> (hash(value) % 40)) & 1)
        return asked[value]

    found, tried, _ = hardest_that_holds(holds)
    assert tried == len(asked)
    if found is not None:
        assert asked[found] and all(held for value, held in asked.items() if value < found)


def test_a_gap_below_is_found_out():
    """Holds up to 1.9 but for a gap: what is below the gap counts, and that it does so is said."""
    found, _, failed = hardest_that_holds(lambda v: v <= Fraction(19, 10) and not 0.9 < v < 0.99)
    assert found is not None and 0.89 < found <= 0.9 and failed
