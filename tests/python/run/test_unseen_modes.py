# SPDX-License-Identifier: Apache-2.0
"""A mode of which a run shows nothing is never held: in virtual time as in a simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import consort
import pytest
from consort.model import load_system
from run_support import ran, write

TO_TWO = {"at": "205ms", "to": "two"}
CASES: dict[str, tuple[dict[str, Any], str]] = {
    # It is asked for, and its first release would come after the run.
    "agreed upon for too long": ({"agreement": "10s", "requests": [TO_TWO]}, "mode two"),
    # The last job before the idle instant ends at 211 ms.
    "asked for too early again": (
        {"agreement": "1ms", "requests": [TO_TWO, {"at": "206ms", "to": "one"}]},
        "the run never entered mode two, which is asked for",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mode_that_was_never_seen_is_undecided(tmp_path: Path, case: str) -> None:
    changes, said = CASES[case]
    tasks = {
        "a": {"period": "10ms", "wcet": "1ms", "on": "master-0"},
        "b": {"period": "50ms", "wcet": "10ms", "bcet": "10ms", "on": "master-0"},
    }
    described = {
        "tasks": tasks,
        "modes": {"one": {"tasks": ["a", "b"]}, "two": {"tasks": ["a"]}},
        "mode_changes": {"start": "one", **changes},
        "run": {"iterations": 100, "interference": []},
    }
    path = write(tmp_path / "s", described)
    simulated = consort.simulate(load_system(path), "1s", root=tmp_path)
    virtual = ran(path, stand_ins=True, target="virtual").run
    for run in (simulated, virtual):
        assert run.held == "undecided", run.data["verdict"]
        assert any(said in reason for reason in run.data["verdict"]["reasons"]), run.data["verdict"]
