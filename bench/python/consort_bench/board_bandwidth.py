# SPDX-License-Identifier: Apache-2.0
"""`consort bench scratchpad --board NAME`: spm-centric-os, section VII.B, on the emulated board, counted.

The paper's packets (1 KB each 100 us, four flows in turn) through the board's Ethernet controller to two
tasks on each application core, which send them back, on the kernel with its slots. The node on the other
end of the line is the second controller.
"""

from __future__ import annotations

from typing import Any

from consort.base.environment import environment
from consort.board.devices import BoxShape, DeviceSetup, Flow, Mirror, Subscribed
from consort.board.scratchpad import Given, KernelResult, KernelRun, run_kernel
from consort.board.task_image import image_of_text, kernel_row, make_image

from consort_bench.published import experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal

PACKET, FLOWS = 1024, 4
PACKET_NS, EXECUTION_NS = 100_000, 50_000
# Two tasks a core, a load and an unload of each; a core has every other slot.
SLOTS_A_JOB = 8
SLOTS_US, BATCHES = (800, 400), (1, 16)
# How long packets are offered.
MILLISECONDS = {False: 200, True: 60}


def packets_run(slot: int, batch: int, duration: int) -> KernelRun:
    """Times in ns. A batch of one has its mirrors on the chip; more of them have no room there."""
    box = BoxShape(batch, PACKET)
    text = (
        '#include "examples/automotive/relay.hpp"\n'
        'extern "C" __attribute__((section(".text.consort_entry")))\n'
        "void consort_entry(const consort::spm::Partition& parts) {\n"
        f"    consort::spm::ThreePhase<&automotive::Relay<{batch}, {PACKET}>::step>::run(parts);\n}}\n"
    )
    image = make_image(image_of_text(text), b"", bytes(8), box.bytes, box.bytes)
    period = SLOTS_A_JOB * slot
    # The last unload of a round ends with the period: an I/O core that looks a microsecond later is not late.
    deadline = period + slot
    tasks = [
        Given(
            f"relay-{flow}",
            kernel_row(flow // 2, flow % 2, period=period, deadline=deadline),
            image,
            lasting=[EXECUTION_NS],
        )
        for flow in range(FLOWS)
    ]
    last = duration - 2 * period
    devices = DeviceSetup(
        [Mirror(flow // 2, flow % 2, box, box) for flow in range(FLOWS)],
        [Subscribed(flow // 2, flow % 2, flow) for flow in range(FLOWS)],
        [
            Flow(flow, PACKET, FLOWS * PACKET_NS, last // (FLOWS * PACKET_NS), offset=flow * PACKET_NS)
            for flow in range(FLOWS)
        ],
        on_chip=batch == 1,
    )
    return KernelRun(tasks, [slot, slot], duration, devices=devices)


def row_of(slot_us: int, batch: int, duration: int, result: KernelResult, published: float) -> dict[str, Any]:
    """The bandwidth that came back in the whole run, its begin and its end included [Mb/s], and the
    failures."""
    assert result.devices is not None
    flows = result.devices.flows
    returned = sum(flow.returned for flow in flows)
    lost = {"slot_missed", "slot_overrun", "deadline_missed", "release_lost"}
    return {
        "what": "VII.B",
        "slot_us": slot_us,
        "packets_a_load": batch,
        "counted_mbps": returned * PACKET * 8e3 / duration,
        "published_mbps": published,
        "offered": sum(flow.sent for flow in flows),
        "returned": returned,
        "dropped": result.devices.lost,
        "slots_missed": sum(result.counts[kind] for kind in lost),
        "wrong": sum(flow.wrong + flow.repeated for flow in flows) + result.devices.unexpected,
        # Every packet is somewhere: sent back, dropped by the policy, or replaced on its way out.
        "unaccounted": sum(flow.missing for flow in flows) - result.devices.lost - result.devices.overwritten,
    }


def run(options: Options) -> BenchResult:
    published = read_published(experiment_folder("spm-centric-os", "scratchpad") / "published.csv")
    printed = {row.of["of"]: row.value for row in published if row.statistic == "outgoing bandwidth"}
    duration = MILLISECONDS[options.quick] * 10**6
    rows = []
    for slot_us in SLOTS_US:
        for batch in BATCHES:
            options.progress(f"packets, slots of {slot_us} us, {batch} a load", None)
            found = run_kernel(packets_run(slot_us * 1000, batch, duration))
            paper = printed[f"slot of {slot_us} us"]
            assert paper is not None, "published.csv has the figure of each slot"
            rows.append(row_of(slot_us, batch, duration, found, paper))
    return BenchResult(goals_of(rows), rows, environment(), show=lambda console: _show(console, rows))


def goals_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Single packets as many as the paper's at least, batches four times as many, at equal slots."""
    goals = []
    for name, limit, some in (
        ("io_bandwidth_over_paper", 1, [r for r in rows if r["packets_a_load"] == 1]),
        ("io_bandwidth_over_paper_batches", 4, [r for r in rows if r["packets_a_load"] > 1]),
    ):
        value = min(row["counted_mbps"] / row["published_mbps"] for row in some)
        goals.append(goal(name, value, "ratio", ">=", limit, provenance="counted"))
    for name in ("slots_missed", "wrong", "unaccounted"):
        goals.append(goal(name, sum(r[name] for r in rows), "count", "<=", 0, provenance="counted"))
    return goals


def _show(console: Any, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(title="VII.B on the emulated board, counted; published beside")
    heads = [head for head in rows[0] if head != "what"]
    for head in heads:
        table.add_column(head.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*(f"{row[h]:.3g}" if isinstance(row[h], float) else str(row[h]) for h in heads))
    console.print(table)
