# SPDX-License-Identifier: Apache-2.0
"""The flight of examples/uav: fusion and control change between unlike processors a hundred times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from modes_support import RanModes, ran_modes
from ruamel.yaml import YAML
from run_support import beside_time

pytestmark = pytest.mark.realtime(when="run")

UAV = Path(__file__).parents[3] / "examples" / "uav" / "system.yaml"
CHANGES = 100


def flight(
    folder: Path, *, changes: int = CHANGES, requests: list[dict[str, str]] | None = None, **options: Any
) -> RanModes:
    """A change every 83 ms, at different places in the tasks' periods, or other `requests`."""
    data = YAML(typ="safe").load(UAV.read_text(encoding="utf-8"))
    every = [
        {"at": f"{83 * n + n % 7}ms", "to": ("near-ground", "cruise")[n % 2]} for n in range(1, changes + 1)
    ]
    requests = requests or every
    data["mode_changes"]["requests"] = requests
    folder.mkdir()
    file = folder / "system.yaml"
    with file.open("w", encoding="utf-8") as stream:
        YAML(typ="safe").dump(data, stream)
    # Jobs of `attitude`, the first task.
    return ran_modes(file, key="local-off", stand_ins=True, iterations=34 * max(len(requests), 4), **options)


def test_a_chain_is_judged_in_each_mode(tmp_path: Path) -> None:
    found = flight(tmp_path / "uav", changes=4, target="virtual")
    assert found.reasons == []
    for configuration in found.run.configurations:
        chains = [row for row in configuration["verdict"]["rows"] if row["kind"] == "chain"]
        assert [(row["quantity"], row["outcome"]) for row in chains] == [
            ("reaction", "holds"),
            ("age", "holds"),
        ]


def test_a_block_of_an_earlier_stay_has_no_age(tmp_path: Path) -> None:
    """A change is taken back while fusion rests: its last block waits for the second stay in the mode."""
    there_and_back = [{"at": "83ms", "to": "cruise"}, {"at": "84ms", "to": "near-ground"}]
    found = flight(tmp_path / "uav", requests=there_and_back, target="virtual")
    assert [stay.mode for stay in found.stays] == [0, 0]
    assert found.reasons == ["in virtual time: the run never entered mode cruise, which is asked for"]


@pytest.mark.slow
def test_no_deadline_is_missed_in_a_hundred_changes(tmp_path: Path) -> None:
    found = flight(tmp_path / "uav", target="virtual")
    assert found.reasons == []
    assert len(found.changes) == CHANGES
    assert all(row[5] <= row[6] for row in found.changes)
    missed = [t["late"] + t["unserved"] for c in found.run.configurations for t in c["verdict"]["tasks"]]
    assert missed == [0] * 9


@pytest.mark.slow
def test_both_tasks_are_handed_over_in_each_change_on_this_machine(tmp_path: Path) -> None:
    found = flight(tmp_path / "uav", time_scale=4)
    assert beside_time(found.reasons) == []
    assert len(found.changes) == CHANGES
    moved = next(s for s in found.run.data["sections"] if s["title"].startswith("Hand-over"))
    assert sorted(row[0] for row in moved["rows"]) == ["control"] * CHANGES + ["fusion"] * CHANGES
