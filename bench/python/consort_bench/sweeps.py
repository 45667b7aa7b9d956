# SPDX-License-Identifier: Apache-2.0
"""Sweeps of bench/sweeps, run one after another on one set of workers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from consort.base.toolchain.builds import need_source_tree
from consort.base.waiting import Progress
from consort.sweep.cells import Cells, spec_of
from consort.sweep.load import load_sweep
from consort.sweep.run import run
from consort.sweep.store import Point, identity, points

if TYPE_CHECKING:
    from distributed import LocalCluster


def sweep_file(name: str) -> Path:
    """bench/sweeps/<name>.yaml of the source tree."""
    return need_source_tree("a sweep of the benchmarks") / "bench" / "sweeps" / f"{name}.yaml"


def points_of(name: str, sets: int, root: Path, workers: LocalCluster, progress: Progress) -> Sequence[Point]:
    """The points of a sweep with so many sets; points finished before under `root` are not computed again."""
    cells = Cells(spec_of(load_sweep(sweep_file(name), sets)))
    folder = root / "sweeps" / f"{name}-{identity(cells)[:16]}"
    found: list[Point] = []
    run(
        cells,
        folder,
        name,
        scheduler=workers,
        progress=lambda _what, share: progress(name.replace("-", " "), share),
        finish=lambda result: found.extend(points(cells, result)),
    )
    return found
