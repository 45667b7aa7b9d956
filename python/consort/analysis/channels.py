# SPDX-License-Identifier: Apache-2.0
"""Channels in shared memory: what their operations cost, when data arrives, whether it is whole, how old.

Costs follow from the number of word accesses and copies of each operation of include/consort/icc and from
what an access to the memory costs. docs/explanation/analyses.md, theorems 14 to 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from consort.analysis.result import Bound, Step, in_words
from consort.model.platform import Memory

_DOC = "docs/explanation/analyses.md"
LATENCY_SOURCE = f"{_DOC}, theorem 14"
WHOLE_SOURCE = f"{_DOC}, theorem 15"
PAPER_SOURCE = "Coppik et al., NG-RES 2025 (low-latency-icc), section 4.2, last paragraph, as printed"
AGE_SOURCE = f"{_DOC}, theorem 16"
SNAPSHOT_SOURCE = "docs/explanation/snapshot.md (Simpson 1990)"
WORD_BYTES = 4

Implementation = Literal["mailbox", "double-buffer", "snapshot", "queue"]


@dataclass(frozen=True)
class Side:
    """What a channel's memory costs one side [ps]: an access to a word, and a copy of one block."""

    word: int
    copy: int

    @staticmethod
    def of(memory: Memory, size: int, processor: str, *, loaded: bool = True) -> Side | None:
        """From the memory's figures, under load unless said otherwise; None where it has none."""
        word = memory.access_picoseconds(WORD_BYTES, processor, loaded=loaded)
        copy = memory.access_picoseconds(size, processor, loaded=loaded)
        return None if word is None or copy is None else Side(word, copy)


def write_time(implementation: Implementation, side: Side, readers: int = 1) -> int:
    """The longest a write takes that has not to wait [ps], if nothing preempts it."""
    words = {
        "mailbox": 3,  # the acknowledgement, the one carried back, the sequence
        "queue": 3,  # the other end's index, its own index, the sequence
        "double-buffer": 1,  # which buffer is active
        "snapshot": readers + 4,  # every announcement; the stamp, the slot, the pair, and its own line
    }[implementation]
    return words * side.word + side.copy


def read_time(implementation: Implementation, side: Side) -> int:
    """The longest a read takes that finds data [ps], if nothing preempts it."""
    words = {"mailbox": 3, "queue": 3, "double-buffer": 1, "snapshot": 4}[implementation]
    return words * side.word + side.copy


def latency(
    name: str,
    implementation: Literal["mailbox", "queue"],
    writer: Side,
    reader: Side,
    *,
    allowed: int | None = None,
) -> Bound:
    """From when a write begins to when a reader that keeps looking has the block."""
    write = write_time(implementation, writer)
    read = read_time(implementation, reader)
    steps = (
        Step("communication", f"{name} is written", 0, write, 1, "at most 3 word accesses and a copy"),
        Step("communication", "a look that came just too early", write, reader.word),
        Step(
            "communication",
            f"{name} is read",
            write + reader.word,
            read,
            1,
            "at most 3 word accesses and a copy",
        ),
    )
    return Bound(
        task=name,
        response=write + reader.word + read,
        deadline=allowed,
        source=LATENCY_SOURCE,
        assumptions=(
            f"the {implementation} is not full when the write begins, and holds nothing older",
            "the reader looks again and again and is not preempted; nor is the writer",
            "an access costs at most what the platform says, under load where it says that",
        ),
        explanation=steps,
        kind="latency",
    )


def whole(
    name: str,
    *,
    writer_period: int,
    writer_response: int,
    read: int,
    reader_period: int | None = None,
    method: Literal["sound", "literal"] = "sound",
) -> Bound:
    """Whether no read of a double buffer is torn: the longest read against the time it has [ps].

    `writer_period` is the least time between two jobs of the writer, which updates once in each;
    `writer_response` bounds their response times from when they are due. `read` is the longest from a read's
    first access to its last, preemption included: at most the reader's response time. The method `literal`
    is the paper's condition, that the writer's period be longer than the reader's; it is not sufficient and
    for comparison only.
    """
    if method == "literal":
        if reader_period is None:
            raise ValueError("the paper's condition compares with the reader's period")
        return Bound(
            task=name,
            response=reader_period,
            deadline=writer_period - 1,
            source=PAPER_SOURCE,
            assumptions=("the writer updates once in each period",),
            notes=(
                "unsound, for comparison only: two updates may be close together, at the end of one period of"
                " the writer and the beginning of the next",
            ),
            kind="reader's period",
        )
    gap = writer_period - writer_response
    return Bound(
        task=name,
        response=read,
        deadline=gap,
        source=WHOLE_SOURCE,
        assumptions=(
            "the writer updates once in each job; its jobs are due at least its period apart",
            "a job of the writer writes between when it is due and its response time after that",
        ),
        explanation=(Step("own", "a read, preempted as it may be", 0, read),),
        notes=(
            f"from one update's publication to when the next but one may begin: {in_words(max(gap, 0))}; a"
            " snapshot needs no such condition",
        ),
        kind="longest read",
    )


def never_torn(name: str, side: Side) -> Bound:
    """A snapshot's read: a constant, whatever the writer does."""
    read = read_time("snapshot", side)
    return Bound(
        task=name,
        response=read,
        deadline=None,
        source=SNAPSHOT_SOURCE,
        assumptions=("an access costs at most what the platform says", "the reader is not preempted"),
        explanation=(
            Step("communication", f"{name} is read", 0, read, 1, "at most 4 word accesses and a copy"),
        ),
        notes=("never torn, whatever the periods",),
        kind="longest read",
    )


def age_when_read(
    name: str,
    *,
    writer_period: int | None,
    writer_response: int | None,
    read: int,
    allowed: int | None = None,
) -> Bound:
    """How long before the end of a read the job was due that made the value [ps], for a periodic writer."""
    response: int | None = None
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    if writer_period is None:
        notes = ("its writer is sporadic: the latest value may be any time old",)
    elif writer_response is None:
        notes = ("the response time of its writer has no bound",)
    else:
        response = writer_period + writer_response + read
        steps = (
            Step("communication", "the next job of the writer is not yet due: its period", 0, writer_period),
            Step("own", "it has not yet published: its response time", writer_period, writer_response),
            Step("communication", f"{name} is read", writer_period + writer_response, read),
        )
    return Bound(
        task=name,
        response=response,
        deadline=allowed,
        source=AGE_SOURCE,
        assumptions=(
            "the writer is periodic and updates once in each job, before its end",
            "a read returns the last update completed before it began, or a newer one",
        ),
        explanation=steps,
        notes=notes,
        kind="age when read",
    )
