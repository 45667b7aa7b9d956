# SPDX-License-Identifier: Apache-2.0
"""Plots of the scratchpad paper's tables: the published beside what was simulated and measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consort_bench.run_folder import series

SOURCE = "Tabish et al. 2016"


def figures(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Figures of rows as `scratchpad` prints them."""
    return [_out_of_memory(rows), *(_bandwidth(rows) if any(r["what"] == "VII.B" for r in rows) else [])]


def _out_of_memory(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Table V as a ratio, which two unlike machines can share: out of memory over out of the scratchpad."""
    kernels = [row for row in rows if row["what"] == "Table V"]
    names = list(dict.fromkeys(row["name"] for row in kernels))

    def ratios(column: str, streaming: bool) -> list[tuple[float, float | None]]:
        of = {(r["name"], r["three_phase"]): r[column] for r in kernels if r["streaming"] == streaming}
        found: list[tuple[float, float | None]] = []
        for number, name in enumerate(names, 1):
            direct, phases = of.get((name, False)), of.get((name, True))
            found.append((float(number), direct / phases if direct and phases else None))
        return found

    return {
        "title": "Table V: execution out of memory over execution out of the scratchpad",
        "x": {"label": ", ".join(f"{n} {name}" for n, name in enumerate(names, 1))},
        "y": {"label": "ratio of times"},
        "series": [
            series("published", "published", ratios("published_us", True)),
            series("here, alone", "measured", ratios("median_us", False)),
            series("here, beside a stream", "measured", ratios("median_us", True)),
        ],
        "source": f"{SOURCE}, Table V",
    }


def _bandwidth(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    packets = [row for row in rows if row["what"] == "VII.B"]
    curves = [
        series(
            "published",
            "published",
            {(float(r["slot_us"]), r["published_mbps"]) for r in packets if r["published_mbps"] is not None},
        )
    ]
    for key in dict.fromkeys((row["packets_a_load"], row["cores"]) for row in packets):
        of = [row for row in packets if (row["packets_a_load"], row["cores"]) == key]
        title = f"{key[0]} packets a load, {key[1]}"
        curves += [
            series(f"{title}, {kind}", kind, [(float(r["slot_us"]), r[f"{kind}_mbps"]) for r in of])
            for kind in ("simulated", "measured")
        ]
    return [
        {
            "title": "Section VII.B: outgoing bandwidth",
            "x": {"label": "slot", "unit": "us", "log": True},
            "y": {"label": "bandwidth", "unit": "Mb/s", "log": True},
            "series": curves,
            "source": f"{SOURCE}, section VII.B",
        }
    ]
