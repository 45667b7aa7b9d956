# SPDX-License-Identifier: Apache-2.0
"""Instructions counted on the boards: they repeat, hold their limits, and a change is reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from board_support import board, consort
from consort.base.errors import BadInput
from consort.board.count import OPERATIONS, Count, changes, count, load, store, stored_file


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> list[Count]:
    board("versal")
    board("mps2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONSORT_BOARDS", str(tmp_path_factory.mktemp("b", numbered=True)))
        return count()


def of(counts: list[Count], core: str, operation: str) -> int:
    return next(c.instructions for c in counts if (c.core, c.operation) == (core, operation))


def test_counts_repeat(counts: list[Count]) -> None:
    assert count() == counts
    assert len(counts) == len({found.core for found in counts}) * len(OPERATIONS)
    assert len(counts) >= 3 * len(OPERATIONS)


def test_the_step_fits_a_microcontroller(counts: list[Count]) -> None:
    assert 100 < of(counts, "Cortex-M4F", "step f32") <= 600
    assert 100 < of(counts, "Cortex-M4F", "step q31") <= 1800
    # Beside it, what the master adds to offload the step: less than the step itself.
    assert 50 < of(counts, "Cortex-M4F", "master's cycle, f32") < of(counts, "Cortex-M4F", "step f32")
    # The form without the model's structure, for comparison: 41 x 41 products.
    assert of(counts, "Cortex-M4F", "step dense f32") > 10 * of(counts, "Cortex-M4F", "step f32")


def test_counts_are_those_stored(counts: list[Count]) -> None:
    assert changes(counts, load(stored_file())) == []


def test_a_change_above_two_percent_is_told(counts: list[Count], tmp_path: Path) -> None:
    slower = [replace(counts[0], instructions=counts[0].instructions * 103 // 100), *counts[1:]]
    (found,) = changes(slower, counts)
    assert found.startswith(f"{counts[0].core}: step f32: ") and "(+" in found
    slightly = [replace(c, instructions=c.instructions * 101 // 100) for c in counts]
    assert changes(slightly, counts) == []
    # Another compiler's figures are not compared; a missing one is named.
    assert changes(slower, [replace(c, compiler="another") for c in counts]) == []
    assert changes(counts, counts[1:]) == [f"{counts[0].core}: step f32: nothing is stored"]
    # A core of which nothing at all is stored is new, not changed.
    assert changes(counts, [c for c in counts if c.core != counts[0].core]) == []
    store(counts, tmp_path / "counts.csv")
    assert load(tmp_path / "counts.csv") == counts
    store(slower, tmp_path / "slower.csv")
    same = consort("compare", str(tmp_path / "counts.csv"), str(tmp_path / "counts.csv"))
    assert same.returncode == 0 and "+0.0%" in same.stdout
    done = consort("compare", str(tmp_path / "counts.csv"), str(tmp_path / "slower.csv"))
    assert done.returncode == 1 and f"{counts[0].core}: step f32: " in done.stderr
    store(counts[1:], tmp_path / "fewer.csv")
    done = consort("compare", str(tmp_path / "counts.csv"), str(tmp_path / "fewer.csv"))
    assert done.returncode == 1 and f"{counts[0].core}: step f32: not counted" in done.stderr
    (tmp_path / "counts.csv").write_text("core,operation\nx,y\n")
    with pytest.raises(BadInput, match="not a table of counts"):
        load(tmp_path / "counts.csv")
