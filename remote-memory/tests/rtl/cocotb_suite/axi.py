# SPDX-License-Identifier: Apache-2.0
"""Bursts of any kind through the channels of cocotbext-axi, and a memory that can fail."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import cocotb
from cocotb.triggers import Event
from cocotbext.axi.axi_channels import (
    AxiARBus,
    AxiARSource,
    AxiAWBus,
    AxiAWSource,
    AxiBBus,
    AxiBSink,
    AxiRBus,
    AxiRSink,
    AxiWBus,
    AxiWSource,
)
from cocotbext.axi.sparse_memory import SparseMemory

FIXED, INCR, WRAP = 0, 1, 2
LANES = 16


@dataclass(frozen=True)
class Burst:
    """An AXI4 address."""

    addr: int
    beats: int
    size: int  # log2 of the bytes of a beat
    kind: int = INCR
    id: int = 0

    def places(self) -> list[tuple[int, int]]:
        """The first byte of each beat and the end of those it may touch: A3.4.1 of the specification."""
        step = 1 << self.size
        aligned = self.addr & -step
        span = step * self.beats
        places = []
        for i in range(self.beats):
            at = self.addr if i == 0 else aligned + i * step
            if self.kind == FIXED:
                at = self.addr
            elif self.kind == WRAP:
                at = (self.addr & -span) + (self.addr + i * step) % span
            places.append((at, (at & -step) + step))
        return places


@dataclass
class Answer:
    """Responses of the beats, and a read's bytes by their place."""

    resps: list[int] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)


@dataclass
class _Wanted:
    burst: Burst
    answer: Answer
    done: Event


class Port:
    """A master that keeps AXI4's order for each id and is held to nothing else."""

    def __init__(self, pins, clock, reset) -> None:
        options = {"clock": clock, "reset": reset, "reset_active_level": False}
        self.aw = AxiAWSource(AxiAWBus.from_entity(pins), **options)
        self.w = AxiWSource(AxiWBus.from_entity(pins), **options)
        self.b = AxiBSink(AxiBBus.from_entity(pins), **options)
        self.ar = AxiARSource(AxiARBus.from_entity(pins), **options)
        self.r = AxiRSink(AxiRBus.from_entity(pins), **options)
        self.writes: dict[int, deque[_Wanted]] = {}
        self.reads: dict[int, deque[_Wanted]] = {}
        cocotb.start_soon(self._answers())
        cocotb.start_soon(self._data())

    @property
    def channels(self) -> dict[str, object]:
        return {"AW": self.aw, "W": self.w, "B": self.b, "AR": self.ar, "R": self.r}

    @staticmethod
    def outstanding(of: dict[int, deque[_Wanted]]) -> int:
        return sum(map(len, of.values()))

    async def write(self, burst: Burst, beats: list[tuple[int, int]]) -> Answer:
        """Each beat is its data and its strobes, both over the whole bus."""
        wanted = _Wanted(burst, Answer(), Event())
        self.writes.setdefault(burst.id, deque()).append(wanted)
        self.aw.send_nowait(self._address(self.aw, "aw", burst))
        for i, (data, strobes) in enumerate(beats):
            beat = self.w._transaction_obj()
            beat.wdata, beat.wstrb, beat.wlast = data, strobes, int(i == burst.beats - 1)
            self.w.send_nowait(beat)
        await wanted.done.wait()
        return wanted.answer

    async def read(self, burst: Burst) -> Answer:
        wanted = _Wanted(burst, Answer(), Event())
        self.reads.setdefault(burst.id, deque()).append(wanted)
        self.ar.send_nowait(self._address(self.ar, "ar", burst))
        await wanted.done.wait()
        return wanted.answer

    @staticmethod
    def _address(source, prefix: str, burst: Burst):
        beat = source._transaction_obj()
        fields = {"addr": burst.addr, "id": burst.id, "len": burst.beats - 1, "size": burst.size}
        for name, value in (fields | {"burst": burst.kind, "prot": 2}).items():
            setattr(beat, prefix + name, value)
        return beat

    async def _answers(self) -> None:
        while True:
            got = await self.b.recv()
            wanted = self.writes.get(int(got.bid))
            assert wanted, f"an answer to no write of id {int(got.bid)}"
            first = wanted.popleft()
            first.answer.resps.append(int(got.bresp))
            first.done.set()

    async def _data(self) -> None:
        while True:
            got = await self.r.recv()
            wanted = self.reads.get(int(got.rid))
            assert wanted, f"data of no read of id {int(got.rid)}"
            first = wanted[0]
            first.answer.resps.append(int(got.rresp))
            first.answer.data.append(int(got.rdata).to_bytes(LANES, "little"))
            last = len(first.answer.resps) == first.burst.beats
            assert bool(int(got.rlast)) == last, "RLAST is not on the last beat"
            if last:
                wanted.popleft()
                first.done.set()


class Target:
    """The bytes behind a memory port. Places for which `bad` is true fail."""

    def __init__(self, bad) -> None:
        self.bytes = SparseMemory(1 << 40)
        self.bad = bad

    async def write(self, address: int, data: bytes) -> None:
        if self.bad(address):
            raise ValueError("bad place")
        self.bytes.write(address, data)

    async def read(self, address: int, length: int) -> bytes:
        if self.bad(address):
            raise ValueError("bad place")
        return self.bytes.read(address, length)
