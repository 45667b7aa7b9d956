# SPDX-License-Identifier: Apache-2.0
"""Devices of a description as the board's I/O subsystem has them, and checks of their messages in a run.

The device is the board's Ethernet controller. The other end of the line is a node on the second controller:
it sends each subscription's messages at their distance (`min_interarrival`), numbered, and holds what comes
back against what it sent. A task that answers a message sends it back as it came.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from consort.analysis.three_phase import ThreePhaseCore
from consort.base.errors import BadInput
from consort.board.devices import BoxShape, DeviceResult, DeviceSetup, Flow, Mirror, Subscribed
from consort.board.generate.kernel import Box, message_boxes, subscriptions_of
from consort.model import System


@dataclass(frozen=True)
class Messages:
    """The tables, and what each task's messages take of its partition."""

    setup: DeviceSetup
    inputs: dict[str, int]
    outputs: dict[str, int]
    # Flows of which every message has to come back, and whether none may be lost.
    answered: frozenset[int]
    kept: frozenset[int]


def plan_messages(system: System, cores: Sequence[ThreePhaseCore], duration: int) -> Messages | None:
    """None: no task has messages. `duration` in ns."""
    mirrors: list[Mirror] = []
    subscribed: list[Subscribed] = []
    flows: dict[int, Flow] = {}
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    answering: dict[int, int] = {}
    keeping: dict[int, bool] = {}
    for number, core in enumerate(cores):
        for place, planned in enumerate(core.tasks):
            name = planned.name
            taken, given = message_boxes(system, name)
            if taken is None and given is None:
                continue
            mirrors.append(
                Mirror(number, place, _shape(taken), _shape(given), taken is not None and taken.keep_all)
            )
            if taken is not None:
                inputs[name] = taken.bytes
            if given is not None:
                outputs[name] = given.bytes
            # Messages that are sent later might find no job any more that they could go to.
            last = duration - 3 * system.tasks[name].interval.nanoseconds
            for row in subscriptions_of(system, name):
                subscribed.append(Subscribed(number, place, row.flow, row.mask))
                answering[row.flow] = answering.get(row.flow, 0) + (given is not None)
                keeping[row.flow] = keeping.get(row.flow, True) and taken is not None and taken.keep_all
                flow = _flow(system, row.channel, row.flow, last)
                if flow is not None:
                    flows[row.flow] = _both(system, row.channel, flows.get(row.flow, flow), flow)
    if not mirrors:
        return None
    setup = DeviceSetup(mirrors, subscribed, list(flows.values()))
    return Messages(
        setup,
        inputs,
        outputs,
        frozenset(f for f, answers in answering.items() if answers == 1),
        frozenset(f for f, kept in keeping.items() if kept),
    )


def _shape(box: Box | None) -> BoxShape:
    return BoxShape() if box is None else BoxShape(box.capacity, box.payload)


def _flow(system: System, name: str, flow: int, last: int) -> Flow | None:
    channel = system.channel(name)
    if channel.min_interarrival is None or channel.size is None:
        return None
    period = channel.min_interarrival.nanoseconds
    return Flow(flow, channel.size.bytes, period, max(0, last // period + 1) if last >= 0 else 0)


def _both(system: System, channel: str, one: Flow, other: Flow) -> Flow:
    """One flow for two subscriptions of it."""
    if (one.bytes, one.period) != (other.bytes, other.period):
        raise BadInput(
            f"another subscription of flow {one.flow} has another size or min_interarrival",
            file=system.file,
            field=f"channels.{channel}",
        )
    return min(one, other, key=lambda flow: flow.count)


def failures(messages: Messages, result: DeviceResult) -> Iterator[str]:
    """Failures of a run's messages."""
    for flow in result.flows:
        if flow.flow in messages.answered:
            if flow.flow in messages.kept and flow.missing:
                yield f"flow {flow.flow}: {flow.missing} messages of {flow.sent} did not come back"
            if flow.repeated:
                yield f"flow {flow.flow}: {flow.repeated} messages came back twice or out of order"
        if flow.wrong:
            yield f"flow {flow.flow}: {flow.wrong} messages came back changed"
        expected = next(f.count for f in messages.setup.flows if f.flow == flow.flow)
        if flow.sent != expected:
            yield f"flow {flow.flow}: {flow.sent} messages of {expected} were sent"
    if result.lost and all(mirror.keep_all or not mirror.input.capacity for mirror in messages.setup.mirrors):
        yield f"{result.lost} messages found no room in a mirror buffer"
    for count, what in (
        (result.overwritten, "outputs were replaced before the device took them"),
        (result.unwanted, "messages were of a flow that no task subscribes to"),
        (result.refused, "frames were not messages"),
        (result.unexpected, "messages came back of a flow that was not sent"),
    ):
        if count:
            yield f"{count} {what}"


def section(result: DeviceResult) -> tuple[list[dict[str, str]], list[list[object]]]:
    """Columns and rows of a run's table of messages."""
    counted = {"provenance": "counted"}
    names = ("sent", "came back", "lost", "repeated", "changed")
    columns: list[dict[str, str]] = [{"name": "flow"}, *({"name": n, **counted} for n in names)]
    columns.append({"name": "longest way", "unit": "us", **counted})
    rows: list[list[object]] = [
        [f.flow, f.sent, f.returned, f.missing, f.repeated, f.wrong, f.longest / 1e3] for f in result.flows
    ]
    return columns, rows
