# SPDX-License-Identifier: Apache-2.0
"""The report's sections of `consort bench cross-isa-figure2` and `cross-isa-figure3`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from consort_bench.cross_isa_points import LARGE, OUTSTANDING, SMALL, SOURCE, number, published, sensitivity
from consort_bench.qdma import DIRECTIONS, PACKETS, PROVENANCE, TRANSFERS, Qdma

Row = dict[str, Any]
NO_PLOT = (
    "The paper has the curves as plots only, of which no point is read: what is published stands in the text."
)


def figure2(model: Qdma, fit: list[Row], rows: list[Row], local: list[Row]) -> list[Row]:
    modelled = [
        _series(
            f"modelled, {direction}, {outstanding} outstanding",
            "derived",
            PACKETS,
            [model.throughput(direction, packet, outstanding) for packet in PACKETS],
        )
        for direction in DIRECTIONS
        for outstanding in OUTSTANDING
    ]
    plateau = number(published("figure2"), "plateau", direction="Versal->x86")
    level = _series("plateau", "published", (PACKETS[0], PACKETS[-1]), [plateau, plateau])
    measured = [
        _series(
            f"{direction}, {outstanding} outstanding" if outstanding else f"bare copy, {direction}",
            "measured",
            PACKETS,
            [
                row["gb_per_s"]
                for row in rows
                if (row["direction"], row["outstanding"]) == (direction, outstanding)
            ],
        )
        for direction in DIRECTIONS
        for outstanding in (0, *OUTSTANDING)
    ]
    return [
        _fit_table(fit),
        _throughput("Figure 2: throughput over packet size, the model", [*modelled, level], NO_PLOT),
        _throughput(
            "The same by the engine that copies, on this machine",
            measured,
            "Host and engine on a processor each, both windows in its memory. 'bare copy': the same copies by"
            " the host's processor alone. The engine's directions differ in nothing.",
        ),
        {
            "title": "Local memory, part of each cache line of 256 MiB modified, one core",
            "columns": [
                {"name": "where"},
                {"name": "rate", "unit": "GB/s"},
                {"name": "pages"},
                {"name": "provenance"},
            ],
            "rows": [[r["local_memory"], r["gb_per_s"], r["pages"], r["provenance"]] for r in local],
            "note": "A line counts once, with all its bytes.",
            "source": f"{SOURCE}, section VI.A",
        },
        *_model_tables(model),
    ]


def figure3(model: Qdma, fit: list[Row], rows: list[Row]) -> list[Row]:
    series = [
        _series(
            f"modelled, {direction}, {driver}",
            "derived",
            TRANSFERS,
            [model.blocking_ns(direction, size, descriptor) / 1e3 for size in TRANSFERS],
        )
        for direction in DIRECTIONS
        for driver, descriptor in (("default", SMALL), ("patched", LARGE))
    ]
    here = [
        _series(
            f"measured here, {direction}, descriptors of {size}",
            "measured",
            [row["bytes"] for row in rows if row["direction"] == direction],
            [row[key] for row in rows if row["direction"] == direction],
        )
        for direction in DIRECTIONS
        for size, key in (("4 KiB", "small_us"), ("2 MiB", "large_us"))
    ]
    return [
        _fit_table(fit),
        {
            "title": "Figure 3: blocking transfers over size",
            "kind": "figure",
            "x": {"label": "transfer", "unit": "byte", "log": True},
            "y": {"label": "time", "unit": "us", "log": True},
            "series": [*series, *here],
            "note": f"{NO_PLOT} What was measured are copies within this machine: no competitor of a link.",
            "source": f"{SOURCE}, Figures 3a and 3b",
        },
        {
            "title": "Reduction of the time by descriptors of 2 MiB instead of 4 KiB",
            "columns": [
                {"name": "transfer", "unit": "byte"},
                *({"name": f"modelled, {d}", "unit": "%", "provenance": "derived"} for d in DIRECTIONS),
                *({"name": f"measured, {d}", "unit": "%", "provenance": "measured"} for d in DIRECTIONS),
            ],
            "rows": [
                [
                    size,
                    *(_reduction(model, d, size) for d in DIRECTIONS),
                    *(_measured_reduction(rows, d, size) for d in DIRECTIONS),
                ]
                for size in TRANSFERS
            ],
        },
        *_model_tables(model),
    ]


def _reduction(model: Qdma, direction: Any, size: int) -> float:
    ratio = model.blocking_ns(direction, size, LARGE) / model.blocking_ns(direction, size, SMALL)
    return round(100 * (1 - ratio), 2)


def _measured_reduction(rows: list[Row], direction: str, size: int) -> float | None:
    found = [r["improvement_percent"] for r in rows if (r["direction"], r["bytes"]) == (direction, size)]
    return round(found[0], 2) if found else None


def _series(name: str, provenance: str, x: Iterable[float], y: Iterable[float]) -> Row:
    return {
        "name": name,
        "provenance": provenance,
        "x": [float(value) for value in x],
        "y": [float(value) for value in y],
    }


def _throughput(title: str, series: list[Row], note: str) -> Row:
    return {
        "title": title,
        "kind": "figure",
        "x": {"label": "packet", "unit": "byte", "log": True},
        "y": {"label": "throughput", "unit": "GB/s", "log": True},
        "series": series,
        "note": note,
        "source": f"{SOURCE}, Figure 2",
    }


def _fit_table(fit: list[Row]) -> Row:
    return {
        "title": "The model beside what is published",
        "columns": [
            {"name": "point"},
            {"name": "direction"},
            {"name": "published", "provenance": "published"},
            {"name": "modelled", "provenance": "derived"},
            {"name": "unit"},
            {"name": "error", "unit": "%", "provenance": "derived"},
            {"name": "fitted"},
        ],
        "rows": [
            [
                r["point"],
                r["direction"],
                r["published"],
                r["modelled"],
                r["unit"],
                r["error_percent"],
                "yes" if r["fitted"] else "no",
            ]
            for r in fit
        ],
        "note": "Two parameters are fitted to a point each, which have no error; the others are predicted.",
        "source": SOURCE,
    }


def _model_tables(model: Qdma) -> list[Row]:
    parameters = [
        [name, getattr(model, name), unit, kind, source] for name, (unit, kind, source) in PROVENANCE.items()
    ]
    return [
        {
            "title": "The model's parameters",
            "columns": [{"name": head} for head in ("parameter", "value", "unit", "provenance", "source")],
            "rows": parameters,
        },
        {
            "title": "The fit with other values of what is assumed",
            "columns": [
                {"name": "payload of a TLP", "unit": "B"},
                {"name": "setup", "unit": "ns"},
                {"name": "engine, each descriptor", "unit": "ns", "provenance": "derived"},
                {"name": "posting and fetching, each descriptor", "unit": "ns", "provenance": "derived"},
                {"name": "largest error not fitted", "unit": "%", "provenance": "derived"},
                {"name": "no fit because"},
            ],
            "rows": [list(row.values()) for row in sensitivity()],
            "note": "The published figures tell the link's own overhead and the engine's work on descriptors"
            " not apart.",
        },
    ]
