# SPDX-License-Identifier: Apache-2.0
"""The longest an access of 64 bytes can take while all other ports do what they can.

For a port with nothing else outstanding, a link that repeats nothing, and a memory that takes and gives a
beat a cycle and answers in the order of the requests. Each term is the longest its stage can take alone; the
bound is their sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

# Of the RTL, with its default parameters.
ROOM = 512  # beats of read answers that a port keeps room for (port_read)
TAGS = 64  # of a port, reads and writes apart
CREDITS = 320  # units of writes of a port at the mBlock (port_write)
PART_BEATS = 17  # of an answer; a frame has two parts
MESSAGE_BEATS = 16  # of a write (port_write)
LONGEST_FRAME = 19
CONTROL_BEATS = 6  # between two frames: a ResyncBeat, control, an acknowledgement, three that are empty
REPLAY_BEATS = 455  # of 512, beside which a frame may still begin (link)
ACK_DELAY = 512  # link


@dataclass(frozen=True)
class Term:
    """One stage, in cycles."""

    stage: str
    cycles: int


def access_64(ports: int, cycles_per_beat: float, link_latency: int, memory_latency: int) -> list[Term]:
    """The stages of a read or write of 64 bytes; their sum is the bound."""
    others = ports - 1
    frame = ceil((LONGEST_FRAME + CONTROL_BEATS) * cycles_per_beat)
    # The replay buffer is full: what is in it must be acknowledged first (there, the delay, a frame, back).
    stall = 2 * link_latency + ACK_DELAY + 2 * frame + 24
    messages = TAGS + CREDITS // MESSAGE_BEATS
    long_writes = CREDITS // (
        MESSAGE_BEATS + 1
    )  # of several messages: the next one waits for the memory's answer
    parts = ROOM // PART_BEATS + 1 + TAGS
    # Each part and each acknowledgement may be a frame of its own, with one of the link before it.
    answers = others * (ROOM + 2 * (parts + TAGS))
    return [
        Term("the segment table and the collection of a write's data", 20),
        Term("room in the replay buffer of requests", stall),
        Term(
            "frames before it: one on its way, one that fills, one of each other source",
            (2 * ports + 1) * frame,
        ),
        Term("the wire and the receiver", link_latency + 14),
        Term(
            "requests before it at the mBlock",
            others * (TAGS + CREDITS + 4 * messages + long_writes * (memory_latency + 8)),
        ),
        Term("the memory: data of reads before it, and its own", others * ROOM + 5 + memory_latency),
        Term(
            "answers before it on the link",
            ceil(answers * cycles_per_beat) + ceil(answers / REPLAY_BEATS) * stall,
        ),
        Term("the frame on its way, its own, the wire and the receiver", 2 * frame + link_latency + 32),
    ]


def bound(ports: int, cycles_per_beat: float, link_latency: int, memory_latency: int) -> int:
    """Cycles from the address to the last answer."""
    return sum(term.cycles for term in access_64(ports, cycles_per_beat, link_latency, memory_latency))
