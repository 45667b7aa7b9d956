# SPDX-License-Identifier: Apache-2.0
"""The deaths of cores that others went on for, as a recording has them."""

from __future__ import annotations

from dataclasses import dataclass

from consort.record.columns import EVENTS_TABLE
from consort.record.raw import RawRun
from consort.record.status import EVENTS

_DIED = EVENTS.index("core-died")


@dataclass(frozen=True)
class Death:
    """A core that died; ticks."""

    core: int
    sign: int
    """Its last sign of life."""
    noticed: int
    """When it was known to be dead, and did nothing any more."""


def deaths_of(raw: RawRun) -> list[Death]:
    """Deaths in order; none if no core died, or no other core went on for it."""
    events = raw.tables.get(EVENTS_TABLE)
    if events is None:
        return []
    rows = events.rows[events.rows["kind"] == _DIED]
    found = [Death(int(r["core"]), int(r["time"]) - int(r["value"]), int(r["time"])) for r in rows]
    return sorted(found, key=lambda death: death.noticed)
