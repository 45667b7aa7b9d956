# SPDX-License-Identifier: Apache-2.0
"""The figures of each kind of sweep: their columns, and how those of blocks become those of a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from consort.sweep.model import Sweep, Varied

Together = Literal["sum", "largest", "elementwise", "first", "none"]
# Parameters in nanoseconds; their columns say so.
DURATIONS = ("shortest", "longest", "slot", "duration", "context_switch")


@dataclass(frozen=True)
class Figure:
    """A column of results: Arrow's type, the way to combine several blocks' values, and its meaning."""

    name: str
    type: str
    together: Together
    meaning: str
    unit: str = ""


_SETS = (
    Figure("sets", "int64", "sum", "task sets that were made"),
    Figure("schedulable", "int64", "sum", "those that the analysis accepts"),
)
FIGURES: dict[str, tuple[Figure, ...]] = {
    "task_sets": _SETS,
    "programs": _SETS,
    "attack": (
        Figure("sets", "int64", "sum", "task sets that the bound accepts and that were attacked"),
        Figure("simulations", "int64", "sum", "schedules that were tried"),
        Figure("violated_sets", "int64", "sum", "sets with a schedule above the bound"),
        Figure("largest_ratio", "double", "largest", "largest simulated response over its bound"),
        Figure(
            "tightness",
            "list<int64>",
            "elementwise",
            "tasks by largest simulated response over bound, in equal steps from 0 to 1",
        ),
        Figure("example", "string", "first", "a schedule above the bound, as JSON"),
    ),
    "description": (
        Figure("name", "string", "none", "the task, chain or channel; empty: the system"),
        Figure("kind", "string", "none", "what is bounded, or found out"),
        Figure("core", "string", "none", "the task's core"),
        Figure("bound_ps", "int64", "none", "upper bound", "ps"),
        Figure("allowed_ps", "int64", "none", "what it is held against", "ps"),
        Figure("holds", "bool", "none", "whether it holds; none: not known"),
        Figure("simulated_ps", "int64", "none", "largest simulated", "ps"),
        Figure("jobs", "int64", "none", "simulated jobs"),
        Figure("misses", "int64", "none", "simulated deadline misses"),
        Figure("factor", "double", "none", "the factor up to, or down to, which the system is schedulable"),
        Figure("note", "string", "none", "why there is no figure, or what is to be known of it"),
    ),
}
# Computed from the others when points are made.
SHARES: dict[str, tuple[tuple[str, Callable[[Any], float | None], str], ...]] = {
    "attack": (("violated", lambda r: _over(r["violated_sets"], r["sets"]), "share of sets violated"),),
    "description": (("used", lambda r: _over(r["bound_ps"], r["allowed_ps"]), "bound over allowed"),),
} | dict.fromkeys(
    ("task_sets", "programs"),
    (("share", lambda r: _over(r["schedulable"], r["sets"]), "share of schedulable sets"),),
)


def _over(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def column_of(parameter: str) -> str:
    """The column that holds a parameter's values."""
    return f"{parameter}_ns" if parameter in DURATIONS else parameter


def provenance_of(kind: str, analysis: str) -> str:
    return "simulated" if kind == "attack" or analysis.startswith("simulat") else "bound"


def parameters_of(sweep: Sweep) -> dict[str, tuple[Any, ...]]:
    """The parameters of a sweep and their values, in the order in which they vary, the last one fastest."""
    block = sweep.swept
    if isinstance(block, Varied):
        return dict(block.change)
    names = [*block.made_of]
    for analysis in sweep.analyses:
        names += [name for name in block.analyses.get(analysis, ()) if name not in names]
    values = {name: getattr(block, name) for name in names}
    if "lowered" in values:
        values["lowered"] = tuple(values["lowered"]) or ("",)
    return values


def figures_of(sweep: Sweep) -> tuple[list[str], list[str]]:
    """The names of columns that can be drawn, and of the parameters over which they can be drawn."""
    figures = [f.name for f in FIGURES[sweep.kind] if f.type in ("int64", "double")]
    figures += [name for name, _, _ in SHARES[sweep.kind]]
    parameters = ["analysis", *parameters_of(sweep)]
    return figures, parameters + (["name", "kind"] if sweep.kind == "description" else [])
