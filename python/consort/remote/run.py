# SPDX-License-Identifier: Apache-2.0
"""Runs the simulations of rtl/ and hands back what they counted."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.errors import SystemFails
from consort.remote.build import simulation
from consort.source import need_source_tree


@dataclass(frozen=True)
class Beats:
    """Beats of one write and one read of a burst length, both directions together."""

    packetization: str
    burst: int
    write_beats: int
    read_beats: int


def paper_beats() -> list[Beats]:
    """One write and one read of each burst length 1 to 256 in the packetizations of the paper."""
    return [Beats(**row) for row in _run(simulation("paper_pair", harness("paper.cpp")), [])]


@dataclass(frozen=True)
class Soak:
    """Random traffic over a link with errors: chances are for a bit and for a beat."""

    beats: int
    bit_error_rate: float = 0
    drop: float = 0
    repeat: float = 0
    # Bits beside the first that an error may flip.
    span: int = 0
    # Of the cycles in which a channel could do something.
    pause_percent: int = 0
    seed: int = 1
    # So many ports, links and memories each.
    shape: int = 1


def soak(load: Soak) -> dict[str, Any]:
    """Runs it; SystemFails where a read differs, a write is lost or repeated, or something is stuck."""
    words = [
        load.beats,
        load.bit_error_rate,
        load.drop,
        load.repeat,
        load.span,
        load.pause_percent,
        load.seed,
    ]
    result: dict[str, Any] = _run(_pair(load.shape), ["soak", *map(str, words)])
    return result


def faults(shape: int = 1) -> dict[str, Any]:
    """What accesses that cannot be answered end with, and after how many cycles."""
    result: dict[str, Any] = _run(_pair(shape), ["faults"])
    return result


def compact_beats() -> list[dict[str, Any]]:
    """Beats and cycles of the compact packetization on a link without errors."""
    result: list[dict[str, Any]] = _run(_pair(), ["beats"])
    return result


def _pair(shape: int = 1) -> Path:
    if shape == 1:
        return simulation("remote_pair", harness("remote.cpp"))
    names = ("Ports", "Links", "Memories")
    defines = " ".join(f"-D{name.upper()}={shape}" for name in names)
    parameters: dict[str, int | str] = dict.fromkeys(names, shape)
    return simulation("remote_pair", harness("remote.cpp"), parameters, ("-CFLAGS", defines))


def harness(name: str) -> Path:
    """A C++ harness of rtl/sim."""
    return need_source_tree("simulating the hardware") / "rtl" / "sim" / name


def _run(program: Path, arguments: list[str], timeout: float = 3600) -> Any:
    result = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=timeout)
    if result.returncode != 0:
        raise SystemFails(f"the simulated hardware fails: {result.stderr.strip()[-2000:]}")
    return json.loads(result.stdout)
