# SPDX-License-Identifier: Apache-2.0
"""The flat blocks, between a master and a memory of cocotbext-axi that find their ports by their names."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiMaster, AxiRam, AxiResp

WINDOW = 0x4_0000_0000
SIZE = 1 << 16
BASE = 0x3000


class Flat:
    """Both blocks with their link up and a window of SIZE bytes to BASE in the memory."""

    def __init__(self, dut) -> None:
        self.dut = dut
        # The link's clock is slower, and its edges come at all places of the blocks'.
        cocotb.start_soon(Clock(dut.clk, 10, unit="step").start())
        cocotb.start_soon(Clock(dut.phy_clk, 14, unit="step").start())
        ends = (dut.clk, dut.rst_n, False)
        self.master = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), *ends)
        self.memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), *ends, size=1 << 18)
        self.registers = {
            block: AxiLiteMaster(AxiLiteBus.from_prefix(dut, f"{block}_s_axil"), *ends) for block in "cm"
        }

    async def start(self) -> None:
        for block in "cm":
            getattr(self.dut, f"{block}_phy_channel_up").value = 1
            getattr(self.dut, f"{block}_phy_hard_err").value = 0
        self.dut.m_alone.value = 0
        self.dut.mem_isolate.value = 0
        self.dut.rst_n.value = 0
        await ClockCycles(self.dut.clk, 8)
        self.dut.rst_n.value = 1
        await ClockCycles(self.dut.clk, 4)
        for block in "mc":
            await self.set_up(block)
        await self.wait_up()

    async def set_up(self, block: str) -> None:
        first = {"m": BASE >> 12, "c": WINDOW >> 12}
        last = {"m": (SIZE >> 12) - 1, "c": first["c"] + (SIZE >> 12) - 1}
        for at, value in ((0x014, 2048), (0x400, first[block]), (0x404, last[block]), (0x408, 7), (8, 1)):
            await self.write(block, at, value)

    async def wait_up(self) -> None:
        for _ in range(400):
            if await self.read("c", 0x00C) == 1 and await self.read("m", 0x00C) == 1:
                return
            await ClockCycles(self.dut.clk, 20)
        raise AssertionError("the link does not come up")

    async def write(self, block: str, at: int, value: int) -> None:
        done = await self.registers[block].write(at, value.to_bytes(4, "little"))
        assert done.resp == AxiResp.OKAY

    async def read(self, block: str, at: int) -> int:
        done = await self.registers[block].read(at, 4)
        assert done.resp == AxiResp.OKAY
        return int.from_bytes(done.data, "little")


@cocotb.test()
async def data_go_there_and_back(dut) -> None:
    """Accesses of any size and place; in the end the memory has what was written, at the segment."""
    flat = Flat(dut)
    await flat.start()
    chance = random.Random(1)
    expected = bytearray(SIZE)
    flat.memory.write(BASE, bytes(SIZE))
    for _ in range(60):
        length = chance.choice((1, 3, 16, 64, 257, 2000))
        at = chance.randrange(SIZE - length)
        if chance.random() < 0.6:
            data = chance.randbytes(length)
            done = await flat.master.write(WINDOW + at, data)
            assert done.resp == AxiResp.OKAY
            expected[at : at + length] = data
        else:
            done = await flat.master.read(WINDOW + at, length)
            assert done.resp == AxiResp.OKAY
            assert done.data == expected[at : at + length]
    assert flat.memory.read(BASE, SIZE) == expected


@cocotb.test()
async def a_fault_raises_the_interrupt_and_is_in_the_log(dut) -> None:
    """No window at the cBlock; no right at the mBlock; the log has where and why, and is cleared by a 1."""
    flat = Flat(dut)
    await flat.start()
    for block in "cm":
        await flat.write(block, 0x034, 0x7F)
    done = await flat.master.read(WINDOW - 0x40, 4)
    assert done.resp == AxiResp.DECERR
    await ClockCycles(dut.clk, 6)
    assert (int(dut.c_irq.value), int(dut.m_irq.value)) == (1, 0)
    fault = await flat.read("c", 0x038)
    assert (fault & 1, fault >> 9) == (1, 1)
    assert await flat.read("c", 0x044) << 32 | await flat.read("c", 0x040) == WINDOW - 0x40
    await flat.write("m", 0x408, 3)
    done = await flat.master.write(WINDOW + 0x1230, bytes(16))
    assert done.resp == AxiResp.SLVERR
    assert int(dut.m_irq.value) == 1
    fault = await flat.read("m", 0x038)
    assert (fault & 7, fault >> 9) == (5, 2)
    assert await flat.read("m", 0x040) == 0x1230
    # The cBlock's log kept the first one.
    assert (await flat.read("c", 0x038)) & 2 == 2
    assert await flat.read("c", 0x03C) == 2
    for block in "cm":
        await flat.write(block, 0x038, 1)
        await flat.write(block, 0x030, 0x7F)
        assert await flat.read(block, 0x038) == 0
    await ClockCycles(dut.clk, 4)
    assert (int(dut.c_irq.value), int(dut.m_irq.value)) == (0, 0)


@cocotb.test()
async def a_phy_that_is_down_ends_what_waits(dut) -> None:
    """Its channel goes down under a read that the memory has not answered; then it comes back."""
    flat = Flat(dut)
    await flat.start()
    flat.memory.read_if.r_channel.pause = True
    waiting = cocotb.start_soon(flat.master.read(WINDOW, 64))
    await ClockCycles(dut.clk, 200)
    assert not waiting.done()
    for block in "cm":
        getattr(dut, f"{block}_phy_hard_err").value = 1
    await RisingEdge(dut.phy_clk)
    for block in "cm":
        getattr(dut, f"{block}_phy_hard_err").value = 0
    await ClockCycles(dut.clk, 120)
    assert waiting.done()
    assert waiting.result().resp == AxiResp.SLVERR
    flat.memory.read_if.r_channel.pause = False
    await flat.wait_up()
    assert (await flat.master.read(WINDOW, 64)).resp == AxiResp.OKAY


@cocotb.test()
async def a_memory_takes_address_and_data_only_together(dut) -> None:
    """AWREADY and WREADY only while AWVALID and WVALID are both high, which AXI4 allows a subordinate."""
    flat = Flat(dut)
    await flat.start()
    address, data = flat.memory.write_if.aw_channel, flat.memory.write_if.w_channel
    address.pause = data.pause = True

    def level(name: str) -> int:
        return int(getattr(dut, f"m_axi_{name}").value)

    async def together() -> None:
        owed = 0  # bursts whose address was taken and whose last beat was not
        while True:
            await RisingEdge(dut.clk)
            owed += level("awvalid") and level("awready")
            owed -= level("wvalid") and level("wready") and level("wlast")
            address.pause = not (owed == 0 and level("awvalid") and level("wvalid"))
            data.pause = owed <= 0

    cocotb.start_soon(together())
    write = cocotb.start_soon(flat.master.write(WINDOW, b"\x11" * 16))
    await ClockCycles(dut.clk, 2000)
    assert write.done() and write.result().resp == AxiResp.OKAY
    assert flat.memory.read(BASE, 16) == b"\x11" * 16


@cocotb.test()
async def an_mblock_that_is_reset_alone_gives_no_answer_of_before(dut) -> None:
    """Its memory owes the answer of a read; after the reset a read of another place gets its own data."""
    flat = Flat(dut)
    await flat.start()
    flat.memory.write(BASE, b"\x11" * 64)
    flat.memory.write(BASE + 0x100, b"\x22" * 64)
    flat.memory.read_if.r_channel.pause = True
    before = cocotb.start_soon(flat.master.read(WINDOW, 64))
    await ClockCycles(dut.clk, 200)
    dut.m_alone.value = 1
    await ClockCycles(dut.clk, 4)
    dut.m_alone.value = 0
    await ClockCycles(dut.clk, 4)
    await flat.set_up("m")
    # The other end finds out in its time.
    await ClockCycles(dut.clk, 3 * 2048)
    assert before.done() and before.result().resp == AxiResp.SLVERR
    await flat.wait_up()
    after = cocotb.start_soon(flat.master.read(WINDOW + 0x100, 64))
    await ClockCycles(dut.clk, 200)
    assert not after.done()
    flat.memory.read_if.r_channel.pause = False
    await ClockCycles(dut.clk, 400)
    assert after.done() and after.result().resp == AxiResp.OKAY
    assert after.result().data == b"\x22" * 64


@cocotb.test()
async def an_isolated_memory_may_go_and_come_back(dut) -> None:
    """What it has ends, what comes then is refused, and once it is back all is as it was."""
    flat = Flat(dut)
    await flat.start()
    flat.memory.write(BASE, b"\x33" * 64)
    flat.memory.read_if.r_channel.pause = True
    under_way = cocotb.start_soon(flat.master.read(WINDOW, 64))
    await ClockCycles(dut.clk, 200)
    dut.mem_isolate.value = 1
    await ClockCycles(dut.clk, 200)
    assert int(dut.mem_isolated.value) == 0 and not under_way.done()
    flat.memory.read_if.r_channel.pause = False
    await ClockCycles(dut.clk, 400)
    assert under_way.done() and under_way.result().resp == AxiResp.OKAY
    assert int(dut.mem_isolated.value) == 1
    assert (await flat.master.read(WINDOW, 64)).resp == AxiResp.SLVERR
    assert (await flat.master.write(WINDOW, b"\x44" * 64)).resp == AxiResp.SLVERR
    assert await flat.read("m", 0x01C) == 0
    dut.mem_isolate.value = 0
    await ClockCycles(dut.clk, 20)
    assert int(dut.mem_isolated.value) == 0
    done = await flat.master.read(WINDOW, 64)
    assert done.resp == AxiResp.OKAY and done.data == b"\x33" * 64
