# SPDX-License-Identifier: Apache-2.0
"""Simulates task sets with SimSo, rate monotonic on one processor, times in ns.

Reads {"sets": [[[c, t], ...], ...], "duration": ...}; prints {"seconds", "jobs", "responses"}, the last
with the largest response of each task.

Runs in an environment of its own: SimSo is a peer that is measured, not a part of Consort.
"""

import json
import sys
import time

from simso.configuration import Configuration
from simso.core import Model


def as_ms(ns):
    """SimSo multiplies back and truncates: a quarter more than the integer comes out as the integer, where
    the nearest float might come out as one less."""
    return (ns + 0.25) / 1e6


def simulate(tasks, duration_ns):
    configuration = Configuration()
    # One cycle a nanosecond, so that nothing is rounded.
    configuration.cycles_per_ms = 1_000_000
    configuration.duration = duration_ns
    for index, (c, t) in enumerate(tasks):
        configuration.add_task(
            name=f"T{index}",
            identifier=index + 1,
            period=as_ms(t),
            activation_date=0,
            wcet=as_ms(c),
            deadline=as_ms(t),
        )
    configuration.add_processor(name="CPU", identifier=1)
    configuration.scheduler_info.clas = "simso.schedulers.RM"
    configuration.check_all()
    model = Model(configuration)
    begin = time.perf_counter()
    model.run_model()
    seconds = time.perf_counter() - begin
    jobs = 0
    worst = [0] * len(tasks)
    for task, result in model.results.tasks.items():
        for job in result.jobs:
            if job.response_time is not None:
                jobs += 1
                index = task.identifier - 1
                worst[index] = max(worst[index], round(job.response_time))
    return seconds, jobs, worst


def main():
    order = json.load(sys.stdin)
    seconds, jobs, responses = 0.0, 0, []
    for tasks in order["sets"]:
        s, j, worst = simulate(tasks, order["duration"])
        seconds += s
        jobs += j
        responses.append(worst)
    json.dump({"seconds": seconds, "jobs": jobs, "responses": responses}, sys.stdout)


main()
