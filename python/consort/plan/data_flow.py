# SPDX-License-Identifier: Apache-2.0
"""The channels, devices and chains of a plan as tables."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from consort.model.quantities import Duration, Size
from consort.plan.types import Plan, PlannedChannel

# Longer names break within their column.
LONGEST_WHOLE = 20


def line(head: str, text: str) -> RenderableType:
    return Text(f"{head}: {text}")


def table_of(title: str, names: Iterable[str], *heads: tuple[str, str]) -> Table:
    """A table whose first column has names: whole ones where the longest leaves room for the rest."""
    table = Table(title=title, title_justify="left", title_style="bold", pad_edge=False, box=None)
    whole = max((len(name) for name in names), default=0) <= LONGEST_WHOLE
    for number, (head, side) in enumerate(heads):
        table.add_column(head, justify=side, overflow="fold", no_wrap=whole and number == 0)  # type: ignore[arg-type]
    return table


def listing(title: str, lines: Iterable[tuple[str, str]]) -> RenderableType:
    parts = [Padding(Text(f"{name}: {text}"), (0, 0, 0, 2)) for name, text in lines]
    return Group(Text(title, style="bold"), *parts) if title else Group(*parts)


def time_text(picoseconds: int | None, without: str = "-") -> str:
    return without if picoseconds is None else Duration.spelled(picoseconds)


def about(picoseconds: int | None) -> str:
    """A computed time, to the nanosecond above."""
    return "-" if picoseconds is None else Duration.spelled(-(-picoseconds // 1000) * 1000)


def channels(plan: Plan) -> RenderableType:
    table = table_of(
        "channels",
        plan.channels,
        ("channel", "left"),
        ("held in", "left"),
        ("blocks", "right"),
        ("of", "right"),
        ("memory", "left"),
        ("from and to", "left"),
    )
    for channel in plan.channels.values():
        table.add_row(
            channel.name,
            channel.implementation + (", LET" if channel.communication == "let" else ""),
            "-" if channel.capacity is None else str(channel.capacity),
            "its type" if channel.bytes is None else Size.spelled(channel.bytes),
            channel.memory or "any",
            " → ".join(_ends(channel)),
        )
    return table


def _ends(channel: PlannedChannel) -> tuple[str, str]:
    if channel.exchange_of is not None:
        return str(channel.writer_core), str(channel.reader_cores[0])
    writer = channel.writer
    if channel.flow is not None:
        writer += f", flow {channel.flow}"
    if channel.min_interarrival_ps is not None:
        writer += f", ≥ {time_text(channel.min_interarrival_ps)} apart"
    return writer, ", ".join(channel.readers)


def devices(plan: Plan) -> RenderableType:
    table = table_of(
        "devices",
        plan.devices,
        ("device", "left"),
        ("what", "left"),
        ("read by", "left"),
        ("written by", "left"),
    )
    for device in plan.devices.values():
        parts: list[str] = [device.kind]
        if device.reference is not None:
            parts.append(str(getattr(device.reference, "file", device.reference)))
        if device.arguments:
            parts.append(", ".join(f"{key}={value}" for key, value in device.arguments.items()))
        if device.period_ps is not None:
            parts.append(f"every {time_text(device.period_ps)}")
        parts += [part for part in (device.is_a, device.rate, device.description) if part]
        table.add_row(
            device.name, "; ".join(parts), ", ".join(device.readers) or "-", ", ".join(device.writers) or "-"
        )
    return table


def chains(plan: Plan) -> RenderableType:
    table = table_of(
        "chains",
        plan.chains,
        ("chain", "left"),
        ("path", "left"),
        ("reaction", "right"),
        ("age", "right"),
        ("communication", "left"),
    )
    for chain in plan.chains.values():
        table.add_row(
            chain.name,
            " → ".join(chain.path),
            time_text(chain.reaction_ps),
            time_text(chain.age_ps),
            chain.communication,
        )
    return table
