# SPDX-License-Identifier: Apache-2.0
"""Configurations of the engines of a run's links (ports/linux/.../executive/link_config.hpp)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from consort.analysis.deliveries import transfers
from consort.analysis.figures import Figures, MissingFigure
from consort.base.errors import BadInput
from consort.base.problems import nearest
from consort.plan import Plan
from consort.plan.over_links import links_of, on_link

# A transaction is ended as timed out after so many times what the platform says of the link's largest block.
TIMES_ITS_BLOCK = 100
LEAST_LIMIT_NS = 10_000_000
# An engine without a sign of life for so much longer is ended. It sleeps for 10 ms at most.
LEAST_SILENCE_NS = 200_000_000

LinkFaultKind = Literal["kill", "stop", "fail", "hang"]
LINK_FAULTS: dict[LinkFaultKind, str] = {
    "kill": "the engine's process is killed",
    "stop": "it gives no sign of life",
    "fail": "its next transaction ends with an error",
    "hang": "its next transaction does not end",
}


@dataclass(frozen=True)
class LinkFault:
    """A fault of a link's engine that the user asks for."""

    link: str
    kind: LinkFaultKind
    at_ns: int


def link_configs(
    plan: Plan, cpus: Mapping[str, int], channels: Sequence[str], scale: int
) -> list[dict[str, Any]]:
    """The engines of a plan. `cpus`: of those that have one of their own; `channels`: the run's, in order."""
    return [_one(plan, link, cpus, channels, scale) for link in links_of(plan)]


def _one(
    plan: Plan, link: str, cpus: Mapping[str, int], channels: Sequence[str], scale: int
) -> dict[str, Any]:
    try:
        costs = {name: cost.ps for name, cost in transfers(Figures(plan), link).items()}
    except MissingFigure as missing:
        if plan.target == "virtual":
            raise BadInput(str(missing), file=plan.file, field=missing.place) from None
        costs = {}  # the engine takes what it takes; the bounds say what is missing
    longest_ns = max(costs.values(), default=0) * scale // 1000
    limit = max(LEAST_LIMIT_NS, TIMES_ITS_BLOCK * longest_ns)
    return {
        "name": link,
        "cpu": cpus.get(link, -1),
        "limit_ns": limit,
        "silence_ns": LEAST_SILENCE_NS + 2 * limit,
        "carries": [
            {"channel": channels.index(channel.name), "transfer": costs.get(channel.name, 0) * scale}
            for channel in on_link(plan, link)
            if channel.name in channels
        ],
    }


def parse_link_fault(text: str, nanoseconds: int | None) -> LinkFault:
    """`LINK:KIND` of `--link-fault LINK:KIND@TIME`, whose time is known."""
    link, _, kind = text.rpartition(":")
    if nanoseconds is None or not link or kind not in LINK_FAULTS:
        raise BadInput(
            f"{text!r} names no link and fault; write link-0:kill@1s, where the fault is one of"
            f" {', '.join(LINK_FAULTS)}",
            field="--link-fault",
        )
    return LinkFault(link, kind, nanoseconds)


def check_link_faults(plan: Plan, faults: Sequence[LinkFault]) -> None:
    """`BadInput` for a fault of a link that carries nothing in this run."""
    known = links_of(plan)
    for fault in faults:
        if fault.link not in known:
            raise BadInput(
                f"no channel is on {fault.link!r}"
                + (f"; {nearest(fault.link, known, 'links that carry channels')}" if known else ""),
                file=plan.file,
                field="--link-fault",
            )
        if plan.target != "linux":
            raise BadInput(
                "the engine is a process on this machine's own clock only; leave it out",
                file=plan.file,
                field="--link-fault",
            )


def fault_configs(plan: Plan, faults: Sequence[LinkFault]) -> list[dict[str, Any]]:
    """Faults as the executive reads them."""
    names = links_of(plan)
    return [{"kind": f"{one.kind}-link", "at_ns": one.at_ns, "link": names.index(one.link)} for one in faults]
