# SPDX-License-Identifier: Apache-2.0
"""The flight of examples/uav: fusion and control change between unlike processors a hundred times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from modes_support import RanModes, ran_modes
from ruamel.yaml import YAML
from run_support import beside_time

pytestmark = pytest.mark.realtime

UAV = Path(__file__).parents[3] / "examples" / "uav" / "system.yaml"
CHANGES = 100


def flight(folder: Path, *, changes: int = CHANGES, joined: bool = True, **options: Any) -> RanModes:
    """A change every 83 ms, at different places in the tasks' periods; the chain has its channel or not."""
    data = YAML(typ="safe").load(UAV.read_text(encoding="utf-8"))
    data["mode_changes"]["requests"] = [
        {"at": f"{83 * n + n % 7}ms", "to": ("near-ground", "cruise")[n % 2]} for n in range(1, changes + 1)
    ]
    if not joined:
        del data["tasks"]["fusion"]["writes"], data["tasks"]["control"]["reads"], data["channels"]
    folder.mkdir()
    file = folder / "system.yaml"
    with file.open("w", encoding="utf-8") as stream:
        YAML(typ="safe").dump(data, stream)
    # Jobs of `attitude`, the first task.
    return ran_modes(file, key="local-off", stand_ins=True, iterations=34 * changes, **options)


def test_a_chain_is_judged_in_each_mode(tmp_path: Path) -> None:
    found = flight(tmp_path / "uav", changes=4, target="virtual")
    assert found.reasons == []
    for configuration in found.run.configurations:
        chains = [row for row in configuration["verdict"]["rows"] if row["kind"] == "chain"]
        assert [(row["quantity"], row["outcome"]) for row in chains] == [
            ("reaction", "holds"),
            ("age", "holds"),
        ]


def test_a_chain_that_was_to_be_seen_in_a_stay_and_was_not_fails_the_run(tmp_path: Path) -> None:
    found = flight(tmp_path / "uav", changes=4, joined=False, target="virtual")
    assert any("no reaction was seen whole" in reason for reason in found.reasons)


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
