# SPDX-License-Identifier: Apache-2.0
"""The ordinary programs of `consort bench remote-workloads`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

from consort.base.packages import PAGE
from consort_bench.programs import cpp_program

# Passes over two arrays, in order and by a permutation of blocks.
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
# With what Redis has around it just below two pages: the preloaded library takes whole pages.
VALUE = 8000


@dataclass(frozen=True)
class Workload:
    """A program that prints its working set, whether its result is right, and figures."""

    name: str
    # Its command, given the path of a socket that it may make.
    command: Callable[[str], list[str]]
    units: dict[str, str]
    # Where in the command the process environment of its memory belongs: before a server that it starts.
    at: int = 0
    threshold: int = 1 << 20
    # `in-thread` is the fastest, and for programs whose memory no system call touches.
    faults: str = "in-thread"
    # The room in its segment beside the set: blocks as large that it does not count, mostly untouched.
    room: int = 64 << 20

    def segment_bytes(self, set_bytes: int) -> int:
        return (set_bytes + self.room) // PAGE * PAGE


def _fixed(*command: str) -> Callable[[str], list[str]]:
    return lambda _: list(command)


def programs(scale: int) -> list[Workload]:
    """Each with its working set divided by `scale`."""
    program = str(cpp_program("remote_workloads", "remote-memory/bench/programs"))
    rates = dict.fromkeys(("copy", "scale", "add", "triad"), "MB/s")
    made = [
        Workload("stream", _fixed(program, "stream", str(10_000_000 // scale), "4", "2"), rates),
        Workload(
            "random",
            _fixed(program, "random", str((128 << 20) // scale), str(200_000 // scale)),
            {"accesses": "1/s", "access_p50": "us", "access_p99": "us"},
        ),
        Workload("sort", _fixed(program, "sort", str(16_000_000 // scale)), {"numbers": "1/s"}),
        Workload(
            "numpy",
            _fixed(sys.executable, "-c", NUMPY, str(4096 * 2048 // scale)),
            {"elements": "1/s"},
            room=320 << 20,  # its linear algebra takes buffers for each processor
        ),
    ]
    redis = shutil.which("redis-server")
    if redis is not None:
        made.append(_redis(redis, scale))
    return made


def _redis(redis: str, scale: int) -> Workload:
    client = str(cpp_program("remote_redis", "remote-memory/bench/programs"))
    quiet = ["--port", "0", "--save", "", "--appendonly", "no"]

    def command(socket: str) -> list[str]:
        counts = [str(16_384 // scale), str(VALUE), str(40_000 // scale)]
        return [client, socket, *counts, redis, "--unixsocket", socket, *quiet]

    return Workload(
        "redis",
        command,
        {"gets": "1/s", "get_p50": "us", "get_p99": "us"},
        at=5,
        threshold=4096,
        faults="handler",
    )


def with_memory(command: list[str], at: int, variables: dict[str, str]) -> list[str]:
    """The command, in which what comes from place `at` on gets the process environment of its memory."""
    own = [f"{k}={v}" for k, v in variables.items() if k == "LD_PRELOAD" or k.startswith("CONSORT_REMOTE_")]
    return [*command[:at], "/usr/bin/env", *own, *command[at:]]
