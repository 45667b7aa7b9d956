# SPDX-License-Identifier: Apache-2.0
"""`consort analyze`: tables, explanations, advice, JSON, exit statuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

VEHICLE = Path(__file__).parents[3] / "examples" / "vehicle" / "system.yaml"


def analyze(*arguments):
    consort = Path(sys.executable).with_name("consort")
    return subprocess.run([consort, "analyze", "-v", *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def late(tmp_path):
    """The vehicle with a battery task that keeps the scratchpad's core busy for too long."""
    text = VEHICLE.read_text()
    assert "three-phase: 2ms, local: 5ms" in text
    file = tmp_path / "late.yaml"
    file.write_text(text.replace("three-phase: 2ms, local: 5ms", "three-phase: 5ms, local: 8ms"))
    return file


@pytest.mark.parametrize("mode", [(), ("--mode", "parked"), ("--mode", "limp-home")])
def test_example_holds_in_all_modes(mode):
    done = analyze(VEHICLE, *mode)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "response time" in done.stdout and "source: " in done.stdout


def test_every_bound_has_source_assumptions_and_provenance():
    result = json.loads(analyze(VEHICLE, "--json").stdout)
    assert result["schedulable"] is True and result["advice"] == []
    tasks = {b["task"] for b in result["bounds"] if b["kind"] == "response time"}
    assert {"camera", "fusion", "drive-control", "abs", "battery"} <= tasks
    assert {"reaction time", "data age"} <= {b["kind"] for b in result["bounds"]}
    for bound in result["bounds"]:
        assert bound["source"] and bound["assumptions"] and bound["provenance"] == "bound", bound["task"]


def test_a_deadline_that_may_be_missed(late):
    done = analyze(late)
    assert done.returncode == 1
    # The bound of its first late job is none of the others'.
    assert (
        "abs, response time: its first late job may take up to 10.786ms, longer than the period"
        in done.stdout
    )
    # It is the reason, before what others' bounds allow for.
    (said,) = (line for line in done.stdout.splitlines() if re.match(r"abs on \S+: response", line))
    assert "has no bound: its first late job" in said
    assert "at most 10.786ms" not in done.stdout
    # Battery may then be late too: one of its jobs executes while the next is already loaded.
    assert "abs, response time: tasks below may then be late too" in done.stdout
    assert "steering, response time: abs above it misses its deadline: no bound" in done.stdout
    # As long as a slow machine may take.
    result = json.loads(analyze(late, "--json", "--advice-time", "900").stdout)
    assert result["schedulable"] is False
    changes = {one["task"]: one["changes"] for one in result["advice"]}
    assert "battery" in changes and any(c["kind"] == "wcet" for c in changes["battery"])
    # No change of its own is a remedy; one of what it waits for is.
    assert any(c["text"].startswith("bring the execution time of battery to 3.31") for c in changes["abs"])


@pytest.mark.parametrize(
    "wcet", ["{r5f: 400us}", "{a72: 3ms, x86: 1ms}", "{r5f: {three-phase: 600us, local: 1100us}}"]
)
def test_a_task_too_long_for_its_own_deadline_is_a_verdict(tmp_path, wcet):
    text = VEHICLE.read_text()
    assert wcet in text
    file = tmp_path / "long.yaml"
    file.write_text(text.replace(wcet, re.sub(r"\d+us|\d+ms", "999ms", wcet)))
    done = analyze(file)
    assert done.returncode == 1 and "│ no " in done.stdout and not done.stderr


def test_explanation_and_its_drawing(late, tmp_path):
    drawing = tmp_path / "abs.svg"
    done = analyze(late, "--explain", "abs", "--svg", drawing)
    assert done.returncode == 1
    assert "battery executes, battery is being loaded" in done.stdout and "assumes: " in done.stdout
    texts = [element.text for element in ET.parse(drawing).iter() if element.text]
    assert any("up to 10.786ms, longer than the period" in text for text in texts) and "5.002ms" in texts


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--explain", "brakes"), "nothing is called 'brakes'; did you mean 'brake'?"),
        (("--mode", "park"), "there is no mode 'park'; did you mean 'parked'?"),
        (("--svg", "x.svg"), "name it with --explain"),
        (("--explain", "abs", "--svg", "/nowhere/x.svg"), "/nowhere/x.svg: cannot be written"),
    ],
)
def test_bad_input(arguments, words):
    done = analyze(VEHICLE, *arguments)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_broken_description(tmp_path):
    file = tmp_path / "broken.yaml"
    file.write_text("consort: 1\nplatform: linux-host\ntasks: {a: {periode: 1ms, on: worker-0}}\n")
    done = analyze(file)
    assert done.returncode == 2 and "did you mean 'period'?" in done.stderr
