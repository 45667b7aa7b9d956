# SPDX-License-Identifier: Apache-2.0
"""Runs the simulations of rtl/ and hands back what they counted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.base.children import finished
from consort.base.errors import SystemFails

from consort_remote.build import configuration, simulation
from consort_remote.source import need_folder
from consort_remote.worst_case import Share, bound

# Between the blocks: a wire alone; PHYs that pause and give what they kept without gaps; and such PHYs with a
# clock of their own, behind consort_phy_cdc.
WIRES = ("plain", "queue", "cdc")


@dataclass(frozen=True)
class Beats:
    """Beats of one write and one read of a burst length, both directions together."""

    packetization: str
    burst: int
    write_beats: int
    read_beats: int
    # Beats of the write towards the memory: without its acknowledgement.
    request_beats: int = 0


@dataclass(frozen=True)
class Soak:
    """Random traffic over a link with errors: chances are for a bit and for a word of the PHY."""

    beats: int
    bit_error_rate: float = 0
    drop: float = 0
    repeat: float = 0
    # Bits beside the first that an error may flip.
    span: int = 0
    # The share of the cycles in which a channel could do something.
    pause_percent: int = 0
    seed: int = 1
    # So many ports, links and memories each.
    shape: int = 1
    # Bits of a word of the PHY: 64, 128 or 256.
    phy_width: int = 128
    # Bits of an address, 36 to 44, and of an id, 10 to 16.
    addresses: int = 40
    ids: int = 16
    # Bits of an address within a segment: 28 to 38.
    offsets: int = 28


def soak(load: Soak) -> dict[str, Any]:
    """Runs it; SystemFails where a read differs, a write is lost or repeated, or something is stuck."""
    words = [
        load.beats,
        load.bit_error_rate,
        load.drop,
        load.repeat,
        load.span,
        load.pause_percent,
        load.seed,
    ]
    result: dict[str, Any] = _run(_of(load), ["soak", *map(str, words)])
    return result


def figure4(load: Soak) -> dict[str, Any]:
    """Random traffic between three cBlocks and two mBlocks, connected as the paper's Figure 4 has it."""
    program = simulation(
        "consort_remote_figure4",
        harness("figure4.cpp"),
        defines=("-DFIGURE4", "-DPORTS=3", "-DLINKS=2", "-DMEMORIES=2"),
    )
    words = [load.beats, load.bit_error_rate, load.drop, load.repeat, load.pause_percent, load.seed]
    result: dict[str, Any] = _run(program, list(map(str, words)))
    return result


# Cycles for which a PHY keeps what it is given as a link starts.
START_PAUSES = (8, 24, 60)


def starts(pause: int, cdc: bool, more: tuple[Path, ...] = ()) -> dict[str, int]:
    """Starts of a link whose PHY pauses at each of 101 moments: how many there were, and lost something.

    The PHY keeps words in a FIFO, or in `consort_phy_cdc`; `more` are sources in place of those of rtl/.
    """
    program = simulation("consort_remote_starts", harness("starts.cpp"), {"Cdc": int(cdc)}, (), more)
    result: dict[str, int] = _run(program, [str(pause)])
    return result


def faults(shape: int = 1) -> dict[str, Any]:
    """The ends of accesses that cannot be answered, and the cycles until then."""
    result: dict[str, Any] = _run(_pair(shape), ["faults"])
    return result


# The paper's packetizations, and the words of the harness for them.
PAPER = {"b2b": "b2b", "pipelined": "pipelined", "pipelined without the fill beat": "pipelined-without-fill"}


def paper_beats(phy_width: int = 128) -> list[Beats]:
    """One write and one read of each burst length 1 to 256 in the packetizations of the paper.

    Of a PHY of 64 bits beats are its words, of 64 bits too.
    """
    program = _pair(paper=True, phy_width=phy_width)
    return [Beats(name, **row) for name, word in PAPER.items() for row in _run(program, [word, "beats"])]


def paper_soak(packetization: str, load: Soak) -> dict[str, Any]:
    """Random traffic in one of them, on the paper's link, which has no errors."""
    words = [PAPER[packetization], "soak", load.beats, load.pause_percent, load.seed]
    result: dict[str, Any] = _run(_of(load, paper=True), list(map(str, words)))
    return result


def paper_refused(packetization: str, shape: int = 1) -> dict[str, Any]:
    """The ends of accesses that are not mapped, not allowed or detached, and the cycles until then."""
    result: dict[str, Any] = _run(_pair(shape, paper=True), [PAPER[packetization], "refused"])
    return result


def compact_beats(phy_width: int = 128) -> list[dict[str, Any]]:
    """Beats of 128 bits on the wire, and cycles, of the compact packetization on a link without errors."""
    result: list[dict[str, Any]] = _run(_pair(phy_width=phy_width), ["beats"])
    return result


def _of(load: Soak, paper: bool = False) -> Path:
    return _pair(load.shape, load.phy_width, paper, load.addresses, load.ids, offsets=load.offsets)


def _pair(
    shape: int = 1,
    phy_width: int = 128,
    paper: bool = False,
    addresses: int = 40,
    ids: int = 16,
    more: tuple[Path, ...] = (),
    offsets: int = 28,
) -> Path:
    root = need_folder("simulating the hardware")
    top, source = ("consort_paper_pair", "paper.cpp") if paper else ("consort_remote_pair", "remote.cpp")
    parameters: dict[str, int | str] = {}
    defines: list[str] = []
    if shape != 1:
        for name in ("Ports", "Links", "Memories"):
            parameters[name] = shape
            defines.append(f"-D{name.upper()}={shape}")
    if phy_width != 128:
        parameters["PhyWidth"] = phy_width
        defines.append(f"-DPHY_WIDTH={phy_width}")
    if (addresses, ids, offsets) != (40, 16, 28):
        folder = root.parent / "build" / "rtl" / f"widths-{addresses}-{ids}-{offsets}"
        more += (configuration(root, folder, AddrWidth=addresses, IdWidth=ids, OffsetWidth=offsets),)
        defines += [f"-DADDR_WIDTH={addresses}", f"-DID_WIDTH={ids}", f"-DOFFSET_WIDTH={offsets}"]
    if not paper:
        more += (harness("pair.vlt"),)
    return simulation(top, harness(source), parameters, (), more, tuple(defines))


def harness(name: str) -> Path:
    """A C++ harness of rtl/tb, or another file there."""
    return need_folder("simulating the hardware") / "rtl" / "tb" / name


def _run(program: Path, arguments: list[str]) -> Any:
    result = finished([program, *arguments])
    if result.returncode != 0:
        # Checkers in the hardware say on its output what they found.
        raise SystemFails(f"the simulated hardware fails: {(result.stdout + result.stderr).strip()[-2000:]}")
    return json.loads(result.stdout)


def late_writes(cycles: int, rounds: int, seed: int = 1) -> dict[str, int]:
    """Writes of other ids of a port, while one waits for a memory that answers only after so many cycles."""
    result: dict[str, int] = _run(_pair(2), ["late", str(cycles), str(rounds), str(seed)])
    return result


# Cycles that no access of 64 bytes exceeds at a memory with another link that does not take its answers: the
# room for those (consort_answer_room), which the memory may give first, and as much for all else.
NEIGHBOUR_BOUND = 2 * 512


@dataclass(frozen=True)
class Neighbour:
    """One access of 64 bytes at a time over a link, while another link floods the same memory."""

    # For so many cycles the PHY of the other link takes no answers, then all for 40; 0: it always does.
    stalls: int
    # Beats of the other link's bursts.
    beats: int
    cycles: int = 100_000
    seed: int = 1


def neighbour(load: Neighbour, more: tuple[Path, ...] = ()) -> dict[str, int]:
    """The longest of its accesses, and how many there were; `more` are sources in place of those of rtl/."""
    words = ["neighbour", load.cycles, load.stalls, load.beats, load.seed]
    result: dict[str, int] = _run(_pair(2, more=more), list(map(str, words)))
    return result


def same_id_order(tries: int, seed: int = 1) -> dict[str, int]:
    """Pairs of accesses of one id to one address, at a memory that carries out other ids' in any order."""
    result: dict[str, int] = _run(_pair(), ["order", str(tries), str(seed)])
    return result


def stalled(cycles: int, shape: int = 1) -> dict[str, int]:
    """The results of accesses to memories that take nothing for so many cycles, on a perfect wire."""
    result: dict[str, int] = _run(_pair(shape), ["stalled", str(cycles)])
    return result


def silence(seed: int, shape: int = 1) -> dict[str, int]:
    """Random traffic while memory 0 stops answering, again and again, and answers late."""
    result: dict[str, int] = _run(_pair(shape), ["silence", str(seed)])
    return result


def strays(seed: int, shape: int = 1, more: tuple[Path, ...] = ()) -> dict[str, int]:
    """Random traffic to memories that also answer ids that asked nothing; `more` as of `neighbour`."""
    result: dict[str, int] = _run(_pair(shape, more=more), ["strays", str(seed)])
    return result


def orders(seed: int) -> dict[str, int]:
    """Accesses to memories that take addresses and data of writes in each order that AXI4 allows."""
    result: dict[str, int] = _run(_pair(), ["orders", str(seed)])
    return result


def owed(seed: int) -> dict[str, int]:
    """The mBlock reset again and again while a memory keeps the answers of accesses before the reset."""
    result: dict[str, int] = _run(_pair(), ["owed", str(seed)])
    return result


def fence(seed: int) -> dict[str, int]:
    """The results of windows detached under traffic to a slow memory, after the fence."""
    result: dict[str, int] = _run(_pair(), ["fence", str(seed)])
    return result


def unsaid() -> dict[str, int]:
    """Accesses that a request on the link cannot say: exclusive ones, too large windows, attributes."""
    result: dict[str, int] = _run(_pair(), ["unsaid"])
    return result


def fault_log() -> dict[str, int]:
    """Each cause of a fault, with what log and interrupts say; a PHY that says that its link is down."""
    result: dict[str, int] = _run(_pair(), ["log"])
    return result


def attack(tries: int, bit_error_rate: float, seed: int) -> dict[str, int]:
    """A borrower whose data are frames, over a wire with errors; a try is a forged frame on the wire."""
    result: dict[str, int] = _run(_pair(), ["attack", str(tries), str(bit_error_rate), str(seed)])
    return result


def stuck_link() -> list[dict[str, int]]:
    """A PHY that passes control frames and harms data, there and back: when every access has ended."""
    result: list[dict[str, int]] = _run(_pair(), ["stuck"])
    return result


def resets() -> dict[str, int]:
    """Either block reset alone, where both wait for like and for unlike times."""
    result: dict[str, int] = _run(_pair(), ["resets"])
    return result


def offered(burst: int) -> list[dict[str, Any]]:
    """Writes and reads at rates from a tenth of a beat a cycle to one, over a PHY of a beat a cycle.

    How many beats a cycle came through, and how much of the wire's beats of their direction are theirs.
    """
    result: list[dict[str, Any]] = _run(_pair(), ["offered", str(burst)])
    return result


def outstanding() -> dict[str, int]:
    """Reads and writes of 64 bytes that are at the memory at once, none of them answered."""
    result: dict[str, int] = _run(_pair(), ["outstanding"])
    return result


@dataclass(frozen=True)
class FullLoad:
    """Accesses of 64 bytes at one port while all others do what they can."""

    accesses: int  # of each kind and load
    link_latency: int = 0  # cycles of the wire, one way
    memory_latency: int = 20
    rate: int = 0  # beats a cycle, of 65536; 0 is one each cycle
    seed: int = 1
    ports: int = 2
    # The accesses are urgent, and all others are not and keep to this share.
    share: Share | None = None
    longest: int = 256  # beats of the others' bursts

    @property
    def bound(self) -> int:
        """Cycles that none of the accesses exceeds."""
        beat = 65536 / (self.rate or 65536)
        return bound(self.ports, beat, self.link_latency, self.memory_latency, self.share, self.longest)


def worst(load: FullLoad, more: tuple[Path, ...] = ()) -> list[dict[str, int]]:
    """The longest accesses under five loads; `more` are sources in place of those of rtl/."""
    words = [load.accesses, load.link_latency, load.memory_latency, load.rate, load.seed]
    share = load.share or Share(0, 0)
    words += [1 if load.share else 0, share.writes << 16 | share.reads, load.longest]
    result: list[dict[str, int]] = _run(_pair(load.ports, more=more), ["worst", *map(str, words)])
    return result


@dataclass(frozen=True)
class Board:
    """A board's figures, in cycles and in beats a cycle of 65536; and how much of STREAM is simulated."""

    memory_latency: int
    memory_rate: int
    link_latency: int
    link_rate: int
    in_flight: int  # lines at a port at once
    samples: int = 4  # places in the arrays
    lines: int = 1000  # of a kernel at each place

    def words(self) -> list[str]:
        """The parameters as the harnesses take them."""
        figures = (self.memory_latency, self.memory_rate, self.link_latency, self.link_rate, self.in_flight)
        return [str(word) for word in (*figures, self.samples, self.lines)]


def configurations(board: Board, packetization: str = "compact") -> dict[str, Any]:
    """STREAM at one port, and single reads: the memory alone, behind the blocks, and behind a wire too."""
    words = ["configurations", *board.words()]
    if packetization != "compact":
        words.insert(0, PAPER[packetization])
    result: dict[str, Any] = _run(_pair(paper=packetization != "compact"), words)
    return result


def combined(board: Board, packetization: str = "compact") -> dict[str, Any]:
    """STREAM at both ports of one cBlock, one memory beside it and one over the wire: Figure 10."""
    program = simulation(
        "consort_remote_figure10",
        harness("figure10.cpp"),
        {"Paper": int(packetization != "compact")},
        defines=("-DFIGURE10", "-DPORTS=2", "-DLINKS=2", "-DMEMORIES=2"),
    )
    result: dict[str, Any] = _run(program, [packetization, *board.words()])
    return result


def campaign(transactions: int, seed: int = 1, wire: str = "plain", faults: int = 12) -> dict[str, Any]:
    """So many transactions over every kind of fault; SystemFails where one is lost, wrong or does not end.

    In whole rounds: of each kind so many faults, or stretches of traffic over a wire that harms words.
    """
    words = ["wire", wire, "campaign", str(transactions), str(seed), str(faults)]
    result: dict[str, Any] = _run(campaign_program(), words)
    return result


def campaign_program() -> Path:
    """The simulation of a campaign; its folder's name has the digest of its sources."""
    return _pair()
