# SPDX-License-Identifier: Apache-2.0
"""Parts of a run on few CPUs, one after another: each has its own tasks, chains and golden outputs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from consort.judge import Expected
from consort.model import load_system
from consort.plan import plan
from consort.run import application, flow
from consort.run.config import Placement
from consort.run.flow import bounds_of
from consort.run.options import Options, planned_in_modes, restricted
from consort.simulate.chains import simulated_limits

DESCRIPTION = """\
consort: 1
assumed: a test
platform: linux-host
scheduling: {master: {context_switch: 0us}}
tasks:
  a: {period: 20ms, wcet: 1ms, bcet: 100us, on: master-0, step: stand-in}
  b: {period: 20ms, wcet: 1ms, bcet: 100us, on: master-1, step: stand-in}
  c: {period: 20ms, wcet: 1ms, bcet: 100us, on: master-2, step: stand-in}
  d: {period: 20ms, wcet: 1ms, bcet: 100us, on: master-3, step: stand-in}
channels:
  ab: {kind: sporadic, from: a, to: [b], memory: shm, size: 16B}
  cd: {kind: sporadic, from: c, to: [d], memory: shm, size: 16B}
chains:
  ab: {path: [a, b], reaction: 80ms, age: 80ms}
  cd: {path: [c, d], reaction: 80ms, age: 80ms}
run: {iterations: 10, time_base: sleep}
"""
PARTS = {"ab": ["master-0", "master-1"], "cd": ["master-2", "master-3"]}


@pytest.mark.parametrize("chain", PARTS)
def test_a_part_is_simulated_with_its_own_chains(tmp_path: Path, chain: str) -> None:
    file = tmp_path / "system.yaml"
    file.write_text(DESCRIPTION, encoding="utf-8")
    whole = plan(load_system(file), "linux")
    limits = simulated_limits(restricted(whole, PARTS[chain]))
    assert {(limit.subject, limit.quantity) for limit in limits} == {
        *((task, "response") for task in chain),
        (chain, "reaction"),
        (chain, "age"),
    }


def test_a_part_has_the_golden_outputs_of_its_own_tasks(tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "system.yaml"
    file.write_text(DESCRIPTION, encoding="utf-8")
    golden = {name: Expected(np.zeros(1, dtype=[("y", "<u4")]), "input") for name in "abcd"}
    monkeypatch.setattr(flow, "expected_outputs", lambda *_: golden)
    part = restricted(plan(load_system(file), "linux"), PARTS["cd"])
    recording = flow.Recording("local-off", "local", part, tmp_path, [])
    prepared: Any = SimpleNamespace(described={}, golden=golden)
    assert set(flow._expected(prepared, recording, None)) == {"c", "d"}


@pytest.mark.parametrize("shared", [False, True])
def test_cores_that_share_a_cpu_sleep_and_their_bounds_count_it(
    tmp_path: Path, monkeypatch: Any, shared: bool
) -> None:
    file = tmp_path / "system.yaml"
    file.write_text(DESCRIPTION.replace("time_base: sleep", "time_base: spin"), encoding="utf-8")
    system = load_system(file)
    options = Options(target="linux", time_scale=10)
    monkeypatch.setattr(application, "place", lambda *_, **__: Placement({}, None, shared))
    monkeypatch.setattr(application, "_record_part", lambda _, plans, *__: plans.whole)
    whole = planned_in_modes(system, options).whole
    made = application.Prepared(system, whole, file, {}, {}, {})
    (found,) = made.recordings("local-off", options, lambda *_: None)
    ran: Any = found
    assert {core.time_base for core in ran.cores.values()} == {"sleep" if shared else "spin"}
    late_ps = ran.cores["master-0"].timer_lateness_ps or 0
    assert bool(late_ps) == shared
    assert bounds_of(ran).bound("a", "response").ns == 1_000_000 + late_ps / 1000


def test_a_part_under_logical_execution_time_is_simulated_with_its_own_channels(tmp_path: Path) -> None:
    """Three parts: one with a queue, one in logical execution time, one whose reader has a longer period."""
    more = """\
  e: {period: 20ms, wcet: 1ms, bcet: 100us, on: master-4, step: stand-in}
  f: {period: 40ms, wcet: 1ms, bcet: 100us, on: master-5, step: stand-in}
channels:
  ef: {kind: sporadic, from: e, to: [f], memory: shm, size: 16B}
"""
    text = DESCRIPTION.replace("channels:\n", more)
    text = text.replace("ab: {kind: sporadic,", "ab: {kind: queue, capacity: 4,")
    text = text.replace("cd: {path: [c, d], reaction: 80ms,", "cd: {path: [c, d], communication: let,")
    text = text.replace("\nrun:", "\n  ef: {path: [e, f], reaction: 200ms}\nrun:")
    file = tmp_path / "system.yaml"
    file.write_text(text, encoding="utf-8")
    whole = plan(load_system(file), "linux")
    for chain, cores in (PARTS | {"ef": ["master-4", "master-5"]}).items():
        part = restricted(whole, cores)
        found = {(limit.subject, limit.quantity): limit.ns for limit in simulated_limits(part)}
        assert found.keys() >= {(chain, "reaction"), (chain, "age")} and not found.keys() & {
            (other, "reaction") for other in (*PARTS, "ef") if other != chain
        }
        for (subject, quantity), ns in found.items():
            bound = bounds_of(part).bound(subject, quantity).ns
            assert bound is not None and ns is not None and ns <= bound, (subject, quantity)
