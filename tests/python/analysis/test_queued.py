# SPDX-License-Identifier: Apache-2.0
"""Chains through channels that hand out the oldest block: the backlog is in the bounds, or there is none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import queued
from consort.analysis import system as analyses
from consort.analysis.backlog import Behind
from consort.analysis.system import analyze_system
from consort.model import System, load_system, platform_from_data, system_from_data
from consort.model.channel import SEMANTICS
from consort.model.rules import warnings_of
from consort.simulate.build import prepare
from consort.simulate.chains import simulate_with_chains
from consort.simulate.room import taken_in_order

ROOT = Path(__file__).resolve().parents[3]
MS, US = 10**9, 10**6


@pytest.mark.representative
def test_no_chain_exceeds_its_bounds() -> None:
    results = [queued.attack(seed) for seed in range(500)]
    assert sum(held for held, _, _ in results) > 400 and sum(reached for _, reached, _ in results) > 5
    assert sum(exceeded for _, _, exceeded in results) == 0


def test_bounds_of_the_newest_block_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The analysis took every channel for this: no backlog, and no block that is dropped."""
    monkeypatch.setattr(analyses, "behind", lambda *_: Behind(in_order=False))
    assert any(queued.attack(seed)[2] for seed in range(200))


def chain(
    channel: dict[str, Any], writer: dict[str, Any], reader: dict[str, Any], file: Path = Path("s.yaml")
) -> System:
    platform = platform_from_data(queued.PLATFORM)
    data = {
        "consort": 1,
        "platform": "queued.yaml",
        "assumed": "a test",
        "run": {"time_base": "spin"},
        "tasks": {"w": {"on": "c-1", **writer}, "r": {"on": "c-2", **reader}},
        "channels": {"k": {"from": "w", "to": ["r"], "memory": "free", "size": "8B", **channel}},
        "chains": {"x": {"path": ["w", "r"], "reaction": "1s", "age": "1s"}},
    }
    return system_from_data(data, file=file, platform=platform)


def bounds(system: System) -> tuple[int | None, int | None, str]:
    reaction, age = (bound for bound in analyze_system(system) if bound.task == "x")
    return reaction.response, age.response, " ".join(reaction.notes)


def seen(system: System, choice: Any = "uniform") -> tuple[int | None, int | None]:
    found = simulate_with_chains(prepare(system), 10**12, 1, choice=choice)[1]["x"]
    return found.reaction, found.age


EARLY = {"period": "100us", "wcet": "40us", "bcet": "1us"}


def test_a_mailbox_whose_writer_is_early_at_times_drops_blocks() -> None:
    """245 us were said; 322 us happen when a block was not read before the next one came."""
    system = chain({}, EARLY, {"period": "100us", "offset": "20us", "wcet": "1us"})
    reaction, age, why = bounds(system)
    assert (reaction, age) == (
        None,
        None,
    ) and "k holds one block and hands out the oldest, and 2 may wait" in why
    longest = seen(system)[0]
    assert longest is not None and 250 * US < longest < 322 * US
    # A queue of two holds them, a snapshot hands out the newest, and a later reader meets each block.
    for channel, reader in (
        ({"kind": "queue", "capacity": 2}, {"offset": "20us"}),
        ({"kind": "sporadic"}, {"offset": "20us"}),
        ({}, {"offset": "41us"}),
    ):
        system = chain(channel, EARLY, {"period": "100us", "wcet": "1us", **reader})
        reaction, age, _ = bounds(system)
        assert reaction is not None and age is not None
        found = seen(system)
        assert (found[0] or 0) <= reaction and (found[1] or 0) <= age


def test_the_backlog_of_a_queue_whose_reader_begins_late_stays() -> None:
    """By hand: 4 blocks lie in the queue when the reader begins, which takes one for each that comes."""
    task = {"period": "10ms", "wcet": "1ms"}
    system = chain({"kind": "queue", "capacity": 8}, task, task | {"offset": "40ms"})
    assert bounds(system)[:2] == (51 * MS, 51 * MS) == seen(system, "worst")
    full = chain({"kind": "queue", "capacity": 3}, task, task | {"offset": "40ms"})
    assert bounds(full)[0] is None
    # The newest block is 10 ms old at most when it is read; only the first stimuli wait for the reader.
    newest = chain({"kind": "sporadic"}, task, task | {"offset": "40ms"})
    assert bounds(newest)[:2] == (41 * MS, 22 * MS)


def test_a_reader_that_is_slower_loses_blocks(tmp_path: Path) -> None:
    task = {"period": "10ms", "wcet": "1ms"}
    slower = chain({"kind": "queue", "capacity": 8}, task, task | {"period": "20ms"})
    reaction, _, why = bounds(slower)
    assert reaction is None and "k gets a block each 10ms, and r takes the oldest each 20ms" in why
    (warning,) = warnings_of(slower)
    assert "r takes one each 20ms: it fills, and blocks are dropped" in str(warning)
    faster = chain({"kind": "queue", "capacity": 8}, task, task | {"period": "5ms"})
    assert warnings_of(faster) == [] and bounds(faster)[0] is not None
    # Unless its step takes several.
    drive = load_system(ROOT / "examples" / "drive" / "system.yaml")
    assert warnings_of(drive) == []
    diagnosis = next(bound for bound in analyze_system(drive) if bound.task == "diagnosis")
    assert any(
        "a job of monitor takes all blocks that wait in samples" in text for text in diagnosis.assumptions
    )


def test_blocks_are_taken_one_a_job_and_dropped_where_there_is_no_room() -> None:
    def taken(there: list[int], reads: list[int], capacity: int) -> list[list[int]]:
        return [part.tolist() for part in taken_in_order(np.array(there), np.array(reads), capacity)]

    assert taken([1, 2, 3], [5, 6, 7, 8], 3) == [[False] * 3, [1, 2, 3, 3], [1, 1, 1, 0]]
    # The third finds no room.
    assert taken([1, 2, 3, 6], [5, 6, 7, 8], 2) == [[False, False, True, False], [1, 2, 4, 4], [1, 1, 1, 0]]
    # One that comes when a job reads came first; what comes after the last read may find no room, too.
    assert taken([1, 2, 3, 4], [2], 2) == [[False, False, False, True], [1], [1]]
    several = taken_in_order(np.array([1, 2, 3, 6]), np.array([5, 6]), 2, several=True)
    assert [part.tolist() for part in several] == [[False, False, True, False], [2, 4], [2, 1]]


def test_the_meaning_of_a_kind_stands_once() -> None:
    """The page has the table of `SEMANTICS`, and the executive's ends of channels do what it says."""
    page = (ROOT / "docs" / "explanation" / "channels.md").read_text(encoding="utf-8")
    full = {"dropped": "is dropped", "replaces": "replaces an older one"}
    for held, one in SEMANTICS.items():
        assert re.search(rf"^\| {held} \| .* \| the {one.read} \| {full[one.full]} \|$", page, re.MULTILINE)
    ends = (ROOT / "include" / "consort" / "app" / "channel_ends.hpp").read_text(encoding="utf-8")
    made = {"mailbox": "Mailbox", "queue": "Queue", "snapshot": "Snapshot", "double-buffer": "DoubleBuffer"}
    for held, name in made.items():
        base = "InOrder" if SEMANTICS[held].read == "oldest" else "NewestOnly"
        assert f"struct {name}Of : {base}<" in ends
    assert re.search(r"struct VersionsOf \{[^}]*queued = false", ends)


def test_a_batch_is_found_in_the_headers_that_a_step_includes(tmp_path: Path) -> None:
    def takes_several(header: str) -> bool:
        (tmp_path / "step.hpp").write_text(header)
        reader = {"period": "4ms", "wcet": "1us", "step": "step.hpp::step"}
        queue, writer = {"kind": "queue", "capacity": 8}, {"period": "1ms", "wcet": "1us"}
        return chain(queue, writer, reader, tmp_path / "s.yaml").takes_several("r")

    (tmp_path / "types.hpp").write_text("struct In { consort::Batch<float, 4> taken; };")
    assert takes_several('#include "types.hpp"')
    assert takes_several("struct In { Batch <int, 2> taken; };")
    assert not takes_several('// a Batch<int, 2>\n/* #include "types.hpp" */ struct In { int taken; };')
    assert takes_several("using In = consort::spm::Messages<4, 64>;")
    assert takes_several("using namespace consort::spm; using In = Messages<4, 64>;")
    # Two that include each other, and one that is not there.
    (tmp_path / "types.hpp").write_text('#include "step.hpp"\n#include "nowhere.hpp"')
    assert not takes_several('#include "types.hpp"')
    # Files that the system refuses to look for, and folders in which every way leads back.
    (tmp_path / "self.hpp").symlink_to("self.hpp")
    for folder in ("a", "b"):
        (tmp_path / folder).symlink_to(".", target_is_directory=True)
    names = ("nul\0.hpp", "x" * 5000, "self.hpp", "a/types.hpp", "b/types.hpp")
    (tmp_path / "types.hpp").write_text("".join(f'#include "{name}"\n' for name in names))
    assert not takes_several('#include "types.hpp"')
