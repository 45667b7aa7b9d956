# SPDX-License-Identifier: Apache-2.0
"""`consort bench cross-isa-architectures`: how long what an architecture has to move takes over the link.

Neef et al. name three software architectures for x86 beside Arm and compare none of them. What differs is
how much has to be moved before a task goes on: all of a virtual machine, pages when they are touched, or
the state of the task. The times are those of the link's model, fitted to the paper's figures; they are lower
limits, since what stops, sends, maps and starts is not in them.
"""

from __future__ import annotations

from typing import Any

from consort_bench.cross_isa_points import LARGE, SMALL, largest_error, model_of, points
from consort_bench.qdma import DIRECTIONS, TRANSFERS, Qdma
from consort_bench.registry import BenchResult, Options, goal

Row = dict[str, Any]
ERROR_LIMIT = 10.0
# Beside the paper's sizes: a controller with 41 states, in single precision, and two counters.
STATE = 172


def run(options: Options) -> BenchResult:
    """Nothing is measured: the rows follow from the fit alone."""
    model = model_of()
    fit = [*points(model, "figure2"), *points(model, "figure3")]
    rows = moved(model)
    limit = goal(
        "cross_isa_architectures_largest_error",
        largest_error(fit, of_fitted=False),
        "%",
        "<=",
        ERROR_LIMIT,
        provenance="derived",
    )
    return BenchResult([limit], rows, notes=NOTES)


NOTES = [
    "at once: one blocking transfer in descriptors of 2 MiB, the slower direction (a virtual machine that is"
    " stopped, or the state of a task); in pieces: the same with the default driver, descriptors of 4 KiB",
    "by pages: a blocking transfer of 4 KiB for each page, as a multikernel's distributed shared memory"
    " fetches what a thread touches, one after the other, without its protocol",
]


def moved(model: Qdma) -> list[Row]:
    """Moved objects, and the time of each way in the slower direction [us]."""
    sizes = [("a controller's state", STATE), *((size_of(size), size) for size in TRANSFERS)]
    return [
        {
            "moved": name,
            "bytes": size,
            "at_once_us": slower(model, size, LARGE),
            "in_pieces_us": slower(model, size, SMALL),
            "by_pages_us": -(-size // SMALL) * slower(model, SMALL, SMALL),
            "provenance": "derived",
        }
        for name, size in sizes
    ]


def slower(model: Qdma, size: int, descriptor: int) -> float:
    return max(model.blocking_ns(direction, size, descriptor) for direction in DIRECTIONS) / 1000


def size_of(size: int) -> str:
    """A size in the table's form."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
