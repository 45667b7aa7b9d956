# SPDX-License-Identifier: Apache-2.0
"""The experiments from the command line's side: goals, rows, and the run that is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort.record import load_run
from consort_bench.papers import run
from consort_bench.registry import BENCHMARKS, Options

pytestmark = pytest.mark.usefixtures("programs")


def test_table1_stands_beside_what_is_published(tmp_path: Path) -> None:
    options = Options("table1", iterations=100, interference="off", scheduling="ordinary", root=tmp_path)
    result = run(options)
    goals = {goal["name"]: goal for goal in result.goals}
    assert goals["loopback_content_errors"]["met"] is True
    assert goals["loopback_content_errors"]["value"] == 0
    assert goals["loopback_8_over_floor"]["sense"] == "<="
    assert [row["bytes"] for row in result.rows] == [0, 1, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert {row["provenance"] for row in result.rows} == {"measured"}
    assert len(result.extra["published"]) == 90
    recorded = load_run(result.extra["run"])
    configuration = recorded.data["configurations"][0]
    assert configuration["key"] == "ordinary-off"
    assert configuration["summary"]["loopback_1024"]["n"] == 100
    assert len(configuration["published"]) == 20
    titles = [section["title"] for section in recorded.data["sections"]]
    assert "Figure 2: throughput over size" in titles
    page = (recorded.path / "report.html").read_text(encoding="utf-8")
    assert "122.258" in page


def test_interference_runs_beside_and_is_recorded(tmp_path: Path) -> None:
    options = Options("loopback", iterations=2_000, sizes=(8,), interference="on", root=tmp_path)
    result = run(options)
    recorded = load_run(result.extra["run"])
    assert [c["key"] for c in recorded.data["configurations"]] == ["ordinary-on", "realtime-on"]
    for configuration in recorded.data["configurations"]:
        assert "activity" in configuration["tables"]
        assert configuration["interference_config"]["loopback_copy"] is True
        assert configuration["interference_config"]["stream"] is True


@pytest.mark.parametrize("name", ["loopback", "figure3"])
def test_a_root_that_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match=r"file.*: runs cannot lie here: Not a directory"):
        run(Options(name, quick=True, interference="off", root=tmp_path / "file" / "runs"))


@pytest.mark.parametrize("name", ["figure3", "figure4", "figure5"])
def test_one_way_experiments_leave_a_run(tmp_path: Path, name: str) -> None:
    result = run(Options(name, quick=True, interference="off", root=tmp_path))
    goals = {goal["name"]: goal for goal in result.goals}
    assert goals[f"{name}_content_errors"]["met"] is True
    recorded = load_run(result.extra["run"])
    assert recorded.data["kind"] == "experiment"
    assert recorded.data["configurations"][0]["summary"]["byte_to_worker"]["n"] == 300
    if name == "figure3":
        assert len(recorded.data["configurations"][0]["published"]) == 8


def test_sizes_that_do_not_exist_are_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no package of 3 bytes"):
        run(Options("loopback", iterations=10, sizes=(3,), interference="off", root=tmp_path))
    assert [p for p in tmp_path.iterdir() if not p.name.startswith(".")] == []


def test_iterations_and_quick_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not both"):
        run(Options("loopback", quick=True, iterations=10, root=tmp_path))


def test_every_experiment_of_the_papers_is_in_the_registry() -> None:
    for name in ("loopback", "table1", "figure2", "figure3", "figure4", "figure5"):
        assert BENCHMARKS[name][0] == "consort_bench.papers"
