# SPDX-License-Identifier: Apache-2.0
"""A queue between two tasks takes and drops the same blocks in a simulation and when it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from consort.model import load_system
from consort.plan import plan
from consort.run.call import run
from consort.simulate.build import prepare
from consort.simulate.chains import simulate_with_chains

SYSTEM = """consort: 1
platform: linux-host
tasks:
  fast: {{period: 10ms, wcet: {cost}, bcet: {cost}, on: master-0, writes: [blocks]}}
  slow: {{period: {period}ms, wcet: {cost}, bcet: {cost}, on: worker-0, reads: [blocks]}}
channels: {{blocks: {{kind: queue, capacity: {capacity}}}}}
chains: {{through: {{path: [fast, slow]}}}}
run: {{iterations: 1000}}
"""
COST = "{value: 1ms, assumed: chosen}"


@pytest.mark.parametrize(("capacity", "period"), [(2, 30), (8, 30), (16, 20), (16, 10), (32, 70)])
def test_a_queue_of_any_size_drops_what_a_simulation_drops(
    tmp_path: Path, capacity: int, period: int
) -> None:
    file = tmp_path / "system.yaml"
    file.write_text(SYSTEM.format(cost=COST, capacity=capacity, period=period), encoding="utf-8")
    system = load_system(file)
    _, chains = simulate_with_chains(prepare(plan(system, "analysis")), 10 * 10**12)
    ran = run(system, target="virtual", stand_ins=True, root=tmp_path / "runs")
    (key,) = (configuration["key"] for configuration in ran.configurations)
    rows = {
        row["quantity"]: row["seen"]
        for row in ran.configuration(key)["verdict"]["rows"]
        if row["subject"] == "through"
    }
    expected = chains["through"]
    assert rows == {"reaction": _ns(expected.reaction), "age": _ns(expected.age)}
    reads = ran.table(key, "operations").to_pandas()
    assert (reads[reads["kind"] == "read"]["count"] <= 1).all(), "one block a job"


def _ns(ps: int | None) -> float | None:
    return None if ps is None else ps / 1000
