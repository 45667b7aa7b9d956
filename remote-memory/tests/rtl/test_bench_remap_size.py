# SPDX-License-Identifier: Apache-2.0
"""The report of `consort bench remap-size`; the synthesis itself takes minutes and is not run here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from consort.errors import EnvironmentLacks, SystemFails
from consort_bench.registry import Options
from consort_remote.synthesis import Cost
from consort_remote_bench import remap_size
from consort_remote_bench.place_and_route import Placed, of_report


def test_each_data_width_of_a_port_and_of_a_memory_has_a_row_with_its_size(monkeypatch):
    asked = []

    def estimate(top, parameters, flow):
        asked.append((top, parameters))
        return Cost(len(asked), 0, 0, 0, (), {}, 1000)

    monkeypatch.setattr(remap_size, "estimate", estimate)
    monkeypatch.setattr(remap_size, "placed", lambda *of: Placed(160.0, 2000, 4000, (), {}))
    result = remap_size.run(Options(name="remap-size"))
    rows = [row for row in result.rows if row["block"] == "axi_resize"]
    widths = [(row["slavewidth"], row["masterwidth"]) for row in rows]
    others = (64, 256, 512)
    assert sorted(widths) == sorted([(w, 128) for w in others] + [(128, w) for w in others])
    # Each with the size of its own synthesis.
    for row in rows:
        top, parameters = asked[row["luts"] - 1]
        assert top == "consort_axi_resize"
        assert (parameters["SlaveWidth"], parameters["MasterWidth"]) == (
            row["slavewidth"],
            row["masterwidth"],
        )
        assert row["provenance"] == "counted"


def small(top, parameters, flow):
    return Cost(1, 0, 0, 0, (), {}, 1000)


def test_the_clock_of_a_placed_block_is_a_goal_that_says_of_what_device(monkeypatch):
    limits = remap_size.PLACED_MHZ
    clocks = {"consort_cblock": limits["cblock"], "consort_mblock": limits["mblock"] - 0.1}
    monkeypatch.setattr(remap_size, "estimate", small)
    monkeypatch.setattr(
        remap_size, "placed", lambda top, _: Placed(clocks[top], 2000, 4000, ("a.B 1 ns",), {})
    )
    result = remap_size.run(Options(name="remap-size"))
    met = {goal["name"]: goal["met"] for goal in result.goals if "placed_routed" in goal["name"]}
    assert met == {"cblock_ecp5_placed_routed_clock": True, "mblock_ecp5_placed_routed_clock": False}
    assert not result.lacking
    assert [row["wire_ps"] for row in result.rows if row["flow"] == "ecp5, placed and routed"] == [4000, 4000]


def test_without_a_placer_the_goals_have_no_value_and_the_machine_lacks_it(monkeypatch):
    def lacks(*of):
        raise EnvironmentLacks("nextpnr cannot be had", "check the network")

    monkeypatch.setattr(remap_size, "estimate", small)
    monkeypatch.setattr(remap_size, "placed", lacks)
    result = remap_size.run(Options(name="remap-size"))
    without = [goal for goal in result.goals if goal["value"] is None]
    assert len(without) == 2 and all("check the network" in goal["reason"] for goal in without)
    assert result.lacking


def test_a_report_of_the_placer_is_read_as_it_is():
    # The report of a counter of 24 bits, by the version in rtl/synth/place.lock.
    report = json.loads((Path(__file__).parent / "placed_counter.json").read_text(encoding="utf-8"))
    found = of_report(report)
    assert found.mhz == pytest.approx(report["fmax"]["clk_i"]["achieved"])
    # The slowest path takes the clock's period.
    assert found.logic_ps + found.wire_ps == pytest.approx(1e6 / found.mhz, abs=2)
    assert found.wire_ps > 0 and len(found.path) >= 1
    assert found.used["TRELLIS_FF"] == 24
    with pytest.raises(SystemFails, match="one clock"):
        of_report(report | {"fmax": {}})
