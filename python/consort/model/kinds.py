# SPDX-License-Identifier: Apache-2.0
"""The words that a description chooses among, and names that have a meaning of their own."""

from __future__ import annotations

from typing import Literal, get_args

Execution = Literal["local", "offloaded", "three-phase"]
Policy = Literal["fixed-priority", "fixed-priority-non-preemptive", "edf", "three-phase"]
Arbitration = Literal["tdma", "round-robin"]
ChannelKind = Literal["periodic", "sporadic", "queue", "subscription"]
Implementation = Literal["mailbox", "double-buffer", "snapshot", "queue"]
Communication = Literal["implicit", "let"]
OnMiss = Literal["hold-last-output", "local-fallback", "stop"]
TimeBase = Literal["spin", "sleep", "hybrid"]
Wait = Literal["spin", "sleep"]
Service = Literal["priority", "fifo"]
SupplyKind = Literal["periodic-server", "tdma"]
Interference = Literal["stream", "loopback-copy", "stress-ng"]
Configuration = Literal["local-off", "local-on", "offloaded-off", "offloaded-on"]
# Where the channels of offloaded tasks lie if nothing is said, on platforms that have it.
DEFAULT_MEMORY = "shm"
# In place of a step: a function that executes for the task's execution time and passes numbered blocks.
STAND_IN: Literal["stand-in"] = "stand-in"
CONFIGURATIONS: tuple[Configuration, ...] = get_args(Configuration)
