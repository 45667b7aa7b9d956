# SPDX-License-Identifier: Apache-2.0
"""Figures that Neef et al. print for Figures 2 and 3, the model fitted to two of them, and its errors.

The paper prints few numbers: two are fitted, the others predicted. Its plots are not read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.qdma import DIRECTIONS, KIB, MIB, PACKETS, TRANSFERS, Direction, NoFit, Qdma, fitted

PAPER = "cross-isa-embedded-plus"
SOURCE = "Neef et al., Toward Real-Time Cross-ISA Execution on the AMD Embedded+ Architecture"
SMALL, LARGE = 4 * KIB, 2 * MIB
OUTSTANDING = (1, 4, 16, 64)
# Alternatives for values that the paper does not name.
PAYLOADS, SETUPS = (128, 256, 512), (5_000.0, 10_000.0, 20_000.0)


def published(name: str) -> list[Published]:
    return read_published(experiment_folder(PAPER, name) / "published.csv")


def number(rows: list[Published], statistic: str, **of: str) -> float:
    """The one published value of a statistic."""
    found = [r.value for r in rows if r.statistic == statistic and of.items() <= r.of.items()]
    if len(found) != 1 or found[0] is None:
        raise LookupError(f"published.csv has no single value {statistic!r} of {of}")
    return found[0]


def model_of(start: Qdma | None = None) -> Qdma:
    """The model, fitted to the plateau and the improvement in the direction Versal->x86."""
    plateau = number(published("figure2"), "plateau", direction="Versal->x86")
    improvement = number(published("figure3"), "mean reduction of the time")
    return fitted(plateau, improvement, start)


def plateau(model: Qdma, direction: Direction) -> float:
    """GB/s of the largest packets with as many in flight as it takes."""
    return model.throughput(direction, PACKETS[-1], float("inf"))


def effective(model: Qdma, direction: Direction, size: int, descriptor: int) -> float:
    """GB/s of one blocking transfer."""
    return size / model.blocking_ns(direction, size, descriptor)


def points(model: Qdma, name: str) -> list[dict[str, Any]]:
    """Each printed figure beside the model's; `fitted` marks those that the parameters come from."""
    rows = published(name)
    made = []
    for direction in DIRECTIONS:
        is_fitted = direction == "Versal->x86"
        if name == "figure2":
            printed = number(rows, "plateau", direction=direction)
            made.append(_point("plateau", direction, printed, plateau(model, direction), "GB/s", is_fitted))
            continue
        printed = number(rows, "mean reduction of the time")
        made.append(_point("improvement", direction, printed, model.improvement(direction), "%", is_fitted))
        rate = number(rows, "rate of the largest transfer")
        modelled = effective(model, direction, TRANSFERS[-1], LARGE)
        made.append(_point("rate of 64 MiB, patched", direction, rate, modelled, "GB/s", False))
    return made


def _point(
    what: str, direction: str, printed: float, modelled: float, unit: str, is_fitted: bool
) -> dict[str, Any]:
    return {
        "point": what,
        "direction": direction,
        "published": printed,
        "modelled": round(modelled, 4),
        "unit": unit,
        "error_percent": round(100 * (modelled / printed - 1), 2),
        "fitted": is_fitted,
        "provenance": "derived",
    }


def largest_error(rows: list[dict[str, Any]], *, of_fitted: bool) -> float:
    return max(abs(float(row["error_percent"])) for row in rows if row["fitted"] == of_fitted)


def sensitivity() -> list[dict[str, Any]]:
    """The fit again with other values of the assumptions: parameters, and the largest error not fitted."""
    made = []
    for payload in PAYLOADS:
        for setup in SETUPS:
            row: dict[str, Any] = {"payload_b": payload, "setup_ns": setup}
            try:
                model = model_of(replace(Qdma(), payload=payload, setup_ns=setup))
            except NoFit as error:
                made.append(
                    row | {"engine_ns": None, "descriptor_ns": None, "error": None, "why": str(error)}
                )
                continue
            unseen = points(model, "figure2") + points(model, "figure3")
            made.append(
                row
                | {
                    "engine_ns": round(model.engine_ns, 1),
                    "descriptor_ns": round(model.post_and_fetch_ns, 1),
                    "error": largest_error(unseen, of_fitted=False),
                    "why": "",
                }
            )
    return made
