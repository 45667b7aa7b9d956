# SPDX-License-Identifier: Apache-2.0
"""A queue between two tasks takes and drops the same blocks in a simulation and when it runs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from consort.cli import cli
from consort.model import load_system
from consort.plan import plan
from consort.record import Run
from consort.run.call import run
from consort.simulate.build import prepare
from consort.simulate.call import simulate
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
STATUSES = """consort: 1
platform: linux-host
assumed: chosen
tasks:
  w: {{period: 10ms, wcet: 1ms, on: master-0, step: stand-in}}
  r: {{period: 40ms, wcet: 1ms, on: master-0, step: stand-in}}
channels: {{q: {{kind: queue, capacity: {capacity}, from: w, to: [r], size: 8B}}}}
{chains}
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


def _drawn(chance: random.Random, number: int) -> dict[str, Any]:
    """A writer and a reader, on one core or on two, with a channel of some kind between them."""
    cost = {"value": "1ms", "assumed": "chosen"}
    kind = ("queue", "mailbox", "sporadic", "let")[number % 4]
    write = chance.choice((10, 20, 30))
    read = write if kind == "mailbox" else chance.choice((10, 20, 30, 40, 70))
    tasks = {
        name: {"period": f"{period}ms", "wcet": cost, "bcet": cost, "on": core}
        for name, period, core in (
            ("w", write, "master-0"),
            ("r", read, chance.choice(("master-0", "worker-0"))),
        )
    }
    tasks["w"]["offset"] = f"{chance.choice((0, 0, 5))}ms"
    # Of equal rates a channel fills where the reader begins late.
    tasks["r"]["offset"] = f"{chance.choice((0, 7, 45, 95))}ms"
    channel: dict[str, Any] = {"kind": "sporadic" if kind == "sporadic" else "periodic"}
    if kind in ("queue", "let"):
        channel = {"kind": "queue", "capacity": chance.choice((2, 4, 8))}
    if kind == "let":
        channel = {"kind": "sporadic", "communication": "let"}
    chains: dict[str, Any] = {"c": {"path": ["w", "r"]}} if chance.random() < 0.5 else {}
    if chains and kind == "let":
        chains["c"]["communication"] = "let"
    return {
        "consort": 1,
        "platform": "linux-host",
        "tasks": tasks,
        "channels": {"q": {"from": "w", "to": ["r"], "size": "8B", **channel}},
        "chains": chains,
        "run": {"iterations": 40},
    }


def _moved(run_: Run, names: tuple[str, ...]) -> dict[str, list[tuple[int, ...]]]:
    """What was written, dropped and read, by kind: numbers of jobs and blocks."""
    (key,) = (configuration["key"] for configuration in run_.configurations)
    table = run_.table(key, "operations").to_pandas()
    table = table[table["channel"].isin(names)]
    return {
        kind: sorted(zip(rows["seq"], rows["sequence"], strict=True))
        for kind, rows in table.groupby(table["kind"].astype(str))
    }


def test_random_channels_drop_the_same_blocks_in_both_records(tmp_path: Path) -> None:
    dropped = 0
    for number in range(12):
        data = _drawn(random.Random(number), number)
        file = tmp_path / f"{number}.yaml"
        file.write_text(yaml.safe_dump(data), encoding="utf-8")
        system = load_system(file)
        # A run's iterations are jobs of the reader.
        duration = f"{40 * int(data['tasks']['r']['period'][:-2])}ms"
        ran = run(system, target="virtual", stand_ins=True, root=tmp_path / "runs", name=f"r{number}")
        simulated = simulate(system, duration, root=tmp_path / "runs", name=f"s{number}")
        here, there = _moved(simulated, ("q", "w to r", "w to r (let)")), _moved(ran, ("q",))
        # Without a chain a simulation keeps what is handed out in order: else no block is dropped.
        assert here == there or (not here and "write-dropped" not in there), data
        if "write-dropped" in there:
            dropped += len(there["write-dropped"])
            assert (simulated.verdict["ok"], ran.verdict["ok"]) == ("not held", "not held"), data
    assert dropped > 50


def _until(moved: dict[str, list[tuple[int, ...]]], block: int) -> dict[str, list[tuple[int, ...]]]:
    return {kind: [row for row in rows if row[1] <= block] for kind, rows in moved.items()}


def test_messages_of_a_device_are_dropped_alike_in_both_records(tmp_path: Path) -> None:
    dropped = 0
    cost = {"value": "1ms", "assumed": "chosen"}
    for number in range(8):
        chance = random.Random(number)
        apart, period = chance.choice((5, 10, 20, 30)), chance.choice((10, 20, 30, 70))
        capacity = chance.choice((2, 4, 8))
        offset = f"{chance.choice((0, 7, 45))}ms"
        data = {
            "consort": 1,
            "platform": "linux-host",
            "devices": {"bus": {"kind": "can"}},
            "tasks": {
                "r": {"period": f"{period}ms", "offset": offset, "wcet": cost, "bcet": cost, "on": "master-0"}
            },
            "channels": {
                "m": {"kind": "subscription", "flow": 7, "from": "bus", "to": ["r"], "size": "8B"}
                | {"capacity": capacity, "min_interarrival": f"{apart}ms"}
            },
            "run": {"iterations": 40},
        }
        file = tmp_path / f"{number}.yaml"
        file.write_text(yaml.safe_dump(data), encoding="utf-8")
        system = load_system(file)
        warned = json.loads(CliRunner().invoke(cli, ["check", str(file), "--json"]).stdout)["warnings"]
        assert bool(warned) == (period > apart), data
        ran = run(system, target="virtual", stand_ins=True, root=tmp_path / "runs", name=f"r{number}")
        simulated = simulate(system, f"{40 * period}ms", root=tmp_path / "runs", name=f"s{number}")
        here, there = _moved(simulated, ("m",)), _moved(ran, ("m",))
        # A run ends with its last job, a simulation with its time.
        both = min(max(block for rows in moved.values() for _, block in rows) for moved in (here, there))
        assert _until(here, both) == _until(there, both), data
        lost = len(there.get("write-dropped", ()))
        verdict = "not held" if lost else "held"
        assert (simulated.verdict["ok"], ran.verdict["ok"]) == (verdict, verdict), data
        dropped += lost
    assert dropped > 50


def test_bounds_warn_of_a_queue_that_fills_as_the_check_does(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    file.write_text(STATUSES.format(capacity=4, chains=""), encoding="utf-8")
    checked, analyzed = (
        json.loads(CliRunner().invoke(cli, [command, str(file), "--json"]).stdout)
        for command in ("check", "analyze")
    )
    assert analyzed["warnings"] == checked["warnings"] != []
    found = CliRunner().invoke(cli, ["analyze", str(file)])
    assert found.exit_code == 0 and "r takes one each 40ms: it fills" in found.stderr


@pytest.mark.parametrize("chains", ["", "chains: {c: {path: [w, r]}}"])
@pytest.mark.parametrize("options", [(), ("--no-record",), ("--runs", "2"), ("--runs", "2", "--no-record")])
def test_a_simulation_that_drops_blocks_does_not_hold(tmp_path: Path, chains: str, options: Any) -> None:
    file = tmp_path / "system.yaml"
    for capacity, status in ((4, 1), (200, 0)):
        file.write_text(STATUSES.format(capacity=capacity, chains=chains), encoding="utf-8")
        arguments = ["simulate", str(file), "--root", str(tmp_path / "runs"), *options]
        found = CliRunner().invoke(cli, arguments)
        assert found.exit_code == status, found.output
        number = 71 * (2 if "--runs" in options else 1)
        assert (f"{number} blocks dropped because there was no room" in found.output) == (status == 1)
        assert ("blocks were dropped because there was no room" in found.output) == (status == 1)
