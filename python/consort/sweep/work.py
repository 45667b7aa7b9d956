# SPDX-License-Identifier: Apache-2.0
"""The work of a sweep's worker: some cells, one after another; and the identity of its code."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from consort import __version__, _engine
from consort.sweep.cells import cells_of
from consort.sweep.evaluate import evaluate

# The parts of Consort that figures depend on.
PARTS = ("analysis", "model", "plan", "simulate", "sweep")
Cell = tuple[int, int]


class OtherCode(Exception):
    """An error: a worker has other code than the client, so their results might differ."""


@dataclass
class Done:
    """A worker's results: the rows of each cell, and the time of each analysis."""

    rows: list[tuple[int, int, list[tuple[Any, ...]]]] = field(default_factory=list)
    seconds: dict[str, tuple[int, float]] = field(default_factory=dict)


@lru_cache(maxsize=1)
def code() -> dict[str, str]:
    """The versions of the code: Consort's version, its engine and its Python code as hashes, and numpy's
    version."""
    package = Path(__file__).resolve().parents[1]
    python = hashlib.blake2b(digest_size=8)
    for part in PARTS:
        for file in sorted((package / part).rglob("*.py")):
            python.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes())
    engine = hashlib.blake2b(Path(str(_engine.__file__)).read_bytes(), digest_size=8)
    return {
        "consort": __version__,
        "engine": engine.hexdigest(),
        "python": python.hexdigest(),
        "numpy": np.__version__,
    }


def run_cells(text: str, chosen: list[Cell], expected: dict[str, str]) -> Done:
    """The figures of some cells of a spec's JSON text, on a worker that has the client's code."""
    here = code()
    if here != expected:
        raise OtherCode(
            ", ".join(f"{k} {here[k]} instead of {v}" for k, v in expected.items() if here[k] != v)
        )
    cells = cells_of(text)
    done = Done()
    for combination, block in chosen:
        began = time.perf_counter()
        done.rows.append((combination, block, evaluate(cells, combination, block)))
        analysis = cells.combinations[combination].analysis
        count, seconds = done.seconds.get(analysis, (0, 0.0))
        done.seconds[analysis] = count + 1, seconds + time.perf_counter() - began
    return done
