# SPDX-License-Identifier: Apache-2.0
"""The longest an access of 64 bytes can take while all other ports do what they can.

For a port with nothing else outstanding, a link that repeats nothing, and a memory that takes and gives a
beat a cycle and answers in the order of the requests. Each term is the longest its stage can take alone; the
bound is their sum. With a share the access is urgent, all others are not and keep to it (registers `urgent`
and `share` of the cBlock).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from consort.base.errors import BadInput

# Parameters of the RTL, with their defaults.
ROOM = 512  # beats of read answers that a port keeps room for (port_read)
TAGS = 64  # of a port, reads and writes apart
CREDITS = 320  # units of writes of a port at the mBlock (write_sender)
PART_BEATS = 17  # of an answer; a frame has two parts
MESSAGE_BEATS = 16  # of a write (write_collector)
STROBE_UNITS = 2  # of a message, at most
LONGEST_BURST = 256
LONGEST_FRAME = 19
CONTROL_BEATS = 6  # between two frames: a ResyncBeat, control, an acknowledgement, three that are empty
REPLAY_BEATS = 455  # of 512, beside which a frame may still begin (link)
FRAMES = 126  # without acknowledgement, beside which one may still begin (link)
ACK_DELAY = 512  # link
PASSED_BY = 2  # of the others' requests go before one that waits urgently (class_arbiter)


@dataclass(frozen=True)
class Term:
    """One stage, in cycles."""

    stage: str
    cycles: int


@dataclass(frozen=True)
class Share:
    """The share of a port's accesses that are not urgent and may be under way: 0 is all that there is room
    for."""

    reads: int  # beats
    writes: int  # units

    def __post_init__(self) -> None:
        for name, value in (("reads", self.reads), ("writes", self.writes)):
            if not 0 <= value < 1024:
                raise BadInput(f"a share's {name} are {value}; the register holds 0 to 1023")


@dataclass(frozen=True)
class _UnderWay:
    """The most that another port has under way at once."""

    beats: int  # of reads
    reads: int
    units: int  # of writes
    writes: int
    messages: int
    several: int  # writes of several messages

    @property
    def parts(self) -> int:
        """The number of parts of answers."""
        return self.beats // PART_BEATS + 1 + self.reads

    @property
    def fits_the_replay_buffers(self) -> bool:
        """True if frames of all that is under way are never as many as would have to wait for room."""
        asked = self.units + ceil(1.5 * (self.reads + self.messages))
        answered = self.beats + self.parts + self.writes
        return (
            max(asked, answered) <= REPLAY_BEATS - LONGEST_FRAME
            and max(self.reads + self.messages, self.parts + self.writes) < FRAMES
        )

    def of(self, ports: int) -> _UnderWay:
        """That of so many ports, and the one access beside them."""
        return _UnderWay(
            ports * self.beats + 4,
            ports * self.reads + 1,
            ports * self.units + 5,
            ports * self.writes + 1,
            ports * self.messages + 1,
            ports * self.several,
        )


def _under_way(share: Share | None, longest: int) -> _UnderWay:
    """An access that is longer than the share goes alone; one beat or unit is the shortest."""
    messages = ceil(longest / MESSAGE_BEATS)
    beats = max(share.reads, longest) if share and share.reads else ROOM
    units = max(share.writes, longest + STROBE_UNITS * messages) if share and share.writes else CREDITS
    beats, units = min(beats, ROOM), min(units, CREDITS)
    writes = min(TAGS, units)
    return _UnderWay(
        beats,
        min(TAGS, beats),
        units,
        writes,
        min(TAGS + units // MESSAGE_BEATS, units),
        units // (MESSAGE_BEATS + 1),
    )


def access_64(
    ports: int,
    cycles_per_beat: float,
    link_latency: int,
    memory_latency: int,
    share: Share | None = None,
    longest: int = LONGEST_BURST,
) -> list[Term]:
    """The stages of a read or write of 64 bytes; their sum is the bound."""
    others = ports - 1
    frame = ceil((LONGEST_FRAME + CONTROL_BEATS) * cycles_per_beat)
    other = _under_way(share, longest)
    # The replay buffer is full: what is in it must be acknowledged first (there, the delay, a frame, back).
    # Answered messages were acknowledged with the answer, and an answer with the next request: so only those
    # under way are in it, and where these fit nobody waits.
    stall = 2 * link_latency + ACK_DELAY + 2 * frame + 24
    if share and other.of(others).fits_the_replay_buffers:
        stall = 0
    # Sources that are not urgent are alike, and take turns.
    before = min(2 * others + 1, PASSED_BY) if share else 2 * ports - 1
    # Each part and each acknowledgement may be a frame of its own, with one of the link before it.
    answers = others * (other.beats + 2 * (other.parts + other.writes))
    return [
        Term("the segment table and the collection of a write's data", 20),
        Term("room in the replay buffer of requests", stall),
        Term(
            "frames before it: one on its way, one that fills, one of each other source that goes first",
            (2 + before) * frame,
        ),
        Term("the wire and the receiver", link_latency + 14),
        Term(
            "requests before it at the mBlock",
            others * (other.reads + other.units + 4 * other.messages + other.several * (memory_latency + 8)),
        ),
        Term("the memory: data of reads before it, and its own", others * other.beats + 6 + memory_latency),
        Term(
            "answers before it on the link",
            ceil(answers * cycles_per_beat) + ceil(answers / REPLAY_BEATS) * stall,
        ),
        Term("the frame on its way, its own, the wire and the receiver", 2 * frame + link_latency + 32),
    ]


def bound(
    ports: int,
    cycles_per_beat: float,
    link_latency: int,
    memory_latency: int,
    share: Share | None = None,
    longest: int = LONGEST_BURST,
) -> int:
    """Cycles from the address to the last answer."""
    terms = access_64(ports, cycles_per_beat, link_latency, memory_latency, share, longest)
    return sum(term.cycles for term in terms)
