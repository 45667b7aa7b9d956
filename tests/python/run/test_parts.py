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
from consort.run import flow
from consort.run.options import restricted
from consort.simulate.limits import simulated_limits

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
    assert set(flow._expected(prepared, recording)) == {"c", "d"}
