# SPDX-License-Identifier: Apache-2.0
"""The recorded results of a run on a board, the same for the executive and for the scratchpad kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Recorded:
    """Recorded results of a run. Times in nanoseconds, with `begin` at the first release of each job's
    core."""

    jobs: NDArray[Any]
    events: NDArray[Any]
    # By task: rows of the job's number and the output's members.
    outputs: dict[str, NDArray[Any]]
    lost: int
    preemptions: dict[str, int] = field(default_factory=dict)
    # Operations of channels; a kernel that records none leaves it empty.
    operations: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    # Tasks whose outputs nobody can predict, and what executions have in them beside the steps.
    unpredicted: frozenset[str] = frozenset()
    overhead_ps: Mapping[str, int] | None = None
    # Counted: an instruction takes 2 to this nanoseconds.
    shift: int = 0
    # True if every job was recorded.
    whole: bool = True
    # By core: its clock's tick at its first release.
    starts: Mapping[str, int] = field(default_factory=dict)
    # Why the run fails beside what the record shows, and tables for its report.
    findings: tuple[str, ...] = ()
    sections: tuple[Mapping[str, Any], ...] = ()
