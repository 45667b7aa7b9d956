# SPDX-License-Identifier: Apache-2.0
"""Cells put together into tasks of about one length, from what the cells before took."""

from __future__ import annotations

from collections.abc import Iterator

from consort.sweep.cells import Cells
from consort.sweep.work import Cell, Done

# A task costs a scheduler about a millisecond; it does a hundred of them a second at ease.
TASK_SECONDS, TASKS_PER_SECOND = 1.0, 100.0
# A task is at most one of so many parts of the rest for each worker, and no shorter than that [s].
SHARES, SHORTEST_SECONDS = 4, 0.1
# The data that one task sends back stays small, and so does the loss when its worker dies.
MOST_CELLS = 2_000


class Batches:
    """Hands out the cells that are to be done, so many at a time as take `TASK_SECONDS`."""

    def __init__(self, cells: Cells, finished: set[Cell], workers: int) -> None:
        self.cells = cells
        self.workers = workers
        self.seconds = max(TASK_SECONDS, workers / TASKS_PER_SECOND)
        self.left = len(cells) - len(finished)
        """Cells that were not handed out yet."""
        self._waiting = (cell for cell in cells if cell not in finished)
        self._returned: list[list[Cell]] = []
        self._held: Cell | None = None
        # Seconds of a cell by its analysis; one that is not known is tried by itself.
        self._cost: dict[str, float] = {}

    def learn(self, done: Done) -> None:
        """Takes the newest times into account; a cost changes along a sweep."""
        for analysis, (count, seconds) in done.seconds.items():
            before = self._cost.get(analysis, seconds / count)
            self._cost[analysis] = (before + seconds / count) / 2

    def again(self, batch: list[Cell]) -> None:
        """Hands a batch out once more, before others."""
        self._returned.append(batch)

    def __iter__(self) -> Iterator[list[Cell]]:
        return self

    def __next__(self) -> list[Cell]:
        if self._returned:
            return self._returned.pop()
        batch: list[Cell] = []
        seconds, wanted = 0.0, self._wanted()
        while len(batch) < MOST_CELLS and seconds < wanted:
            cell = self._held if self._held is not None else next(self._waiting, None)
            self._held = None
            if cell is None:
                break
            cost = self._cost.get(self.cells.combinations[cell[0]].analysis)
            if batch and (cost is None or seconds + cost > 1.5 * wanted):
                self._held = cell
                break
            batch.append(cell)
            seconds += wanted if cost is None else cost
        if not batch:
            raise StopIteration
        self.left -= len(batch)
        return batch

    def _wanted(self) -> float:
        """The wanted time of a batch [s]: shorter towards the end, so that all workers end together."""
        if not self._cost:
            return self.seconds
        ahead = self.left * sum(self._cost.values()) / len(self._cost)
        return min(self.seconds, max(ahead / (SHARES * self.workers), SHORTEST_SECONDS))
