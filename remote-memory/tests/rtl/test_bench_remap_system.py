# SPDX-License-Identifier: Apache-2.0
"""`consort bench remap-system` and `remap-size`: rows for all that is published, and refused parameters."""

from __future__ import annotations

import pytest
from consort.base.errors import BadInput
from consort_bench.published import experiment_folder
from consort_bench.registry import Options
from consort_remote import synthesis
from consort_remote_bench import remap_size, remap_system

FOLDER = experiment_folder("remap", "system")


@pytest.fixture(scope="module")
def result():
    return remap_system.run(Options("remap-system", quick=True))


@pytest.mark.slow
def test_goals_are_met(result):
    assert len(result.goals) == 5
    assert [g["name"] for g in result.goals if not g["met"]] == []


def test_what_is_published_stands_beside_what_is_simulated(result):
    beside = [r for r in result.rows if r["item"] != "table2" and r["published"] and r["simulated"]]
    # Three averages, the combined one in two readings, and two latencies in each packetization; the baseline;
    # the expected throughput beside what it is here by use of the link, and by STREAM.
    assert len(beside) == 3 * 6 + 1 + 2
    # Two alone, two at once in two readings, and each of these two ports alone.
    for item, configurations, kinds in (("figure12", 6, 5), ("figure13", 2, 7)):
        assert len([r for r in result.rows if r["item"] == item]) == (3 * configurations + 1) * kinds


def test_the_combined_system_is_one(result):
    mbs = {
        (r["configuration"], r["packetization"]): r["simulated"]
        for r in result.rows
        if r["item"] == "figure12" and r["what"] == "average"
    }
    for packetization in remap_system.PACKETIZATIONS:
        near, far = (mbs[f"combined, port {port} alone", packetization] for port in (0, 1))
        both = mbs["combined", packetization]
        # Each has its own link and memory: both at once are more than either, and about their sum. (A port
        # alone can fall into a rhythm in which its threads wait together; beside the other it does not.)
        assert max(near, far) < both <= 1.15 * (near + far)
        assert mbs["combined, lines shared", packetization] < both


def test_the_expected_throughput_is_the_use_of_the_link(result):
    (derived, simulated) = (r for r in result.rows if r["item"] == "expected")
    assert derived["published"] == simulated["published"] == 1139
    assert derived["simulated"] == pytest.approx(1139, rel=0.01)


def test_where_the_wire_is_the_limit_its_use_decides(result):
    ns = {
        (r["configuration"], r["packetization"], r["what"]): r["simulated"]
        for r in result.rows
        if r["item"] == "figure13"
    }
    assert ns["1-hop", "compact", "4096"] < ns["1-hop", "pipelined", "4096"] < ns["1-hop", "b2b", "4096"]
    # A single line is sooner through without CRC and numbers.
    assert ns["0-hop", "b2b", "64"] <= ns["0-hop", "pipelined", "64"] < ns["0-hop", "compact", "64"]


def test_a_longer_way_takes_longer(result):
    ns = {
        (r["configuration"], int(r["what"])): r["simulated"]
        for r in result.rows
        if r["item"] == "figure13" and r["packetization"] in (None, "compact")
    }
    for size in (64, 4096):
        assert ns["baseline", size] < ns["0-hop", size] < ns["1-hop", size]
    assert all(ns[name, 2 * size] > ns[name, size] for name, size in ns if size < 4096)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("clock,3.2,ns,", "clock,3.2,us,"),
        ("clock,3.2,", "clock,-3.2,"),
        ("clock,3.2,", "clock,fast,"),
        ("clock,3.2,ns,published", "clock,3.2,ns,guessed"),
        ("clock,3.2", "clocks,3.2"),
    ],
)
def test_a_wrong_parameter_is_refused(tmp_path, line, wrong):
    text = (FOLDER / "parameters.csv").read_text()
    assert text.count(line) == 1
    file = tmp_path / "parameters.csv"
    file.write_text(text.replace(line, wrong))
    with pytest.raises(BadInput):
        remap_system.read_parameters(file)


def cell(kind, inputs, outputs):
    names = dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output")
    return {"type": kind, "port_directions": names, "connections": inputs | outputs}


def test_lut_levels_are_counted_between_registers():
    module = {
        "cells": {
            "a": cell("FDRE", {"D": [9], "C": [1]}, {"Q": [2]}),
            "b": cell("LUT2", {"I0": [2], "I1": ["0"]}, {"O": [3]}),
            "c": cell("CARRY4", {"S": [3]}, {"O": [4]}),
            "d": cell("RAM64X1D", {"DPRA0": [4], "D": [2], "WE": [3]}, {"DPO": [5]}),
            "e": cell("LUT6", {"I0": [5]}, {"O": [9]}),
        },
        "ports": {},
        "netnames": {"unsaid": {"bits": [3]}},
    }
    cost = synthesis.cost(module)
    assert cost.levels == 3
    path = cost.paths[0]
    assert (path.levels, path.others, path.start, path.end) == (3, 1, "a", "a")
    assert path.through == ("LUT2 unsaid[0]", "CARRY4", "RAM64X1D d", "LUT6")
    assert [path.end for path in cost.paths[1:]] == ["d"]
    assert (cost.luts, cost.ram_luts, cost.flip_flops, cost.ramb36) == (4, 2, 1, 0)


def test_paths_end_at_outputs_too_and_take_only_what_an_output_depends_on():
    module = {
        "cells": {
            "sum_q[1]\\FDCE": cell("FDCE", {"D": [20], "C": [1]}, {"Q": [2]}),
            "deep": cell("LUT1", {"I0": [2]}, {"O": [3]}),
            # The second bit's input does not reach the first one's sum, nor an address another port's data.
            "chain": cell("CARRY4", {"CI": ["0"], "S": [2, 3], "DI": [2, 3]}, {"O": [5, 6]}),
            "ram": cell("RAM64M8", {"ADDRA": [2], "ADDRB": [3], "DIA": [2]}, {"DOA": [7], "DOB": [8]}),
        },
        "ports": {
            "low": {"direction": "output", "bits": [5]},
            "high": {"direction": "output", "bits": [6]},
            "a": {"direction": "output", "bits": [7]},
            "b": {"direction": "output", "bits": [8]},
        },
        "netnames": {},
    }
    levels = {path.end: path.levels for path in synthesis.cost(module).paths}
    assert levels == {"sum_q": 0, "low": 0, "high": 1, "a": 1, "b": 2, "ram": 1}
    starts = {path.end: path.start for path in synthesis.cost(module).paths}
    assert starts["high"] == "sum_q[1]"


@pytest.mark.slow
def test_the_smallest_cblock_is_estimated():
    result = remap_size.run(Options("remap-size", quick=True))
    goals = {g["name"]: g for g in result.goals}
    levels, delay = "cblock_lut_levels_fewest_levels_flow", "cblock_cell_delay_default_flow"
    for name in ("cblock_luts", "cblock_ramb36", levels, delay):
        assert goals[name]["met"]
    fewest, plain = result.rows
    assert (fewest["flow"], plain["flow"]) == ("fewest-levels", "default")
    # The one has fewer levels for it; the other is the tool's own choice, weighed by delays.
    assert fewest["levels"] < plain["levels"]
