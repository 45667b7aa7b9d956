# SPDX-License-Identifier: Apache-2.0
"""Channels in shared memory: costs of their operations, arrival of data, its integrity and its age.

Costs follow from the number of word accesses and copies of each operation of include/consort/icc and from
what an access to the memory costs. docs/explanation/analyses.md, theorems 14 to 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from consort.analysis.result import Bound, Step, Used, in_words

_DOC = "docs/explanation/analyses.md"
LATENCY_SOURCE = f"{_DOC}, theorem 14"
WHOLE_SOURCE = f"{_DOC}, theorem 15"
PAPER_SOURCE = "Coppik et al., NG-RES 2025 (low-latency-icc), section 4.2, last paragraph, as printed"
AGE_SOURCE = f"{_DOC}, theorem 16"
SNAPSHOT_SOURCE = "docs/explanation/channels.md (Simpson 1990)"
WORD_BYTES = 4
# Words of a mailbox's write (the acknowledgement, the one carried back, the sequence), and of its read.
MAILBOX_WORDS = 3

Implementation = Literal["mailbox", "double-buffer", "snapshot", "queue"]


@dataclass(frozen=True)
class Side:
    """One side's costs in a channel's memory [ps]: an access to a word, and a copy of one block."""

    word: int
    copy: int
    used: tuple[Used, ...] = ()


def write_time(implementation: Implementation, side: Side, readers: int = 1) -> int:
    """The longest time [ps] of a write that neither waits nor is preempted."""
    words = {
        "mailbox": MAILBOX_WORDS,
        "queue": 3,  # the other end's index, its own index, the sequence
        "double-buffer": 1,  # which buffer is active
        # Every announcement; the stamp, the slot, the pair, its own line; of a small value two words more.
        "snapshot": readers + 6,
    }[implementation]
    return words * side.word + _copies(implementation) * side.copy


def read_time(implementation: Implementation, side: Side) -> int:
    """The longest a read takes that finds data [ps], if nothing preempts it."""
    words = {"mailbox": MAILBOX_WORDS, "queue": 3, "double-buffer": 1, "snapshot": 6}[implementation]
    return words * side.word + _copies(implementation) * side.copy


def _copies(implementation: Implementation) -> int:
    """A small value of a snapshot lies in two places; which are small depends on the target's lines."""
    return 2 if implementation == "snapshot" else 1


def latency(
    name: str,
    implementation: Literal["mailbox", "queue"],
    writer: Side,
    reader: Side,
    *,
    allowed: int | None = None,
) -> Bound:
    """The latency from the begin of a write until a reader that keeps looking has the block."""
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
    """The bound that no read of a double buffer is torn: the longest read against the time it has [ps].

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
            Step("communication", f"{name} is read", 0, read, 1, "at most 6 word accesses and 2 copies"),
        ),
        notes=("never torn, whatever the periods",),
        kind="longest read",
    )


def age_when_read(
    name: str,
    *,
    writer_period: int | None,
    writer_response: int | None,
    read: int | None,
    allowed: int | None = None,
) -> Bound:
    """The age of a value at the end of its read [ps], from when the job that made it was due, for a periodic
    writer.

    `read` is the longest from a read's first access to its last, preemption included; None has no bound.
    """
    response: int | None = None
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    if writer_period is None:
        notes = ("its writer is sporadic: the latest value may be any time old",)
    elif writer_response is None:
        notes = ("the response time of its writer has no bound",)
    elif read is None:
        notes = ("the response time of its reader has no bound",)
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


def version_age(
    name: str,
    *,
    writer_period: int | None,
    writer_interval: int,
    holds: bool,
    read: int | None,
    allowed: int | None = None,
) -> Bound:
    """Under logical execution time: how long before a read's end the job was due that made the value [ps].

    A read returns the newest version whose writer's deadline, `writer_interval` after it was due, is not
    later than the reader's release; it ends at most `read` after that release. `holds` is whether every job
    of the writer is done by its deadline.
    """
    response: int | None = None
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    if writer_period is None:
        notes = ("its writer is sporadic: the latest value may be any time old",)
    elif not holds:
        notes = ("the response time of its writer has no bound that meets its deadline",)
    elif read is None:
        notes = ("the response time of its reader has no bound",)
    else:
        readable = writer_period + writer_interval
        response = readable + read
        steps = (
            Step("communication", "the next version is not yet readable: a period", 0, writer_period),
            Step(
                "own", "a version is readable from its writer's deadline on", writer_period, writer_interval
            ),
            Step(
                "communication", "the reader's job, from its release to the end of its read", readable, read
            ),
        )
    return Bound(
        task=name,
        response=response,
        deadline=allowed,
        source=AGE_SOURCE,
        assumptions=(
            "the writer is periodic and each of its jobs is done within its interval",
            "a read returns the newest version that is readable at its reader's release",
        ),
        explanation=steps,
        notes=notes,
        kind="age when read",
    )
