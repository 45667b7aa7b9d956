# SPDX-License-Identifier: Apache-2.0
"""The recorded environment: nothing of the host but what bears on the figures, and never a failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from consort.base.environment import environment, real_time_parameters


def test_only_real_time_parameters_are_kept() -> None:
    cmdline = (
        "BOOT_IMAGE=/vmlinuz root=UUID=1234 isolcpus=1 nohz_full=1 rcu_nocbs=1 console=ttyS0"
        " ip=10.0.0.1 mitigations=off quiet -- --addr 10.0.0.1:2024 isolcpus=9"
    )
    assert real_time_parameters(cmdline) == ["isolcpus=1", "nohz_full=1", "rcu_nocbs=1", "mitigations=off"]
    assert real_time_parameters("") == []
    assert real_time_parameters("-- isolcpus=1") == []


def test_everything_is_named_and_can_be_stored() -> None:
    found = json.loads(json.dumps(environment()))
    assert {"kernel", "cmdline", "cpu", "governor", "isolated", "smt", "hypervisor", "clocksource"} <= set(
        found
    )
    assert {"preemption", "compiler", "git", "python", "consort", "rt_runtime_us", "date"} <= set(found)


def test_what_is_missing_is_null(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "c++ 'unclosed")

    def unreadable(*_: object, **__: object) -> str:
        raise PermissionError

    monkeypatch.setattr(Path, "read_text", unreadable)
    found = environment(tmp_path / "nowhere")
    for name in ("cpu", "isolated", "smt", "hypervisor", "clocksource", "compiler", "git", "rt_period_us"):
        assert found[name] is None, name
    assert found["cmdline"] == []
