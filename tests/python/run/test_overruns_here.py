# SPDX-License-Identifier: Apache-2.0
"""Steps that execute for longer than their WCET, on this machine: its interrupts excuse none of them.

What is asked for follows from the jobs that were served, however many those are.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pytest
from consort.record import Held
from consort.record.store import open_run
from run_support import consort

pytestmark = [pytest.mark.realtime(when="run"), pytest.mark.usefixtures("two_cpus")]

STEP = """\
#pragma once
#include <time.h>
#include <cstdint>
namespace l {
struct In { std::uint32_t x; };
struct State { std::uint32_t k; };
struct Out { std::uint32_t y; };
inline long used() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}
// Each fourth job executes for 20 ms of its own CPU time.
inline void step(const In&, State& s, Out& o) {
    const long begin = used();
    while (s.k % 4 == 3 && used() - begin < 20000000L) {}
    o.y = ++s.k;
}
inline void quick(const In&, State& s, Out& o) {
    const long begin = used();
    while (used() - begin < 300000L) {}
    o.y = ++s.k;
}
}
"""
DESCRIPTION = """\
consort: 1
assumed: a test
platform: linux-host
scheduling: {{master: {{context_switch: 0us}}, worker: {{context_switch: 0us}}}}
tasks:
  a: {{period: 40ms, deadline: {deadline}, wcet: 1ms, bcet: 1us, step: "l.hpp::l::step", {where}}}
{more}
run: {{iterations: 24, time_base: {time_base}}}
"""
REMOTE = "on: worker-0, execution: offloaded, master: master-0, on_miss: hold-last-output"
# More urgent, so that it comes into each long job.
QUICK = """\
  q: {period: 5ms, wcet: 1ms, bcet: 1us, step: "l.hpp::l::quick", on: master-0, priority: 2}
"""
CHANNELS = "channels: {a.in: {memory: shm, size: 4B}, a.out: {memory: shm, size: 4B}}"


@pytest.mark.parametrize(
    ("only", "where", "time_base", "deadline"),
    [
        ("local-off", "on: master-0", "spin", "30ms"),
        ("local-off", "on: master-0", "sleep", "30ms"),
        ("local-off", "on: master-0, priority: 1", "sleep", "35ms"),
        # Late, and given up.
        ("offloaded-off", REMOTE, "sleep", "30ms"),
        ("offloaded-off", REMOTE, "sleep", "15ms"),
    ],
)
def test_an_overrun_is_not_called_an_interrupt(
    tmp_path: Path, only: str, where: str, time_base: str, deadline: str
) -> None:
    (tmp_path / "l.hpp").write_text(STEP, encoding="utf-8")
    file = tmp_path / "system.yaml"
    remote = only == "offloaded-off"
    more = CHANNELS if remote else QUICK if "priority" in where else ""
    file.write_text(
        DESCRIPTION.format(where=where, more=more, time_base=time_base, deadline=deadline), encoding="utf-8"
    )
    ended = consort("run", file, "--only", only, "--root", tmp_path / "runs", "--json")
    assert ended.stdout, ended.stderr
    said = json.loads(ended.stdout)
    jobs = open_run(Path(said["path"])).jobs(only)
    jobs = jobs.filter(pc.equal(jobs["task"], "a"))
    columns = ("worker_receive_tick", "worker_send_tick") if remote else ("start_tick", "finish_tick")
    begin, end = (jobs[name].to_pylist() for name in columns)
    clock = open_run(Path(said["path"])).configurations[0]["clock"]
    long = 19e-3 * clock["ticks_per_second"]
    ran = [b is not None and e is not None and e - b > long for b, e in zip(begin, end, strict=True)]
    (configuration,) = said["configurations"]
    verdict = configuration["verdict"]
    assert ended.returncode == Held(said["verdict"]["ok"]).exit_status
    assert not any(ran) or verdict["ok"] != "held"
    words = "a executed for longer than its WCET"
    assert not any(ran) or any(reason.startswith(words) for reason in verdict["reasons"])
