# SPDX-License-Identifier: Apache-2.0
"""The platform file of this machine: what stands in it, where it is from, and that it can be used."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from consort.base.errors import EnvironmentLacks
from consort.cli import main
from consort.machine.probe import measure, platform_data, refusals
from consort.model import Platform, load_platform, load_system
from consort.model.figures import figures_in
from consort.model.platform import platform_from_data

pytestmark = pytest.mark.realtime

ENVIRONMENT = {"cpu": "A Processor", "kernel": "6.1.0", "hypervisor": False}


def series(least: int, middle: int, most: int, disturbed: int = 0) -> dict[str, Any]:
    return {"n": 1000 - disturbed, "min": least, "median": middle, "p99": most, "p999": most, "max": most,
            "disturbed": disturbed, "longest_disturbed": 77_000_000 if disturbed else 0}  # fmt: skip


# Two CPUs; each figure differs, so that a mistaken one shows.
REPORT: dict[str, Any] = {
    "cpus": [2, 3],
    "policy": "SCHED_FIFO",
    "interruption_ns": 2000,
    "clock": {"name": "tsc"},
    "wakeup": [{"cpu": 2, **series(5_000, 6_000, 7_000)}, {"cpu": 3, **series(5_000, 6_000, 9_000)}],
    "busy": [],
    "switch": [
        {"cpu": 2, "yield": series(1, 2, 310), "dispatch": series(1, 2, 320), "resume": series(1, 2, 330)},
        {"cpu": 3, "yield": series(1, 2, 311, 5), "dispatch": series(1, 2, 390), "resume": series(1, 2, 333)},
    ],
    "memory": [
        {
            "cpu": 2,
            "loaded_by": [],
            "block_bytes": 4096,
            "access": series(1, 2, 100),
            "copy": series(1, 2, 4096),
        },
        {
            "cpu": 2,
            "loaded_by": [3],
            "block_bytes": 4096,
            "access": series(1, 2, 250),
            "copy": series(1, 2, 8192),
        },
        {
            "cpu": 3,
            "loaded_by": [],
            "block_bytes": 4096,
            "access": series(1, 2, 300),
            "copy": series(1, 2, 4000),
        },
        {
            "cpu": 3,
            "loaded_by": [2],
            "block_bytes": 4096,
            "access": series(1, 2, 200),
            "copy": series(1, 2, 4000),
        },
    ],
    "signal": [
        {"from": 2, "to": 3, "wake": series(1, 2, 630)},
        {"from": 3, "to": 2, "wake": series(1, 2, 640, 3)},
    ],
    "exchange": [
        {
            "first": 2,
            "second": 3,
            "bytes": 64,
            "there": series(10, 20, 30),
            "back": series(11, 21, 31),
            "round_trip": series(22, 42, 62),
            "inversions": 0,
        }
    ],
}


def made(**changes: Any) -> Platform:
    return platform_from_data(platform_data(REPORT | changes, ENVIRONMENT, "probed"))


def test_every_figure_is_the_longest_that_was_seen() -> None:
    platform = made()
    for group in platform.cores.values():
        assert group.context_switch is not None and group.timer_lateness is not None
        assert group.context_switch.value.picoseconds == 390
        assert group.timer_lateness.value.picoseconds == 9_000
    shm = platform.memories["shm"]
    assert shm.access_picoseconds(0) == 300
    # The slowest copy, which was of 4096 bytes in 4096 ps, and under load of 4096 bytes in 8192 ps.
    assert shm.access_picoseconds(4096) == 300 + 4096
    assert shm.access_picoseconds(4096, loaded=True) == 300 + 8192, "what was seen alone counts under load"
    exchanges = platform.exchanges
    assert set(exchanges) == {"cpu2-to-cpu3-64", "cpu3-to-cpu2-64", "cpu2-cpu3-cpu2-64", "signal"}
    assert (exchanges["signal"].memory, str(exchanges["signal"].max)) == (None, "640ps")
    assert str(exchanges["cpu3-to-cpu2-64"].max) == "31ps"
    assert exchanges["cpu2-cpu3-cpu2-64"].round_trip


def test_every_figure_says_that_it_is_measured_and_how_often() -> None:
    sources = [source for _, _, source in made().figures() if source is not None and source.kind != "assumed"]
    assert len(sources) == len([f for f in made().figures() if f[2] is None or f[2].kind != "assumed"])
    for source in sources:
        assert source.kind == "measured"
        assert "high-water mark of n = " in source.source and "A Processor, Linux 6.1.0" in source.source
    switch = next(s for s in sources if s.source.startswith("switch"))
    # 2 CPUs x 3 ways x 1000 samples, of which 5 are in no figure.
    assert "n = 5995 (5 disturbed, longest 77.0 µs)" in switch.source


def test_what_the_machine_refuses_stays_assumed() -> None:
    platform = made(switch=[{"cpu": 2, "refused": "not permitted"}], wakeup=[{"cpu": 2, "refused": "not"}])
    for group in platform.cores.values():
        for figure in (group.context_switch, group.timer_lateness):
            assert figure is not None and figure.provenance is not None
            assert figure.provenance.kind == "assumed"
    assert platform.memories["shm"].access is not None
    signal = made(signal=[{"from": 2, "to": 3, "refused": "not"}]).exchanges["signal"]
    assert [source.kind for _, _, source in figures_in(signal) if source is not None] == ["assumed"]


def test_a_series_without_a_sample_is_not_measured() -> None:
    """The longest was looked for in it: a traceback, where there were few samples on a busy machine."""
    none = {"n": 0, "disturbed": 0, "longest_disturbed": 0}
    changes = {
        "switch": [{"cpu": 2, "yield": none, "dispatch": series(1, 2, 3), "resume": none}],
        "wakeup": [{"cpu": 2, **none}],
        "signal": [{"from": 2, "to": 3, "wake": none}],
    }
    for group in made(**changes).cores.values():
        for figure in (group.context_switch, group.timer_lateness):
            assert figure is not None and figure.provenance is not None
            assert figure.provenance.kind == "assumed"
    assert refusals(REPORT | changes) == [
        "wakeup: no sample was taken; give more seconds",
        "switch: no sample of yield, resume was taken; give more seconds",
        "signal: no sample of wake was taken; give more seconds",
    ]
    assert not refusals(REPORT)


def test_machine_that_refuses_everything_is_an_error() -> None:
    refused = {part: [{"cpu": 2, "refused": "SCHED_FIFO refused"}] for part in ("switch", "wakeup")}
    with pytest.raises(EnvironmentLacks, match="SCHED_FIFO refused"):
        made(**refused, memory=[], exchange=[], signal=[])


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


def test_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file loads, passes the check, and its figures lie in the order that they must have."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs")
    file = tmp_path / "probed.yaml"
    assert run("probe", "-o", str(file), "--seconds", "0.1", "--samples", "500", "--json", "--quiet") == 0
    report = json.loads(capsys.readouterr().out)
    assert run("check", str(file)) == 0
    platform = load_platform(file)
    for exchange in report["exchange"]:
        if exchange["inversions"] == 0:
            for way in ("there", "back"):
                assert exchange[way]["min"] <= exchange["round_trip"]["min"]
                assert exchange[way]["median"] <= exchange["round_trip"]["max"]
    assert len(report["signal"]) == len(report["cpus"])
    for memory in report["memory"]:
        assert memory["access"]["min"] <= memory["access"]["max"]
        assert memory["block_bytes"] * 2 <= memory["memory_bytes"]
    shm = platform.memories["shm"]
    word, page = shm.access_picoseconds(4), shm.access_picoseconds(4096)
    loaded = shm.access_picoseconds(4096, loaded=True)
    assert word is not None and page is not None and loaded is not None
    assert 0 < word < page <= loaded
    for part in report["switch"]:
        if "refused" not in part:
            for group in platform.cores.values():
                assert group.context_switch is not None
                assert group.context_switch.value.picoseconds >= part["dispatch"]["max"]


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, word in (
        (("-o", str(tmp_path / "x.txt")), ".yaml"),
        (("-o", str(tmp_path / "absent" / "x.yaml")), "does not exist"),
        (("-o", str(tmp_path / "x.yaml"), "--cpus", "a"), "not a list of CPUs"),
        (("-o", str(tmp_path / "x.yaml"), "--cpus", "60000"), "60000"),
    ):
        assert run("probe", *arguments) == 2
        assert word in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_parts_can_be_measured_alone() -> None:
    report = measure([min(os.sched_getaffinity(0))], seconds=0.05, samples=100, parts=["wakeup"])
    assert len(report["wakeup"]) == 1 and "memory" not in report


LOCAL = """
consort: 1
name: local
platform: machine.yaml
tasks:
  slow: {period: 10ms, on: core-0, wcet: 1ms}
run: {time_base: BASE}
"""
MACHINE = """
consort: 1
name: machine
processors: {host: {isa: probed}}
cores:
  core: {processor: host, count: 1, context_switch: {value: 0ns, assumed: none}, timer_lateness: 2ms}
"""


@pytest.mark.parametrize(("base", "response"), [("sleep", 3), ("spin", 1), ("hybrid", 1)])
def test_late_timer_is_in_the_bound_of_a_core_that_sleeps(tmp_path: Path, base: str, response: int) -> None:
    from consort.analysis.system import analyze_system

    (tmp_path / "machine.yaml").write_text(MACHINE)
    file = tmp_path / "system.yaml"
    file.write_text(LOCAL.replace("BASE", base))
    (bound,) = analyze_system(load_system(file))
    assert bound.response == response * 10**9
