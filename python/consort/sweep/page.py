# SPDX-License-Identifier: Apache-2.0
"""The page of a sweep: its plots, and any figure over any parameter, chosen on the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from consort import __version__
from consort.base.files import replace_file
from consort.report.page import environment_rows, templates
from consort.sweep.cells import Cells
from consort.sweep.figures import FIGURES, SHARES, column_of, figures_of
from consort.sweep.load import Loaded
from consort.sweep.plot import plot_svg, position, spelled
from consort.sweep.points import Point
from consort.sweep.store import MANIFEST

PAGE = "index.html"
# A page with more points would take a browser seconds to open.
MOST_POINTS = 20_000


def write_page(loaded: Loaded, cells: Cells, rows: Sequence[Point], folder: Path) -> Path:
    """Writes the page beside the result."""
    sweep = loaded.sweep
    figures, parameters = figures_of(sweep)
    shown = rows[:MOST_POINTS]
    data: dict[str, Any] = {
        "parameters": {name: [_shown(name, row[column_of(name)]) for row in shown] for name in parameters},
        "figures": {name: [row[name] for row in shown] for name in figures},
    }
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    text = (
        templates()
        .get_template("sweep.html.j2")
        .render(
            name=loaded.name,
            title=sweep.title,
            kind=sweep.kind.replace("_", " "),
            version=__version__,
            cells=len(cells),
            sets=cells.spec["sets"],
            seed=sweep.seed,
            points=len(rows),
            shown=len(shown),
            plots=[
                {
                    "title": plot.title or name,
                    "wide": bool(plot.panels),
                    "svg": Markup(plot_svg(name, plot, rows)),
                }
                for name, plot in sweep.plots.items()
            ],
            meanings=[(f.name, f.meaning) for f in FIGURES[sweep.kind]]
            + [(name, meaning) for name, _, meaning in SHARES[sweep.kind]],
            provenances=sorted({row["provenance"] for row in rows}),
            environment=environment_rows(manifest["made_on"]),
            code=manifest["code"],
            # Inside of a script element only this could end it.
            data=Markup(json.dumps(data).replace("<", "\\u003c")),
        )
    )
    file = folder / PAGE
    replace_file(file, text)
    return file


def _shown(name: str, value: Any) -> Any:
    """A value on the page: numbers where it has a place on an axis."""
    place = position(name, value) if value is not None else ""
    return place if isinstance(place, float) else spelled(name, value)
