# SPDX-License-Identifier: Apache-2.0
"""examples/drive-30us: its bounds hold, the simulation keeps them, and the loop follows its reference."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from consort.analysis.system import analyze_system
from consort.cli import main
from consort.model import load_system
from consort.plan import problems_of
from consort.simulate.build import prepare
from consort.simulate.outcome import simulate_against_bounds

EXAMPLE = Path(__file__).parents[2] / "examples" / "drive-30us"
FILES = ("system.yaml", "here.yaml")
LIMIT = 30 * 10**6  # ps


@pytest.mark.parametrize("name", FILES)
def test_the_bound_is_within_30_us_and_simulation_keeps_it(name: str) -> None:
    system = load_system(EXAMPLE / name)
    bounds = analyze_system(system)
    (response, *_) = bounds
    assert response.deadline == LIMIT and response.schedulable
    assert {figure.kind for figure in response.figures} == {"assumed"}
    prepared = prepare(system)
    seen = simulate_against_bounds(prepared, bounds, 10**10, runs=4).figures["loop"]
    assert seen.misses == 0 and seen.max_response is not None and seen.max_response > LIMIT // 10


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("target", ["linux", "virtual"])
def test_nothing_of_it_is_refused(name: str, target: str) -> None:
    assert problems_of(load_system(EXAMPLE / name), target) == []


def test_the_current_follows_its_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In virtual time; the reference stays for 200 jobs, 20 times the closed loop's time constant."""
    shutil.copytree(EXAMPLE, tmp_path / "drive-30us")
    monkeypatch.setenv("CONSORT_RUNS", str(tmp_path / "runs"))
    with pytest.raises(SystemExit) as end:
        main(["run", str(tmp_path / "drive-30us" / "system.yaml"), "--for", "virtual", "--iterations", "600"])
    assert int(end.value.code or 0) == 0
    (folder,) = (path for path in (tmp_path / "runs").iterdir() if path.is_dir())
    for configuration in ("local-off", "offloaded-off"):
        outputs = pq.read_table(folder / configuration / "outputs-loop.parquet").to_pydict()
        voltage = dict(zip(outputs["seq"], outputs["voltage"], strict=True))
        # Ohm's law at 5 A through 0.5 ohm, up, down and up again.
        assert [voltage[job] for job in (199, 399, 599)] == pytest.approx([2.5, -2.5, 2.5], abs=0.01)
