# SPDX-License-Identifier: Apache-2.0
"""Targets of a description: other platforms, and what stands there for its cores and memories."""

from __future__ import annotations

from pydantic import Field

from consort.model.base import Described, Name, NonEmpty


class Target(Described):
    """A platform that the system can be laid on."""

    platform: NonEmpty | None = Field(
        default=None,
        description="As the description's own platform; without it the one of the target's name.",
        examples=["versal"],
    )
    cores: dict[Name, Name] = Field(
        default={},
        description="For each core that the description names, the target's core; a core without an entry"
        " keeps its name. Several may come to one core.",
        examples=["{master-0: r5f-0, worker-0: a72-0}"],
    )
    memories: dict[Name, Name] = Field(
        default={},
        description="For each memory or link that the description names, the target's; likewise.",
        examples=["{shm: ddr}"],
    )
