# SPDX-License-Identifier: Apache-2.0
"""The WATERS 2019 challenge, imported, and placed better than its authors' mapping."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from typing import Any

from consort.base.waiting import silent
from consort.exchange.amalthea.importer import import_amalthea
from consort.model import System, platform_from_data, system_from_data
from consort.place.call import place
from consort.place.search import conflict_of
from test_amalthea import waters

# The trigger of each task that has no period of its own, and how late that may be at most [ms]: the import
# takes the bound of the triggering task where the model maps it, which says nothing of other places.
TRIGGERED = {
    "SFM": ("PRE_SFM_gpu_POST", 14),
    "Localization": ("PRE_Localization_gpu_POST", 40),
    "Lane_detection": ("PRE_Lane_detection_gpu_POST", 20),
    "Detection": ("PRE_Detection_gpu_POST", 20),
}


def imported(folder: Path, change: bool) -> System:
    """Each task with a priority of its own: with the model's equal ones its triggers have no bound.

    Without the waits for the GPU and with its tasks by priority: with these no task of theirs has one.
    """
    places = count()
    model = folder / "mapped.amxmi"
    text = waters("mobstr-mapped.amxmi").read_text(encoding="utf-8")
    apart = re.sub(
        r'priority="(\d+)"', lambda found: f'priority="{100 * int(found[1]) - next(places)}"', text
    )
    for kept, taken in (("WaitEvent", "ClearEvent"), ("UserSpecificSchedulingAlgorithm", "OSEK")):
        assert f"am:{kept}" in apart
        apart = apart.replace(f"am:{kept}", f"am:{taken}")
    model.write_text(apart, encoding="utf-8")
    # With what its accesses take beside them, two tasks have no place.
    found = import_amalthea(model, within=True)
    assert found.system is not None and found.platform is not None
    data: dict[str, Any] = found.system
    if change:
        data["tasks"]["Planner"]["deadline"] = data["tasks"]["Planner"]["period"]
        for task, (trigger, late) in TRIGGERED.items():
            data["tasks"][task]["jitter"] = data["tasks"][trigger]["deadline"] = f"{late}ms"
    return system_from_data(data, platform=platform_from_data(found.platform))


def test_as_it_stands_one_deadline_cannot_be_met_on_any_core(tmp_path: Path) -> None:
    placement = place(imported(tmp_path, False))
    assert placement.found.status == "infeasible"
    conflict = conflict_of(placement.problem, 300, silent)
    assert [one.name for one in conflict.requirements] == ["Planner"] and conflict.minimal
    assert "12.4367645ms" in conflict.why


def test_with_a_deadline_that_can_be_met_it_is_placed_and_holds(tmp_path: Path) -> None:
    system = imported(tmp_path, True)
    placement = place(system, seconds=300)
    assert not all(bound.schedulable for bound in placement.before[None]), (
        "the authors' mapping does not hold"
    )
    assert placement.found.status == "optimal" and placement.value > 0
    assert all(bound.schedulable for bound in placement.after[None])
