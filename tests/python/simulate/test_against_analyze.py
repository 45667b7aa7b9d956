# SPDX-License-Identifier: Apache-2.0
"""`consort simulate` holds what it sees against the bounds of `consort analyze`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from consort.analysis import system as analysis
from consort.commands.simulate import command
from consort.simulate.outcome import BoundExceeded

VEHICLE = Path(__file__).parents[3] / "examples" / "vehicle" / "system.yaml"


def simulated(tmp_path, *arguments):
    line = [str(VEHICLE), "--duration", "200ms", "--root", str(tmp_path), *arguments]
    return CliRunner().invoke(command, line)


def test_bounds_stand_beside_what_was_simulated(tmp_path):
    done = simulated(tmp_path, "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.output)
    assert result["above_bound"] == []
    bounds = {b["name"]: b["bound_ps"] for b in result["bounds"] if b["kind"] == "response time"}
    for task in result["tasks"]:
        assert task["max_response_ps"] <= bounds[task["task"]]


@pytest.mark.parametrize("kind", ["response time", "reaction time"])
def test_a_bound_that_is_too_low_is_found(tmp_path, monkeypatch, kind):
    real = analysis.analyze_system

    def too_low(system, **options):
        return [
            replace(b, response=b.response // 10) if b.kind == kind and b.response else b
            for b in real(system, **options)
        ]

    monkeypatch.setattr("consort.simulate.call.analyze_system", too_low)
    done = simulated(tmp_path)
    if kind == "response time":
        assert isinstance(done.exception, BoundExceeded) and "is above its bound" in str(done.exception)
        assert done.exception.exit_status == 1
    else:
        assert done.exit_code == 1 and "simulated reaction time" in done.output
