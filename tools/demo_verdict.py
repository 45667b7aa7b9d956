# SPDX-License-Identifier: Apache-2.0
"""Ends the demo with status 0 if the last run failed by deadline misses alone, else with 1."""

import sys

from consort.record import load_run

run = load_run("latest")
wrong = {
    f"{counter} {configuration['counters'].get(counter, 0)} ({configuration['name']})"
    for configuration in run.data["configurations"]
    for counter in ("output_errors", "worker_deaths", "records_lost", "stopped_early")
    if configuration["counters"].get(counter, 0)
}
for line in sorted(wrong):
    print(line)
sys.exit(1 if wrong else 0)
