# SPDX-License-Identifier: Apache-2.0
"""Settings of all Python tests."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from effort import examples
from hypothesis import HealthCheck, settings

# What is right does not depend on how fast the machine is: neither an example nor its making is timed.
settings.register_profile(
    "consort", deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("consort")

# A shell starts background jobs with SIGINT ignored, `nohup` with SIGHUP, and an ignored signal stays so in
# every process that a test starts: what interrupts a run would then never reach it.
for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, default)

# Tests that start real-time processes or time something: side by side they would only wait for each other.
# tools/test.sh runs them one by one, and all others on every processor.
ALONE = ("python/bench", "python/prepare", "python/probe", "python/run")
# Of these folders, what builds and refuses more than it runs, or runs with long periods.
BESIDE = tuple(
    f"python/run/test_{name}.py"
    for name in (
        "arrivals",
        "broken_steps",
        "debug",
        "recorded_inputs",
        "run_errors",
        "run_record",
        "three_phase_runs",
        "virtual_time_runs",
        "watch",
    )
)
HERE = Path(__file__).parent


# Before pytest selects by markers.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        place = item.path.relative_to(HERE)
        if any(place.is_relative_to(folder) for folder in ALONE) and str(place) not in BESIDE:
            item.add_marker("alone")
