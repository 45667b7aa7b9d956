# SPDX-License-Identifier: Apache-2.0
"""Figure 3 of the inter-core paper as a plot: its medians, a model of them, and this machine's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consort_bench.communication import medians
from consort_bench.published import Published
from consort_bench.run_folder import series


def medians_section(
    here: Sequence[tuple[str, Sequence[dict[str, Any]]]], published: Sequence[Published]
) -> dict[str, Any]:
    """`here`: for each load its name and this machine's rows; their medians are levels of the plot."""
    modelled = medians(published)
    places = list(dict.fromkeys(row["point"].partition(",")[0] for row in modelled))
    curves = []
    for load in dict.fromkeys(row["point"].partition(", ")[2] for row in modelled):
        of = [row for row in modelled if row["point"].endswith(f", {load}")]
        at = [float(places.index(row["point"].partition(",")[0]) + 1) for row in of]
        for name, kind in (("published", "published"), ("modelled", "derived")):
            curves.append(series(f"{name}, {load}", kind, zip(at, (row[name] for row in of), strict=True)))
    for load, rows in here:
        for row in rows:
            direction = str(row["series"]).partition("_to_")[2]
            level = float(row["median"])
            ends = [(1.0, level), (float(len(places)), level)]
            curves.append(series(f"here, to {direction}, {load}", "measured", ends))
    return {
        "title": "Figure 3: medians, published, modelled and of this machine",
        "kind": "figure",
        "x": {"label": ", ".join(f"{n} {place}" for n, place in enumerate(places, 1))},
        "y": {"label": "median, one way", "unit": "ns"},
        "series": curves,
        "note": "Each modelled median is predicted from the fifteen others. This machine has one memory.",
        "source": "Coppik et al. 2025, section 3",
    }
