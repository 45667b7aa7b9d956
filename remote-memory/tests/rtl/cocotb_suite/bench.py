# SPDX-License-Identifier: Apache-2.0
"""The pair of blocks with all that is around it, driven by cocotb."""

from __future__ import annotations

import itertools
import logging
import random

import cocotb
from axi import FIXED, INCR, LANES, WRAP, Burst, Port, Target
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlave
from coverage import BURSTS, FRAME_COUNTERS, KINDS, LENGTHS, SIZES, Coverage, length_class
from world import BLOCK, CLOSED, PAGE, PAGES, Access, Mapping, Segment, Window, bad_place

PORTS = LINKS = MEMORIES = 2
DOWN_AFTER, ACK_TIMEOUT = 1500, 400
LEVELS = {"none": 0.0, "half": 0.5, "most": 0.85}
# Chances for a beat, of 2^32; bits beside the first; beats a cycle, of 65536 (0 is one each cycle).
PHY = {
    "clean": {},
    "flips": {"flip_chance": 20_000_000},
    "bursts of flips": {"flip_chance": 10_000_000, "flip_span": 40},
    "drops": {"drop_chance": 10_000_000},
    "repeats": {"repeat_chance": 10_000_000},
    "slow": {"rate": 31_775},
    "all of them": {
        "flip_chance": 5_000_000,
        "flip_span": 20,
        "drop_chance": 5_000_000,
        "repeat_chance": 5_000_000,
        "rate": 50_000,
    },
}
STUCK = 80_000  # cycles after which an access is called stuck


class Bench:
    """The blocks, their surroundings and what must be."""

    def __init__(self, dut, coverage: Coverage, seed: int) -> None:
        self.dut = dut
        self.coverage = coverage
        self.random = random.Random(seed)
        self.windows = [self._window(p, w) for p in range(PORTS) for w in range(4)]
        self.by_base = {s.base >> 20: s for w in self.windows for s in w.segments}
        self.may_fail = [False] * LINKS
        # The next events, each as often as any other.
        self.link_events = self._deck(3)
        self.window_events = self._deck(6)
        self.running = 0
        logging.getLogger("cocotb.axi").setLevel(logging.ERROR)  # bad places are meant to fail
        self.monitored: dict[str, int] = {}

    @staticmethod
    def _window(port: int, number: int) -> Window:
        link, memory = number % LINKS, (port + number // LINKS) % MEMORIES
        first = (port * 2 + number // LINKS) * 2
        segments = [Segment(memory, (1 + (port * 4 + number) * 2 + a) << 20) for a in range(2)]
        return Window(port, number, link, memory, first, PAGES + (number == 3), segments)

    async def start(self, raw_ports: bool = True) -> None:
        """Reset, then all links up and all windows attached."""
        dut = self.dut
        for name in ("rate", "latency", "flip_chance", "flip_span", "drop_chance", "repeat_chance", "cut"):
            getattr(dut, name).value = 0
        dut.rst_n.value = 0
        cocotb.start_soon(Clock(dut.clk, 2, unit="step").start())
        await ClockCycles(dut.clk, 4)
        reset = {"reset": dut.rst_n, "reset_active_level": False}
        self.lite = {
            end: AxiLiteMaster(AxiLiteBus.from_prefix(dut, end), dut.clk, **reset) for end in ("c", "m")
        }
        self.ports = (
            [Port(dut[f"gen_port[{p}]"].axi, dut.clk, dut.rst_n) for p in range(PORTS)] if raw_ports else []
        )
        self.targets = [Target(self._is_bad) for _ in range(MEMORIES)]
        self.slaves = [
            AxiSlave(
                AxiBus.from_entity(dut[f"gen_memory[{m}]"].axi), dut.clk, target=self.targets[m], **reset
            )
            for m in range(MEMORIES)
        ]
        await ClockCycles(dut.clk, 4)
        dut.rst_n.value = 1
        await ClockCycles(dut.clk, 4)
        dut.latency.value = self.random.choice((0, 3, 20))
        for end in ("c", "m"):
            await self.set(end, 0x010, ACK_TIMEOUT)
            await self.set(end, 0x014, DOWN_AFTER)
            await self.set(end, 0x008, (1 << LINKS) - 1)
        await self.up()
        for window in self.windows:
            await self.attach(window, Mapping(0, True, True))

    @staticmethod
    def _is_bad(address: int) -> bool:
        return bad_place(address & 0xF_FFFF)

    # ---- Registers ----

    async def set(self, end: str, address: int, value: int) -> None:
        got = await self.lite[end].write(address, value.to_bytes(4, "little"))
        assert got.resp == 0, f"register {address:#x} of the {end}Block refuses"

    async def get(self, end: str, address: int) -> int:
        got = await self.lite[end].read(address, 4)
        assert got.resp == 0, f"register {address:#x} of the {end}Block refuses"
        return int.from_bytes(got.data, "little")

    async def up(self, links: int = (1 << LINKS) - 1) -> None:
        for _ in range(4000):
            if await self.get("c", 0x00C) & links == links:
                return
        raise AssertionError("a link does not come up")

    async def down(self, link: int) -> None:
        for _ in range(4000):
            if not await self.get("c", 0x00C) >> link & 1:
                return
        raise AssertionError("a link does not go down")

    # ---- Windows ----

    def _control(self, window: Window, mapping: Mapping) -> int:
        a = mapping.segment
        handle = window.generation[a] << 4 | window.first_index + a
        return handle << 5 | window.link << 3 | mapping.writable << 2 | mapping.readable << 1 | 1

    async def window_becomes(self, window: Window, mapping: Mapping) -> None:
        """One register decides: before its write is answered it may be either."""
        at = 0x400 + window.port * 0x200 + window.number * 0x20
        window.changes_to(mapping)
        await self.set("c", at + 8, 0 if mapping == CLOSED else self._control(window, mapping))
        window.is_now(mapping)

    async def segment_becomes(self, window: Window, a: int, valid: bool) -> None:
        at = 0x400 + window.link * 0x100 + (window.first_index + a) * 0x10
        await self.set("m", at + 8, window.generation[a] << 5 | window.memory << 3 | 6 | valid)

    async def attach(self, window: Window, mapping: Mapping) -> None:
        """The segment first, then the window."""
        segment = window.segments[mapping.segment]
        at = 0x400 + window.link * 0x100 + (window.first_index + mapping.segment) * 0x10
        await self.set("m", at, segment.base >> 12)
        await self.set("m", at + 4, PAGES - 1)
        await self.segment_becomes(window, mapping.segment, True)
        at = 0x400 + window.port * 0x200 + window.number * 0x20
        await self.set("c", at, window.address >> 12)
        await self.set("c", at + 4, (window.address >> 12) + window.pages - 1)
        await self.window_becomes(window, mapping)

    def event(self, name: str) -> None:
        self.coverage.hit("reconfiguration", name + (" under traffic" if self.running else ""))

    async def change_window(self, window: Window) -> None:
        """Something a driver may do, at a bad moment."""
        now = window.mapping
        if now == CLOSED:
            self.event("attach")
            await self.attach(window, Mapping(self.random.randrange(2), True, True))
            return
        if now.stale:
            self.event("detach")
            await self.window_becomes(window, CLOSED)
            return
        what = next(self.window_events)
        a = now.segment
        if what == 0:
            self.event("detach")
            await self.window_becomes(window, CLOSED)
        elif what == 1:
            self.event("move to another segment")
            await self.attach(window, Mapping(1 - a, True, True))
        elif what == 2:
            self.event("rights taken")
            await self.window_becomes(window, Mapping(a, now.readable and self.random.random() < 0.5, False))
        elif what == 3:
            self.event("rights given")
            await self.window_becomes(window, Mapping(a, True, True))
        else:
            # The mBlock's side goes first: requests that are on their way are too late.
            stale = Mapping(a, now.readable, now.writable, stale=True)
            window.changes_to(stale)
            if what == 4:
                self.event("segment closed behind the window")
                await self.segment_becomes(window, a, False)
            else:
                self.event("segment given another generation")
                window.generation[a] = (window.generation[a] + 1) % 16
                await self.segment_becomes(window, a, True)
            window.is_now(stale)

    async def change_link(self, link: int) -> None:
        """A cut, or one end switched off; then all of it up again."""
        self.may_fail[link] = True
        for window in self.windows:
            if window.link == link:
                for access in window.under_way:
                    access.link_may_fail = True
        what = next(self.link_events)
        all_on = (1 << LINKS) - 1
        if what == 0:
            self.event("link cut")
            self.dut.cut.value = 1 << link
            await self.down(link)
            await ClockCycles(self.dut.clk, self.random.randrange(400))
            self.event("link restored")
            self.dut.cut.value = 0
        else:
            end = "cm"[what - 1]
            self.event(f"link switched off at the {end}block")
            await self.set(end, 0x008, all_on & ~(1 << link))
            await self.down(link)
            await ClockCycles(self.dut.clk, self.random.randrange(400))
            self.event("link switched on")
            await self.set(end, 0x008, all_on)
        await self.up()
        self.may_fail[link] = False

    # ---- Traffic ----

    def set_phy(self, name: str) -> None:
        self.coverage.hit("PHY", name)
        for signal in ("rate", "flip_chance", "flip_span", "drop_chance", "repeat_chance"):
            getattr(self.dut, signal).value = PHY[name].get(signal, 0)

    def set_pauses(self, level: str | None = None) -> None:
        """Each channel of each side pauses as it likes, or all alike."""
        for port in self.ports:
            self._pause("port", port.channels, level)
        for slave in self.slaves:
            write, read = slave.write_if, slave.read_if
            channels = {"AW": write.aw_channel, "W": write.w_channel, "B": write.b_channel}
            self._pause("memory", channels | {"AR": read.ar_channel, "R": read.r_channel}, level)

    def _pause(self, side: str, channels: dict[str, object], level: str | None) -> None:
        for name, channel in channels.items():
            chosen = level or self.random.choice(list(LEVELS))
            self.coverage.hit("back-pressure", f"{side} {name} {chosen}")
            channel.clear_pause_generator()
            channel.pause = False
            if LEVELS[chosen]:
                channel.set_pause_generator(self._pauses(LEVELS[chosen]))

    def _pauses(self, share: float):
        while True:
            yield self.random.random() < share

    def _deck(self, count: int):
        numbers = list(range(count))
        while True:
            self.random.shuffle(numbers)
            yield from numbers

    def shapes(self):
        """Kind, burst, size and length, each as often as any other."""
        deck = [
            (kind, burst, size, length)
            for kind, burst, size, length in itertools.product(KINDS, range(3), range(5), LENGTHS)
            if not (burst != INCR and length == "long") and not (burst == WRAP and length == "single")
        ]
        while True:
            self.random.shuffle(deck)
            yield from deck

    def choose(self, port: int, shape: tuple[str, int, int, str]) -> Access | None:
        """A burst of this shape somewhere, or None where something stands in its way."""
        draw = self.random
        kind, burst, size, length = shape
        step = 1 << size
        if burst == WRAP:
            beats = draw.choice((2, 4, 8, 16))
        elif length == "single":
            beats = 1
        elif length == "short":
            beats = draw.randint(2, 16)
        else:
            beats = draw.choice((17, 31, 32, 33, 48, 64, 100, 256))
        window = self.windows[port * 4 + draw.randrange(4)]
        page = draw.randrange(window.pages) * PAGE
        span = min(step * beats, PAGE) if burst == INCR else step
        room = PAGE - span
        offset = draw.choice((0, room, max(room - step, 0), draw.randint(0, room), draw.randint(0, room)))
        if burst == WRAP or draw.random() < 0.6:
            offset &= -step
        if burst == INCR:
            beats = min(beats, (PAGE - (offset & -step)) // step)
        address = window.address + page + offset
        if draw.random() < 0.06:
            address = window.address + window.pages * PAGE + offset  # outside of everything
        id_ = draw.choice((0, 1, 2, draw.randrange(1 << 16)))
        made = Burst(address, beats, size, burst, id_)
        access = Access(window, made, self._beats(made) if kind == "write" else None)
        if address >= window.address + window.pages * PAGE:
            access.may_be = {CLOSED}
        if not access.free():
            return None
        # From now on it sees what changes, even if it is sent a little later.
        access.begin()
        access.link_may_fail |= self.may_fail[window.link]
        return access

    def _beats(self, burst: Burst) -> list[tuple[int, int]]:
        which = self.random.choice(("all", "all", "some", "none" if self.random.random() < 0.3 else "some"))
        beats = []
        for at, end in burst.places():
            strobes = ((1 << end - at) - 1) << at % LANES
            if which == "some":
                strobes &= self.random.getrandbits(16)
            beats.append((self.random.getrandbits(128), 0 if which == "none" else strobes))
        return beats

    async def access(self, access: Access) -> None:
        """Carries it out, checks the answer and counts what it covered."""
        port = self.ports[access.window.port]
        self._cover_before(access, port)
        self.running += 1
        way = port.read(access.burst) if access.beats is None else port.write(access.burst, access.beats)
        answer = await with_timeout(way, 2 * STUCK, "step")
        self.running -= 1
        access.end()
        kind = "read" if access.beats is None else "write"
        bin_ = access.check_read(answer) if access.beats is None else access.check_write(answer)
        self.coverage.hit("answer", f"{kind} {bin_}")
        if access.beats is None:
            good = sum(resp == 0 for resp in answer.resps)
            share = "all good" if good == len(answer.resps) else "both" if good else "all bad"
            self.coverage.hit("beats of one read", share)

    def _cover_before(self, access: Access, port: Port) -> None:
        hit, burst = self.coverage.hit, access.burst
        kind = "read" if access.beats is None else "write"
        of = port.reads if access.beats is None else port.writes
        name, step = BURSTS[burst.kind], 1 << burst.size
        hit(
            "kind x burst x size x length", f"{kind} {name} {SIZES[burst.size]} B {length_class(burst.beats)}"
        )
        hit("start", f"{kind} {name} {'inside' if burst.addr % step else 'at'} a beat")
        if burst.kind == INCR:
            begins = burst.addr % PAGE == 0
            end = (burst.addr & -step) % PAGE + step * burst.beats
            if begins and end == PAGE:
                hit("4 KiB", f"{kind} fills a page")
            elif begins or end == PAGE:
                hit("4 KiB", f"{kind} {'begins' if begins else 'ends'} a page")
            else:
                hit("4 KiB", f"{kind} {'one beat short of the end' if end + step == PAGE else 'within'}")
        outstanding = port.outstanding(of)
        used = "the same outstanding" if of.get(burst.id) else "others" if outstanding else "none outstanding"
        hit("ids", f"{kind} {used}")
        n = outstanding + 1
        hit(
            "outstanding",
            f"{kind} {'1' if n == 1 else '2 to 7' if n < 8 else '8 to 31' if n < 32 else '32 or more'}",
        )
        if access.beats is not None:
            full = [((1 << end - at) - 1) << at % LANES for at, end in burst.places()]
            given = [strobes for _, strobes in access.beats]
            hit("strobes", f"{name} {'all' if given == full else 'some' if any(given) else 'none'}")

    async def traffic(self, port: int, count: int, most: int, shapes, gap: int = 6) -> None:
        """So many accesses of a port, at most so many at once."""
        tasks = []
        made = 0
        while made < count:
            await ClockCycles(self.dut.clk, self.random.randint(1, gap))
            tasks = [task for task in tasks if not task.done() or task.result()]
            if len(tasks) >= most:
                continue
            access = self.choose(port, next(shapes))
            if access is not None:
                made += 1
                tasks.append(cocotb.start_soon(self.access(access)))
        for task in tasks:
            await task

    async def burst_of_small(self, port: int, kind: str, count: int) -> None:
        """Many single accesses at once, each of a block of its own."""
        tasks = []
        for _ in range(count):
            for _ in range(100):
                access = self.choose(port, (kind, self.random.choice((FIXED, INCR)), 4, "single"))
                if access is not None:
                    tasks.append(cocotb.start_soon(self.access(access)))
                    await RisingEdge(self.dut.clk)
                    break
        for task in tasks:
            await task

    # ---- In the end ----

    def check_memories(self) -> int:
        """Every byte is what it must be, and nothing else was written. How many bytes were not sure."""
        for number, target in enumerate(self.targets):
            for base in target.bytes.segs:
                segment = self.by_base.get(base >> 20)
                assert segment is not None and segment.memory == number, (
                    f"memory {number} was written at {base:#x}"
                )
                assert base & 0xF_FFFF < PAGES * PAGE, (
                    f"memory {number} was written beyond a segment, at {base:#x}"
                )
        unsure = 0
        for window in self.windows:
            for a, segment in enumerate(window.segments):
                unsure += len(segment.maybe)
                stored = self.targets[segment.memory].bytes.read(segment.base, PAGES * PAGE)
                for place in range(0, PAGES * PAGE, BLOCK):
                    block = slice(place, place + BLOCK)
                    if stored[block] == segment.sure[block]:
                        continue
                    for i in range(place, place + BLOCK):
                        assert segment.holds(i, stored[i]), (
                            f"window {window.number} of port {window.port}, segment {a}: byte {i:#x} is "
                            f"{stored[i]:#x}, not {segment.sure[i]:#x}"
                        )
        return unsure

    def cover_inside(self) -> None:
        """Adds the monitors' counts since the last call."""
        for end, counters in FRAME_COUNTERS.items():
            block = getattr(self.dut.pair, f"i_{end}")
            for link in range(LINKS):
                monitor = block[f"gen_link[{link}]"].i_link.monitor
                for counter in counters:
                    self._cover(f"frames of the {end}", counter, getattr(monitor, counter), f"{end}{link}")
        for port in range(PORTS):
            credit = self.dut.pair.i_cblock[f"gen_port[{port}]"].i_write.i_sender.i_credit.monitor
            self._cover("credits", "not enough", credit.waits, f"{port}")

    def _cover(self, group: str, name: str, signal, where: str) -> None:
        now = int(signal.value)
        before = self.monitored.get(f"{group}{name}{where}", 0)
        if now != before:
            self.coverage.hit(group, name, (now - before) % (1 << 32))
        self.monitored[f"{group}{name}{where}"] = now
