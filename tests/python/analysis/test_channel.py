# SPDX-License-Identifier: Apache-2.0
"""Channels: costs from a memory's figures, torn reads and ages against a double buffer that is played."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from consort.analysis.channels import (
    WORD_BYTES,
    Side,
    age_when_read,
    latency,
    never_torn,
    read_time,
    whole,
    write_time,
)
from consort.analysis.system import analyze_system
from consort.model import platform_from_data, system_from_data
from consort.model.memories import Memory
from hypothesis import given
from hypothesis import strategies as st

NS = 1000


def test_costs_follow_from_the_memory() -> None:
    memory = Memory.model_validate(
        {
            "kind": "ocm",
            "access": {
                "base": "100ns",
                "per_byte": "1ns",
                "from": {"r5f": {"base": "50ns", "loaded": {"base": "80ns", "per_byte": "2ns"}}},
            },
        }
    )

    def side(processor: str, *, loaded: bool = True) -> Side:
        sizes = (WORD_BYTES, 64)
        word, copy = (memory.access_picoseconds(size, processor, loaded=loaded) for size in sizes)
        assert word is not None and copy is not None
        return Side(word, copy)

    writer, reader = side("a72"), side("r5f")
    assert writer == Side(104 * NS, 164 * NS)
    assert reader == Side(88 * NS, 208 * NS)
    assert side("r5f", loaded=False) == Side(50 * NS, 50 * NS)
    bound = latency("servo.in", "mailbox", writer, reader, allowed=1500 * NS)
    assert bound.response == (3 * 104 + 164 + 88 + 3 * 88 + 208) * NS
    assert bound.schedulable
    assert sum(step.length for step in bound.explanation) == bound.response


def test_counted_accesses_cover_those_of_the_library() -> None:
    """The numbers of word accesses are those that the headers promise."""
    headers = Path(__file__).parents[3] / "include" / "consort" / "icc"
    mailbox = (headers / "mailbox.hpp").read_text(encoding="utf-8")
    assert "at most three word accesses and one copy of T each" in mailbox
    snapshot = " ".join(
        re.sub(r"^// ?", "", line) for line in (headers / "snapshot.hpp").read_text().splitlines()
    )
    assert (
        "update = Readers word loads, 3 word stores, one copy of T, and, of a small value, another copy and"
        " 2 word stores" in snapshot
    )
    assert (
        "read = 3 word accesses, one stamp, at most one copy, and, of a small value, 2 word loads and at most"
        " another copy" in snapshot
    )
    one = Side(word=1, copy=0)
    assert write_time("mailbox", one) == read_time("mailbox", one) == 3
    assert write_time("snapshot", one, readers=3) >= 3 + 3 + 2
    assert read_time("snapshot", one) == 3 + 1 + 2
    assert read_time("snapshot", Side(word=0, copy=1)) == write_time("snapshot", Side(word=0, copy=1)) == 2
    assert never_torn("gains", Side(10, 100)).response == 260


def play(updates: list[tuple[int, int]], read: tuple[int, int]) -> bool:
    """True if a read (first access, end) of a double buffer is torn by updates (first access, end)."""
    begin, end = read
    active = 0
    index = 0
    for i, (_, published) in enumerate(updates):
        if published <= begin:
            active, index = (i + 1) % 2, i + 1
    return any(
        (i + 1) % 2 == active and start < end and published > begin
        for i, (start, published) in enumerate(updates)
        if i >= index
    )


def test_the_papers_condition_does_not_suffice() -> None:
    """The writer's period is longer than the reader's, and a read of 3 is torn: one update at the end of a
    period, one at the beginning of the next."""
    paper = whole("gains", writer_period=10, writer_response=10, read=3, reader_period=9, method="literal")
    assert paper.schedulable and "unsound" in paper.notes[0]
    assert play([(8, 9), (10, 11), (20, 21)], (8, 11))
    assert not whole("gains", writer_period=10, writer_response=10, read=3).schedulable
    assert not whole(
        "gains", writer_period=9, writer_response=1, read=1, reader_period=9, method="literal"
    ).schedulable


@st.composite
def updates(draw: st.DrawFn) -> tuple[int, int, list[tuple[int, int]]]:
    period = draw(st.integers(4, 12))
    response = draw(st.integers(2, period))
    jobs = []
    due = 0
    for _ in range(12):
        begin = draw(st.integers(0, response - 1))
        jobs.append((due + begin, due + draw(st.integers(begin + 1, response))))
        due += period + draw(st.sampled_from((0, 0, 1)))
    return period, response, jobs


@given(updates(), st.integers(0, 100), st.integers(1, 12))
def test_what_is_called_whole_is_never_torn(
    writer: tuple[int, int, list[tuple[int, int]]], begin: int, length: int
) -> None:
    period, response, jobs = writer
    if whole("gains", writer_period=period, writer_response=response, read=length).schedulable:
        assert not play(jobs, (begin, begin + length))


@given(st.integers(4, 12), st.data())
def test_the_condition_is_tight(period: int, data: st.DataObject) -> None:
    """Longer than the gap, and some writer tears the read (moments are whole ticks here, so by two)."""
    response = data.draw(st.integers(2, period))
    read = period - response + 1
    assert not whole("gains", writer_period=period, writer_response=response, read=read).schedulable
    jobs = [
        (response - 2, response - 1),
        (period + response - 2, period + response),
        (2 * period, 2 * period + 1),
    ]
    assert play(jobs, (period + response - 1, period + response - 1 + read + 1))


@given(updates(), st.integers(30, 90), st.integers(1, 5))
def test_no_value_is_older(writer: tuple[int, int, list[tuple[int, int]]], begin: int, length: int) -> None:
    period, response, _ = writer
    # Strictly periodic, published as late as may be every other time.
    jobs = [(k * period, k * period + (response if k % 2 else 1)) for k in range(-20, 40)]
    newest = max(due for due, published in jobs if published <= begin)
    bound = age_when_read("gains", writer_period=period, writer_response=response, read=length)
    assert bound.response is not None and begin + length - newest <= bound.response


@pytest.mark.parametrize(("period", "response", "text"), [(None, 1, "sporadic"), (5, None, "no bound")])
def test_no_age_without_a_periodic_bounded_writer(
    period: int | None, response: int | None, text: str
) -> None:
    bound = age_when_read("gains", writer_period=period, writer_response=response, read=1)
    assert bound.response is None and text in bound.notes[0]


@pytest.mark.parametrize("implementation", ["snapshot", "double-buffer"])
def test_the_age_of_what_a_reader_without_a_bound_reads_has_none(implementation: str) -> None:
    """It would be lower than that of a reader with a bound: 1.012 ms, where 6.52 ms is right."""

    def ages(hog: str) -> list[int | None]:
        cores = {
            "processor": "p",
            "count": 1,
            "context_switch": "1us",
            "timer_lateness": {"value": "0ns", "assumed": "none in this test"},
        }
        platform = platform_from_data(
            {
                "consort": 1,
                "name": "two",
                "processors": {"p": {"isa": "x86_64"}},
                "cores": {"a": cores, "b": cores},
                "memories": {"shm": {"kind": "sram", "access": {"base": "10ns", "per_byte": "1ns"}}},
            }
        )
        tasks = {
            "w": {"period": "1ms", "wcet": "10us", "on": "a-0"},
            "hog": {"period": "2ms", "wcet": hog, "on": "b-0", "priority": 9},
            "r": {"period": "10ms", "wcet": "1ms", "on": "b-0", "priority": 1},
        }
        channel = {
            "kind": "sporadic",
            "implementation": implementation,
            "from": "w",
            "to": ["r"],
            "memory": "shm",
            "size": "64B",
        }
        described = {"consort": 1, "platform": "two.yaml", "assumed": "a test", "tasks": tasks}
        described |= {"channels": {"k": channel}, "run": {"time_base": "spin"}}
        system = system_from_data(described, file=Path("s.yaml"), platform=platform)
        return [bound.response for bound in analyze_system(system) if bound.kind == "age when read"]

    assert ages("1500us") == [6520 * 1000 * NS]
    assert ages("2ms") == []
    unread = age_when_read("k", writer_period=10, writer_response=2, read=None)
    assert unread.response is None and unread.notes == ("the response time of its reader has no bound",)
