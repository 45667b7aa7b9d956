# SPDX-License-Identifier: Apache-2.0
"""Small systems on a small board, as plain data."""

from __future__ import annotations

from typing import Any

import free
import pytest
from consort.cli import main
from consort.model import System, platform_from_data, system_from_data

BOARD: dict[str, Any] = {
    "consort": 1,
    "name": "board",
    "processors": {"m": {"isa": "armv7e-m"}, "w": {"isa": "aarch64"}},
    "cores": {
        "m": {"processor": "m", "count": 4, **free.NO_SWITCH},
        "w": {"processor": "w", "count": 4, **free.NO_SWITCH},
        "spm": {
            "processor": "m",
            "count": 4,
            **free.NO_SWITCH,
            "scratchpad": {"size": "64KiB", "partitions": 2},
        },
    },
    "memories": {
        "shm": {"kind": "sram", "access": {"base": "100ns", "per_byte": "1ns"}},
        "free": free.MEMORY,
    },
    "exchanges": free.signals("m", "w"),
    "dmas": {"edma": {"setup": "1us", "rate": "1GB/s"}},
}
PLATFORM = platform_from_data(BOARD)


def system(tasks: dict[str, dict[str, Any]], **more: Any) -> System:
    """A system whose times may be given as whole microseconds."""
    times = ("period", "min_interarrival", "deadline", "offset", "jitter", "wcet", "bcet", "self_suspension")
    written = {
        name: {
            k: f"{v}us" if k in times and isinstance(v, int) else v for k, v in ({"on": "m-0"} | task).items()
        }
        for name, task in tasks.items()
    }
    more["channels"] = free.channels(written, more.get("channels"))
    return system_from_data({"consort": 1, "platform": "board", "tasks": written, **more}, platform=PLATFORM)


def local(*rows: tuple[int, ...], policy: str = "fixed-priority", **more: Any) -> System:
    """Tasks (C, T[, D]) of one core, the most urgent first."""
    tasks = {
        f"t{i}": {
            "wcet": r[0],
            "period": r[1],
            "deadline": r[-1] if len(r) > 2 else r[1],
            "priority": len(rows) - i,
        }
        for i, r in enumerate(rows)
    }
    if policy == "edf":
        for task in tasks.values():
            del task["priority"]
    return system(tasks, scheduling={"m-0": {"policy": policy}}, **more)


OFFLOADED: dict[str, dict[str, Any]] = {
    "control": {
        "period": 100,
        "deadline": 90,
        "priority": 2,
        "wcet": {"w": {"offloaded": "30us"}, "m": {"local": "60us"}},
        "on": "w-0",
        "master": "m-0",
        "execution": "offloaded",
        "dispatch": {"send": "2us", "receive": "1us"},
    },
    "monitor": {"period": 50, "wcet": 10, "priority": 1},
}


def late(on_miss: str) -> System:
    """The worker computes for another task first: no answer by the deadline."""
    control = OFFLOADED["control"] | {"on_miss": on_miss, "period": 200}
    hog = {"period": 200, "wcet": 80, "priority": 3, "on": "w-0", "master": "m-0", "execution": "offloaded"}
    return system({"control": control, "hog": hog}, scheduling={"m-0": {"wait": "sleep"}})


CHANNELS = {"control.in": {"memory": "shm", "size": "400B"}, "control.out": {"memory": "shm", "size": "900B"}}
THREE_PHASE: dict[str, dict[str, Any]] = {
    name: {
        "period": period,
        "wcet": wcet,
        "priority": 3 - i,
        "on": core,
        "execution": "three-phase",
        "footprint": {"code": "4000B", "data": "2000B", "inputs": "1000B", "outputs": "500B"},
    }
    for i, (name, period, wcet, core) in enumerate(
        [("a", 200, 20, "spm-0"), ("b", 400, 60, "spm-0"), ("c", 300, 40, "spm-1")]
    )
}
SLOTS = {"spm": {"policy": "three-phase", "slot": "auto"}}


def consort(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """A command's exit status, and what it says."""
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err
