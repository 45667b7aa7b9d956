# SPDX-License-Identifier: Apache-2.0
"""The plan image of a scratchpad kernel: its cores' slots, and tasks core by core in priority order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from consort import _engine
from consort.plan.image import Encoder, names_of
from consort.run.plan_image import plain_row

Row = Mapping[str, Any]


@lru_cache(maxsize=1)
def _encoder() -> Encoder:
    return Encoder(_engine.plan_layouts())


def layout() -> int:
    """The fingerprint of the tables that these images are made for."""
    return int(_engine.plan_layouts()["layout"])


def kernel_row(core: int, rank: int, **given: Any) -> dict[str, Any]:
    """The row of a three-phase task, by the names of its members; times are ticks of the kernel's clock."""
    return plain_row(_encoder().none) | {"core": core, "rank": rank, "threshold": rank} | given


def kernel_image(
    names: Sequence[str], rows: Sequence[Row], slots: Sequence[int], arbitration: str, hertz: int
) -> bytes:
    """The image of these tasks, and of cores with slots of these lengths."""
    core = {"context_switch": 0, "dma": 0, "policy": "three-phase", "wait": "spin", "service": "priority"}
    head = {
        "ticks_per_second": hertz,
        "run.duration": 0,
        "run.seed": 0,
        "run.execution": "worst",
        "run.arrival": "worst",
        "modes": 1,
        "first": 0,
        "cores": len(slots),
        "tasks": len(rows),
        "agreement": 0,
        "detection": 0,
    }
    tables: dict[str, Sequence[Any]] = {
        "cores": [{**core, "slot": slot} for slot in slots],
        "tasks": rows,
        "dmas": [{"arbitration": arbitration}],
        **dict.fromkeys(("ends", "channels", "devices", "requests", "fail_overs", "times"), ()),
        "names": names_of(names, ()),
    }
    return _encoder().image(head, tables)
