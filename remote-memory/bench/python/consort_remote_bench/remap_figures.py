# SPDX-License-Identifier: Apache-2.0
"""Figures 12 and 13 of the remote memory paper: what it prints beside what was simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consort_bench.run_folder import series

KERNELS = ("copy", "scale", "add", "triad", "average")


def figures(rows: Sequence[dict[str, Any]], said: str = "") -> list[dict[str, Any]]:
    """Figures of rows as `remap-system` prints them; `said` stands beside each plot with a result over one
    hop."""
    numbers = ", ".join(f"{n} {name}" for n, name in enumerate(KERNELS, 1))
    packetizations = dict.fromkeys(row["packetization"] for row in rows if row["item"] == "figure12")
    note = "The text prints averages; the single bars are plotted only."
    return [
        {
            "title": f"Figure 12: STREAM, {packetization}",
            "x": {"label": f"kernel: {numbers}"},
            "y": {"label": "throughput", "unit": "MB/s"},
            "series": _curves(
                # The values of a single port are those of the configuration of one port: they stand in the
                # table.
                [
                    row
                    for row in rows
                    if row["packetization"] in (None, packetization) and "alone" not in row["configuration"]
                ],
                "figure12",
                lambda what: float(KERNELS.index(what) + 1),
            ),
            "note": f"{note} {said}".strip(),
            "source": "REMAP, Figure 12",
        }
        for packetization in packetizations
        if packetization
    ] + [
        {
            "title": "Figure 13: latency of one access",
            "x": {"label": "size", "unit": "byte", "log": True},
            "y": {"label": "latency", "unit": "ns", "log": True},
            "series": _curves(rows, "figure13", float),
            "note": f"The text prints the latencies of 64 bytes. {said}".strip(),
            "source": "REMAP, Figure 13",
        },
    ]


def _curves(rows: Sequence[dict[str, Any]], item: str, at: Any) -> list[dict[str, Any]]:
    mine = [row for row in rows if row["item"] == item]
    found = []
    for name in dict.fromkeys(row["configuration"] for row in mine):
        # The published value stands beside the simulated value of each packetization.
        points = {at(r["what"]): r["published"] for r in mine if r["configuration"] == name}
        printed = [(x, y) for x, y in points.items() if y is not None]
        if printed and "," not in name:
            found.append(series(f"{name}, printed", "published", printed))
    for key in dict.fromkeys((row["configuration"], row["packetization"]) for row in mine):
        of = [row for row in mine if (row["configuration"], row["packetization"]) == key]
        title = ", ".join(part for part in key if part)
        found.append(series(title, "simulated", [(at(row["what"]), row["simulated"]) for row in of]))
    return found
