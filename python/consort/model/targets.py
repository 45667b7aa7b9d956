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
        examples=["linux-host"],
    )
    cores: dict[Name, Name] = Field(
        default={},
        description="For each core that the description names, the target's core; a core without an entry"
        " keeps its name. Several may come to one core.",
        examples=["{small-0: master-0, large-0: worker-0}"],
    )
    memories: dict[Name, Name] = Field(
        default={},
        description="For each memory or link that the description names, the target's; likewise.",
        examples=["{sram: shm}"],
    )
