# SPDX-License-Identifier: Apache-2.0
"""`consort bench remote-workloads`: ordinary programs with only part of their working set here.

experiments/remap/stream-linux says what is measured, and what is not.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from consort.errors import EnvironmentLacks
from consort.remote import pager

from consort_bench.programs import cpp_program
from consort_bench.registry import BenchResult, Options, goal

Row = dict[str, Any]

SHARES = (25, 50, 75, 100)
PATIENCE = 600.0
# A program of NumPy: passes over two arrays, in order and by a permutation of blocks.
NUMPY = """
import json, sys, time
import numpy
n = int(sys.argv[1])
a = numpy.arange(n, dtype=numpy.float64)
b = numpy.ones(n)
order = numpy.random.default_rng(1).permutation(n // 4096)
begun = time.perf_counter()
b += a
for k in order:
    b[k * 4096:(k + 1) * 4096] *= 2
total = float(b.sum())
took = time.perf_counter() - begun
right = total == 2.0 * (n * (n - 1) / 2 + n)
print(json.dumps({"set": 16 * n, "right": right, "elements": n / took}))
"""


def workloads(quick: bool) -> list[tuple[str, list[str], dict[str, str]]]:
    """Name, command, and the unit of each figure."""
    program = str(cpp_program("remote_workloads", "bench/remote"))
    scale = 8 if quick else 1
    rate = {"copy": "MB/s", "scale": "MB/s", "add": "MB/s", "triad": "MB/s"}
    return [
        ("stream", [program, "stream", str(10_000_000 // scale), "4", "2"], rate),
        (
            "random",
            [program, "random", str((128 << 20) // scale), str(200_000 // scale)],
            {"accesses": "1/s"},
        ),
        ("sort", [program, "sort", str(16_000_000 // scale)], {"numbers": "1/s"}),
        ("numpy", [sys.executable, "-c", NUMPY, str(4096 * 2048 // scale)], {"elements": "1/s"}),
    ]


@contextmanager
def server(size: int) -> Iterator[tuple[dict[str, str], Path]]:
    """A server of its own: where it is reached, by the way there, and its key."""
    with tempfile.TemporaryDirectory(prefix="consort-") as folder:
        key = Path(folder) / "key"
        key.touch(0o600)
        key.write_text(secrets.token_hex(32))
        socket = Path(folder) / "socket"
        command = pager.serve_command(size, socket, key, "127.0.0.1:0", 0, False)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                words = process.stdout.readline().split()
                if words[:1] != ["ready"]:
                    raise EnvironmentLacks("the server did not start", "run consort remote serve by hand")
                yield {"tcp": f"127.0.0.1:{words[1]}", "shared memory": str(socket)}, key
            finally:
                process.terminate()


def measured(command: list[str], variables: dict[str, str] | None) -> dict[str, Any]:
    """What one run printed."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, env=variables or dict(os.environ)
    )
    if done.returncode == 3:
        raise EnvironmentLacks(done.stderr.strip()[-300:], "docs/how-to/remote-pager.md says what is needed")
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(options: Options) -> BenchResult:
    """Each workload with all of its memory here and with parts of it, in one run."""
    rows: list[Row] = []
    right = []
    for name, command, units in workloads(options.quick):
        here = measured(command, None)
        right.append(here["right"])
        size = (here["set"] + (64 << 20)) // pager.PAGE * pager.PAGE
        # Room for two: a server sees the end of a client a moment later.
        with server(2 * size) as (places, key):
            for way, place in places.items():
                for share in SHARES:
                    cache = max(pager.LEAST_CACHE, here["set"] * share // 100 // pager.PAGE * pager.PAGE)
                    segment = pager.Attachment((place,), key, size, cache)
                    variables = pager.environment(
                        [segment],
                        threshold=1 << 20,
                        faults="in-thread",
                        prefetch=64,
                        patience_ms=60_000,
                        reconnect_ms=0,
                        report=None,
                    )
                    found = measured(command, variables)
                    right.append(found["right"])
                    rows += [
                        {
                            "workload": name,
                            "figure": figure,
                            "unit": unit,
                            "server": way,
                            "local": share,
                            "value": found[figure],
                            "all_local": here[figure],
                            "over_all_local": found[figure] / here[figure],
                            "provenance": "measured",
                        }
                        for figure, unit in units.items()
                    ]
    notes = ["swap on zram and over nbd: not measured; both would change this machine's own swap"]
    if shutil.which("redis-server") is None:
        notes.append("Redis: not measured; redis-server is not installed")
    share_right = sum(right) / len(right)
    return BenchResult([goal("results_that_are_right", share_right, "ratio", ">=", 1.0)], rows, notes=notes)
