# SPDX-License-Identifier: Apache-2.0
"""The row of a three-phase job in a raw run folder, the same for every machine that runs one."""

from __future__ import annotations

import numpy as np

# Ticks; 0 where the thing did not happen: nothing is sent to another processor and received from it here.
STAMPS = ("release", "start", "sent", "received", "finish", "load", "ready", "executed", "unload")
DURATIONS = ("compute",)

# As the emulated board's kernel is recorded.
JOB = np.dtype(
    [(name, "<u8") for name in (*STAMPS[:5], *DURATIONS, *STAMPS[5:])] + [("seq", "<u4"), ("status", "<u4")]
)
