# SPDX-License-Identifier: Apache-2.0
"""The settings of `consort run`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Strict

from consort.model.base import CoreName, Described
from consort.model.kinds import (
    Configuration,
    Interference,
    TimeBase,
)


class Run(Described):
    """Settings of ``consort run`` for the system."""

    iterations: Annotated[int, Field(ge=1, le=2**32 - 1)] = Field(
        default=100_000,
        description="How long each configuration releases jobs: so many periods of the first task.",
    )
    time_base: TimeBase = Field(
        default="hybrid",
        description="How a core awaits a release: spinning on the clock, sleeping on a timer, or sleeping"
        " and spinning the last stretch. One of several tasks sleeps.",
    )
    interference: Annotated[tuple[Interference, ...], Strict(False)] = Field(
        default=(), description="Loads that keep the machine busy in the configurations that end in -on."
    )
    configurations: Annotated[tuple[Configuration, ...], Strict(False)] | None = Field(
        default=None,
        description="Which to run, one after another: execution (local computes offloaded tasks on their"
        " master),"
        " then interference off or on. Without it all that the description makes possible.",
    )
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] = Field(
        default=1,
        description="The seed of all random choices: jitter, sporadic releases, stand-ins' execution times.",
    )
    cpus: dict[CoreName, Annotated[int, Field(ge=0)]] = Field(
        default={}, description="CPU numbers of the host for cores of the platform; the others are chosen."
    )
