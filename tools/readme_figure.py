# SPDX-License-Identifier: Apache-2.0
"""Draws docs/images/servo-response.svg from a recorded run of the servo example.

Usage: .venv/bin/python tools/readme_figure.py [RUN]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from consort.record import load_run

run = load_run(sys.argv[1] if len(sys.argv) > 1 else "latest")
plt.rcParams["svg.hashsalt"] = "consort"
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
for configuration, style in zip(run.data["configurations"], ("-", "--", ":", "-."), strict=False):
    table = run.table(configuration["key"], "jobs", ["response_ns"])
    values = np.sort(table["response_ns"].drop_null().to_numpy()) / 1000
    # A curve of two thousand points shows what a hundred thousand do; the tail is kept point by point.
    share = 1 - np.arange(values.size) / values.size
    keep = np.unique(np.concatenate([np.geomspace(1, values.size, 2000).astype(int), np.arange(1, 50)]))
    picked = values.size - keep[keep <= values.size]
    axes.plot(values[picked], share[picked], style, label=configuration["name"], drawstyle="steps-pre")
axes.axvline(50, color="0.4", linewidth=0.8)
axes.annotate("deadline", (50, 1), xytext=(3, -9), textcoords="offset points", color="0.3", fontsize=8)
axes.set(
    xscale="log",
    yscale="log",
    xlabel="response time of a job [µs], measured",
    ylabel="share of jobs at or above",
)
axes.grid(alpha=0.3)
axes.legend(frameon=False, fontsize=9)
target = Path(__file__).parents[1] / "docs" / "images" / "servo-response.svg"
figure.savefig(target, metadata={"Date": None})
print(target, run.data["id"])
