# SPDX-License-Identifier: Apache-2.0
"""Figures 3 and 4 of the edge-computing paper: what is compared, and what the counts say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from consort_bench import edge
from consort_bench.published import experiment_folder, read_published
from effort import PATIENCE


def row(processor: str, arithmetic: str, communication: str, time: float) -> dict[str, Any]:
    figures = dict.fromkeys(edge.STATISTICS, time)
    kind = {"processor": processor, "arithmetic": arithmetic, "communication": communication}
    return kind | figures | {"provenance": "counted"}


ROWS = [
    row("m4f", "q31", "without", 1000),
    row("m4f", "f32", "without", 400),
    row("a72", "f32", "without", 200),
    row("a72", "f32", "with", 800),
    row("a72", "q31", "with", 1250),
]


def test_speed_ups_are_against_the_microcontroller_s_fixed_point() -> None:
    compared = edge.speed_ups(ROWS)
    found = {
        (c["arithmetic"], c["communication"]): (c["faster_percent"], c["saved_percent"])
        for c in compared
        if c["statistic"] == "max"
    }
    assert found == {("f32", "without"): (400, 80), ("f32", "with"): (25, 20), ("q31", "with"): (-20, -25)}
    assert {c["against"] for c in compared} == {"m4f, q31"}


def test_goals_fail_where_offloading_does_not_pay_and_say_where_nothing_ran() -> None:
    met = {g["name"]: g["met"] for g in edge.goals_of("edge-figure3", edge.speed_ups(ROWS), 1)}
    assert met == {
        "edge_figure3_output_errors": False,
        "edge_figure3_f32_saved_by_offloading": True,
        "edge_figure3_q31_saved_by_offloading": False,
    }
    none = edge.goals_of("edge-figure4", [], 0)
    assert [g["met"] for g in none] == [True, None, None] and "did not run" in none[1]["reason"]


@pytest.mark.parametrize(("figure", "values"), [("figure3", [21, 4]), ("figure4", [32, 66])])
def test_published_speed_ups_stand_beside(figure: str, values: list[float]) -> None:
    published = read_published(experiment_folder(edge.PAPER, figure) / "published.csv")
    assert [p.value for p in published if p.value is not None] == values
    rows = edge.comparison_rows(edge.speed_ups(ROWS), published)
    assert [r[5] for r in rows if r[-1] == "published"] == [v for v in values if v > 4]


@pytest.mark.parametrize("arithmetic", list(edge.ARITHMETICS))
@pytest.mark.parametrize("processor", [*edge.board_processors(), edge.HOST_MASTER, edge.HOST_WORKER])
def test_every_configuration_is_a_valid_system(processor: edge.Processor, arithmetic: str) -> None:
    task = edge.system_of(processor, arithmetic).tasks["servo"]
    assert task.step_to_run.name == f"servo::step_{arithmetic}"
    assert (task.execution == "offloaded") == bool(processor.master)


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["edge-figure3", "edge-figure4"])
def test_experiment_runs(figure: str, tmp_path: Path) -> None:
    for tool in ("qemu-system-arm", "arm-none-eabi-g++", "aarch64-linux-gnu-g++"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    line = [str(Path(sys.executable).with_name("consort")), "bench", figure, "--quick", "--json"]
    done = subprocess.run(
        [*line, "--root", str(tmp_path)], capture_output=True, text=True, timeout=3 * PATIENCE
    )
    found = json.loads(done.stdout)
    goals = {g["name"]: g for g in found["goals"]}
    assert done.returncode == (0 if all(g["met"] for g in goals.values()) else 1), done.stderr
    # The experiment finds out if offloading saves instructions; that outputs are right is not a finding.
    assert goals[f"{figure.replace('-', '_')}_output_errors"]["met"]
    rows = found["rows"]
    kinds = {(r["processor"], r["arithmetic"], r["communication"], r["provenance"]) for r in rows}
    for arithmetic in ("f32", "q31"):
        assert {
            ("m4f", arithmetic, "without", "counted"),
            ("a72", arithmetic, "without", "counted"),
            ("a72", arithmetic, "with", "counted"),
            ("worker", arithmetic, "with", "measured"),
        } <= kinds
