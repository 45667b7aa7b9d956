# SPDX-License-Identifier: Apache-2.0
"""A model of DMA by descriptor rings over PCIe, as the QDMA of AMD's Embedded+ does it, and its fit.

One queue's packets pass a serial resource, the link together with the engine's work on each descriptor, and
spend fixed times beside it, which packets in flight overlap. Times in ns, rates in GB/s, which is bytes a ns.
What the fit cannot know is assumed and said; experiments/cross-isa-embedded-plus says how far it carries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Direction = Literal["x86->Versal", "Versal->x86"]
DIRECTIONS: tuple[Direction, ...] = ("x86->Versal", "Versal->x86")
# Each payload travels in packets with so many bytes around it: framing and sequence number (4), header (12
# with a completion, 16 with a write to a 64-bit address) and LCRC (4).
TLP_BYTES: dict[Direction, int] = {"x86->Versal": 20, "Versal->x86": 24}
KIB, MIB = 1 << 10, 1 << 20
# The sizes of Figure 3, as powers of two.
TRANSFERS = tuple(4 * KIB << step for step in range(15))
PACKETS = tuple(64 << step for step in range(11))


@dataclass(frozen=True)
class Qdma:
    """The parameters. `provenance` of each stands in `PROVENANCE`."""

    lanes: int = 4
    lane_gt: float = 8.0
    encoding: float = 128 / 130
    payload: int = 128
    descriptor_bytes: int = 32
    status_bytes: int = 8
    setup_ns: float = 10_000.0
    # Serial: from here on fitted.
    engine_ns: float = 0.0
    post_and_fetch_ns: float = 0.0

    @property
    def wire(self) -> float:
        """The rate of the lanes, with TLP overhead and payload together."""
        return self.lanes * self.lane_gt * self.encoding / 8

    def descriptors(self, size: int, descriptor: int) -> int:
        return -(-size // descriptor)

    def wire_ns(self, direction: Direction, size: int, descriptor: int) -> float:
        """The time that a packet holds the direction of its payload."""
        count = self.descriptors(size, descriptor)
        tlps = sum(-(-piece // self.payload) for piece in _pieces(size, descriptor, count))
        total = size + tlps * TLP_BYTES[direction]
        if direction == "x86->Versal":
            # Fetched descriptors come the same way.
            total += count * (self.descriptor_bytes + TLP_BYTES[direction])
        else:
            total += self.status_bytes + TLP_BYTES[direction]
        return total / self.wire

    def serial_ns(self, direction: Direction, size: int, descriptor: int) -> float:
        """The time that a packet holds resources that the next one needs."""
        return self.wire_ns(direction, size, descriptor) + self.engine_ns * self.descriptors(size, descriptor)

    def blocking_ns(self, direction: Direction, size: int, descriptor: int) -> float:
        """One transfer by itself, from the call to its return."""
        beside = self.setup_ns + self.post_and_fetch_ns * self.descriptors(size, descriptor)
        return beside + self.serial_ns(direction, size, descriptor)

    def throughput(
        self, direction: Direction, packet: int, outstanding: float, descriptor: int = 4 * KIB
    ) -> float:
        """GB/s with so many packets in flight: as many a round as the round allows, or the serial part's."""
        one = self.blocking_ns(direction, packet, descriptor)
        return packet * min(outstanding / one, 1 / self.serial_ns(direction, packet, descriptor))

    def improvement(self, direction: Direction, small: int = 4 * KIB, large: int = 2 * MIB) -> float:
        """The mean reduction of a transfer's time by large descriptors, in %."""
        reductions = [
            1 - self.blocking_ns(direction, size, large) / self.blocking_ns(direction, size, small)
            for size in TRANSFERS
        ]
        return 100 * sum(reductions) / len(reductions)


def _pieces(size: int, descriptor: int, count: int) -> list[int]:
    return [min(descriptor, size - index * descriptor) for index in range(count)]


# Parameter: unit, what kind of figure, and where it comes from.
PROVENANCE: dict[str, tuple[str, str, str]] = {
    "lanes": ("", "published", "Neef et al., section III: four lanes"),
    "lane_gt": ("GT/s", "published", "PCI Express base specification, Gen3"),
    "encoding": ("", "published", "PCI Express base specification, Gen3: 128b/130b"),
    "payload": ("B", "assumed", "the largest payload of a TLP: the value after reset; the paper names none"),
    "descriptor_bytes": ("B", "published", "AMD PG302, AXI memory mapped descriptor for H2C and C2H"),
    "status_bytes": ("B", "assumed", "one status word written back for each packet"),
    "setup_ns": ("ns", "assumed", "system call, doorbell, interrupt and wake-up; the paper only draws it"),
    "engine_ns": ("ns", "derived", "fitted to the plateau Versal->x86"),
    "post_and_fetch_ns": ("ns", "derived", "fitted to the improvement Versal->x86"),
}


class NoFit(ValueError):
    """An error: no value of a parameter gives the published figure."""


def fitted(plateau: float, improvement: float, start: Qdma | None = None) -> Qdma:
    """The model whose engine and descriptors give both figures in one direction, Versal->x86."""
    model, direction = start or Qdma(), DIRECTIONS[1]
    packet = PACKETS[-1]
    count = model.descriptors(packet, 4 * KIB)
    left = packet / plateau - model.wire_ns(direction, packet, 4 * KIB)
    if left < 0:
        raise NoFit(f"the link alone carries no more than {packet / (packet / plateau - left):.2f} GB/s")
    model = replace(model, engine_ns=left / count)
    low, high = 0.0, 1e6
    if replace(model, post_and_fetch_ns=high).improvement(direction) < improvement:
        raise NoFit(f"no cost of a descriptor gives {improvement} %")
    if replace(model, post_and_fetch_ns=low).improvement(direction) > improvement:
        raise NoFit(f"descriptors that cost nothing give more than {improvement} % already")
    for _ in range(60):
        middle = (low + high) / 2
        found = replace(model, post_and_fetch_ns=middle).improvement(direction)
        low, high = (middle, high) if found < improvement else (low, middle)
    return replace(model, post_and_fetch_ns=(low + high) / 2)
