# SPDX-License-Identifier: Apache-2.0
"""The layout of the engine's rows (engine/sim/record.hpp). Times in ticks; -1 for events that did not
happen."""

from __future__ import annotations

from typing import Any

import numpy as np

ABSENT = -1
TIMES = (
    "release",
    "ready",
    "start",
    "finish",
    "deadline",
    "sent",
    "worker_receive",
    "worker_send",
    "received",
)
JOBS: np.dtype[Any] = np.dtype(
    [(name, "<i8") for name in (*TIMES, "compute")]
    + [(name, "<u4") for name in ("seq", "status", "task", "preemptions")]
)
SLICES: np.dtype[Any] = np.dtype(
    {
        "names": ["begin", "end", "task", "seq", "core", "doing"],
        "formats": ["<i8", "<i8", "<u4", "<u4", "<u2", "u1"],
        "offsets": [0, 8, 16, 20, 24, 26],
        "itemsize": 32,
    }
)
