# SPDX-License-Identifier: Apache-2.0
"""Every run ends by itself with a complete record, whatever else the machine does: nothing waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from consort.model import load_system
from consort.record import RawRun
from consort.run import Options, prepare
from effort import THOROUGH, beside_others, own_time
from run_support import both, describe, silent

pytestmark = [pytest.mark.realtime(when="run"), pytest.mark.usefixtures("two_cpus")]

RUNS = 1000 if THOROUGH else 3
ITERATIONS = 6


@contextmanager
def load() -> Iterator[None]:
    """Twice as many busy loops as there are processors."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(2 * len(os.sched_getaffinity(0)))
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.representative
@pytest.mark.parametrize("time_base", ["spin", "sleep"])
def test_every_run_has_a_complete_record(tmp_path: Path, time_base: str) -> None:
    """A master that spins and a worker that waits for it end, and what they wrote last is in the record."""
    path = describe(tmp_path / "digest", both(), iterations=ITERATIONS, time_base=time_base)
    system = load_system(path)
    with beside_others():
        prepared = prepare(system, silent, Options())
    (key,) = [key for key in system.configurations() if key.startswith("offloaded")]
    with own_time(), load():
        for number in range(RUNS):
            # A run that its time bound ended, and one without a record, raises what it said.
            for recording in prepared.recordings(key, Options(), silent):
                raw = RawRun.load(recording.raw)
                assert raw.manifest.counters["records_lost"] == 0, number
                jobs = raw.tables["jobs"].rows
                assert raw.ran is not None
                digest = jobs["seq"][jobs["task"] == raw.ran.task_names.index("digest")]
                assert sorted(digest.tolist()) == list(range(ITERATIONS)), number
