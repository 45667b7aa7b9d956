# SPDX-License-Identifier: Apache-2.0
"""The provenance of figures. Every figure that is stored, printed or plotted names one of these."""

from __future__ import annotations

from consort.base.errors import BadInput

PROVENANCE: dict[str, str] = {
    "published": "read from a paper's text or table",
    "derived": "computed from published figures",
    "bound": "computed by an analysis",
    "simulated": "produced by the simulator from a platform description",
    "counted": "instructions or clock cycles of an emulator or RTL simulator: repeatable, not wall time",
    "emulated": "timed on the clock of an emulator without counting: depends on the machine that emulates",
    "measured": "timed on hardware, in the environment recorded with the run",
}


def checked(provenance: str, *, field: str) -> str:
    """The given kind of provenance, or BadInput that names the field and the kinds there are."""
    if provenance not in PROVENANCE:
        raise BadInput(
            f"'{provenance}' is no kind of provenance; use one of {', '.join(PROVENANCE)}", field=field
        )
    return provenance
