# SPDX-License-Identifier: Apache-2.0
"""Arrivals of blocks over the links of a simulated system.

A link serves its channels in turn, a block of each, one after the other: as the link's engine does, and as
the bound of docs/explanation/analyses.md, theorem 19, assumes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from consort.analysis.deliveries import transfers
from consort.analysis.figures import Figures, MissingFigure
from consort.base.errors import BadInput
from consort.plan import Plan
from consort.plan.over_links import link_of

Times = NDArray[np.int64]


def in_turn(written: Sequence[Times], costs: Sequence[int]) -> list[Times]:
    """Arrival times of each block of each queue: one server, which takes the queues in turn.

    `written` holds the times at which the blocks of a queue come, ascending; `costs` what a block of it
    takes.
    """
    arrived = [np.zeros(times.size, dtype=np.int64) for times in written]
    done = [0] * len(written)
    now, turn = 0, 0
    while True:
        left = [queue for queue, times in enumerate(written) if done[queue] < times.size]
        if not left:
            return arrived
        now = max(now, min(int(written[queue][done[queue]]) for queue in left))
        ready = [queue for queue in left if written[queue][done[queue]] <= now]
        queue = min(ready, key=lambda one: (one - turn) % len(written))
        now += costs[queue]
        arrived[queue][done[queue]] = now
        done[queue] += 1
        turn = (queue + 1) % len(written)


def arrivals_over_links(plan: Plan, written_by: Callable[[str], Times]) -> dict[tuple[str, str], Times]:
    """Arrival times by writer and reader, if all channels between them are on links: of the newest of each
    job's blocks that comes first. `written_by`: when a task wrote, ascending."""
    by_link: dict[str, list[str]] = {}
    for name, channel in plan.channels.items():
        if link_of(plan, channel) is not None:
            by_link.setdefault(str(channel.memory), []).append(name)
    arrived: dict[str, Times] = {}
    for link, names in by_link.items():
        try:
            costs = transfers(Figures(plan), link)
        except MissingFigure as missing:
            raise BadInput(str(missing), file=plan.file, field=missing.place) from None
        written = [np.sort(written_by(plan.channels[name].writer)) for name in names]
        found = in_turn(written, [costs[name].ps for name in names])
        arrived |= dict(zip(names, found, strict=True))
    pairs: dict[tuple[str, str], Times] = {}
    local: set[tuple[str, str]] = set()
    for name, channel in plan.channels.items():
        for pair in ((channel.writer, reader) for reader in channel.readers):
            if name not in arrived:
                local.add(pair)
            elif pair in pairs:
                pairs[pair] = np.minimum(pairs[pair], arrived[name])
            else:
                pairs[pair] = arrived[name]
    return {pair: times for pair, times in pairs.items() if pair not in local}
