# SPDX-License-Identifier: Apache-2.0
"""Cells put together into tasks: each once, of about one length, shorter towards the end."""

from __future__ import annotations

import pytest
from consort.sweep.cells import Cells, spec_of
from consort.sweep.load import load_sweep
from consort.sweep.work import MOST_CELLS, Batches, Done


@pytest.fixture
def cells(small) -> Cells:
    small.write_text(small.read_text().replace("block: 100", "block: 1"))
    return Cells(spec_of(load_sweep(small)))


def drawn(batches: Batches, cost: dict[str, float]) -> list[list[tuple[int, int]]]:
    """All batches, each learnt from as if its cells took so long."""
    found = []
    for batch in batches:
        found.append(batch)
        seconds: dict[str, tuple[int, float]] = {}
        for combination, _ in batch:
            analysis = batches.cells.combinations[combination].analysis
            count, before = seconds.get(analysis, (0, 0.0))
            seconds[analysis] = count + 1, before + cost[analysis]
        batches.learn(Done(seconds=seconds))
    return found


COST = {"fixed-priority": 0.002, "edf": 0.001, "three-phase": 0.02}


@pytest.mark.parametrize("workers", [1, 4, 1000])
def test_each_cell_once(cells, workers):
    finished = set(list(cells)[::3])
    found = drawn(Batches(cells, finished, workers), COST)
    flat = [cell for batch in found for cell in batch]
    assert sorted(flat) == sorted(set(cells) - finished)
    assert max(map(len, found)) <= MOST_CELLS


def test_length_of_tasks(cells):
    def seconds(batch):
        return sum(COST[cells.combinations[c].analysis] for c, _ in batch)

    found = [seconds(batch) for batch in drawn(Batches(cells, set(), 2), COST)]
    # One cell of each analysis is tried; then a second each; towards the end less.
    assert found[0] < 0.1 and 0.8 < max(found) < 1.6
    assert found[-2] < 0.3 and found[len(found) // 3] > 3 * found[-2]
    # A thousand workers: tasks of ten seconds, were there so many cells.
    many = Batches(cells, set(), 1000)
    assert many.seconds == 10


def test_what_was_lost_comes_first(cells):
    batches = Batches(cells, set(), 1)
    first = next(batches)
    batches.again(first)
    assert next(batches) == first
