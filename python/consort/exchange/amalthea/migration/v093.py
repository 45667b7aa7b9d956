# SPDX-License-Identifier: Apache-2.0
"""0.9.2 to 0.9.3: latencies are values or deviations of values, in cycles."""

from __future__ import annotations

from consort.exchange.amalthea.migration.tree import inside, rename, retype
from consort.exchange.report import Report
from consort.exchange.xmltree import Element

LATENCIES = ("accessLatency", "readLatency", "writeLatency")


def migrate(root: Element, report: Report) -> None:
    for latency in inside(root, "hwModel"):
        if latency.name not in LATENCIES:
            continue
        if latency.type == "LatencyConstant":
            retype(latency, "DiscreteValueConstant")
            rename(latency, "cycles", "value")
        elif latency.type == "LatencyDeviation":
            rename(latency, "cycles", "deviation")
