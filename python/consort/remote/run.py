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


def harness(name: str) -> Path:
    """A C++ harness of rtl/sim."""
    return need_source_tree("simulating the hardware") / "rtl" / "sim" / name


def _run(program: Path, arguments: list[str], timeout: float = 3600) -> Any:
    result = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=timeout)
    if result.returncode != 0:
        raise SystemFails(f"the simulated hardware fails: {result.stderr.strip()[-2000:]}")
    return json.loads(result.stdout)
