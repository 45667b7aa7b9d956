# SPDX-License-Identifier: Apache-2.0
"""The words that a description chooses among, and names that have a meaning of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Semantics:
    """A channel's behaviour, in analysis, simulation and execution. A block can be read once it is
    written."""

    read: Literal["oldest", "newest"]
    """Which block a job gets: the oldest, which leaves the channel, or the newest. One a job; where there is
    no new one its member keeps its value."""
    full: Literal["dropped", "replaces"]
    """A block that finds no room is dropped, and counted; or it takes the place of an older one."""


# By what holds the blocks; `versions` is what holds those of logical execution time.
SEMANTICS: Mapping[str, Semantics] = {
    "mailbox": Semantics("oldest", "dropped"),
    "queue": Semantics("oldest", "dropped"),
    "snapshot": Semantics("newest", "replaces"),
    "double-buffer": Semantics("newest", "replaces"),
    "versions": Semantics("newest", "replaces"),
}
# Where the channels of offloaded tasks lie if nothing is said, on platforms that have it.
DEFAULT_MEMORY = "shm"
# In place of a step: a function that executes for the task's execution time and passes numbered blocks.
STAND_IN: Literal["stand-in"] = "stand-in"
CONFIGURATIONS: tuple[Configuration, ...] = get_args(Configuration)
