# SPDX-License-Identifier: Apache-2.0
"""The cocotb tests. SUITE_SEED, SUITE_PHASES and SUITE_COUNT set how much, SUITE_COVERAGE where counts go."""

from __future__ import annotations

import os
import random
from pathlib import Path

import cocotb
from axi import FIXED, INCR, WRAP
from cocotb.triggers import ClockCycles, gather
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiBus, AxiMaster
from coverage import model
from world import PAGE, PAGES

from bench import LINKS, PHY, PORTS, Bench

SEED = int(os.environ.get("SUITE_SEED", "1"))
PHASES = int(os.environ.get("SUITE_PHASES", "1"))
COUNT = int(os.environ.get("SUITE_COUNT", "20"))  # accesses of a port in a phase
FILE = Path(os.environ.get("SUITE_COVERAGE", "coverage.json"))
COVERAGE = model()


async def finish(bench: Bench) -> None:
    """The memories, the expected data, and the progress."""
    await ClockCycles(bench.dut.clk, 50)
    bench.cover_inside()
    unsure = bench.check_memories()
    COVERAGE.store(FILE)
    cocotb.log.info(
        "%d cycles, %d bytes not sure, coverage %.3f", get_sim_time("step") // 2, unsure, COVERAGE.closure
    )


@cocotb.test()
async def random_traffic(dut) -> None:
    """All kinds of bursts from both ports, over a link of every kind, with pauses everywhere."""
    bench = Bench(dut, COVERAGE, SEED)
    await bench.start()
    shapes = [bench.shapes() for _ in range(PORTS)]
    for phase in range(PHASES * len(PHY)):
        bench.set_phy(list(PHY)[phase % len(PHY)])
        bench.set_pauses()
        most = bench.random.choice((1, 4, 12, 40))
        await gather(*(bench.traffic(p, COUNT, most, shapes[p]) for p in range(PORTS)))
    bench.set_pauses("none")
    for kind in ("read", "write"):
        await gather(*(bench.burst_of_small(p, kind, 50) for p in range(PORTS)))
    await finish(bench)


@cocotb.test()
async def reconfiguration(dut) -> None:
    """Windows, segments and links change while all of that runs."""
    bench = Bench(dut, COVERAGE, SEED + 1000)
    await bench.start()
    shapes = [bench.shapes() for _ in range(PORTS)]
    # Without traffic first.
    for link in range(3):
        await bench.change_link(link % LINKS)
    for window in bench.windows:
        for _ in range(4):
            await bench.change_window(window)
    for phase in range(PHASES * 3):
        bench.set_phy(("clean", "flips", "all of them")[phase % 3])
        bench.set_pauses("none" if phase % 3 == 0 else None)
        runs = [cocotb.start_soon(bench.traffic(p, 2 * COUNT, 30, shapes[p], gap=3)) for p in range(PORTS)]
        changes = cocotb.start_soon(change(bench, runs, phase))
        await gather(*runs)
        await changes
    await finish(bench)


async def change(bench: Bench, runs, phase: int) -> None:
    """Changes one thing after the other until the traffic ends."""
    while not all(run.done() for run in runs):
        await ClockCycles(bench.dut.clk, bench.random.randint(1, 120))
        if bench.random.random() < 0.12:
            bench.set_phy("clean")  # so that nothing but what is changed takes the link down
            await bench.change_link(bench.random.randrange(LINKS))
            bench.set_phy(("clean", "flips", "all of them")[phase % 3])
        else:
            await bench.change_window(bench.random.choice(bench.windows))


@cocotb.test()
async def whole_masters(dut) -> None:
    """cocotbext-axi's own master: long and unaligned reads and writes, split at 4 KiB, over a bad link."""
    bench = Bench(dut, COVERAGE, SEED + 2000)
    await bench.start(raw_ports=False)
    bench.set_phy("all of them")
    bench.set_pauses()
    masters = [
        AxiMaster(AxiBus.from_entity(dut[f"gen_port[{p}]"].axi), dut.clk, dut.rst_n, False)
        for p in range(PORTS)
    ]
    await ClockCycles(dut.clk, 4)

    async def work(p: int) -> None:
        draw = random.Random(SEED + 3000 + p)
        for _ in range(2 * PHASES):
            window = bench.windows[p * 4 + draw.randrange(4)]
            # Before the places that fail.
            length = draw.randint(1, 2 * PAGE)
            offset = draw.randint(0, (PAGES - 2) * PAGE - length)
            data = draw.randbytes(length)
            size = draw.choice((2, 3, 4, 4))
            got = await masters[p].write(window.address + offset, data, size=size)
            assert got.resp == 0
            for i, value in enumerate(data):
                window.segments[0].put(offset + i, value, True)
            around = max(offset - 40, 0)
            back = await masters[p].read(window.address + around, length + 40, size=draw.choice((2, 4)))
            assert back.resp == 0
            assert back.data == bytes(window.segments[0].sure[around : around + length + 40])
        # Fixed and wrapped bursts of whole words, as the master of that library makes them.
        window = bench.windows[p * 4]
        for burst, beats in ((WRAP, 4), (FIXED, 3)):
            data = draw.randbytes(16 * beats)
            assert (await masters[p].write(window.address, data, burst=burst)).resp == 0
            for i in range(16 * beats):
                window.segments[0].put(i % 16 if burst == FIXED else i, data[i], True)
        back = await masters[p].read(window.address, 64, burst=INCR)
        assert back.data == bytes(window.segments[0].sure[:64])

    await gather(*(work(p) for p in range(PORTS)))
    await finish(bench)
