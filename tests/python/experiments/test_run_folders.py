# SPDX-License-Identifier: Apache-2.0
"""Every experiment leaves a run folder with a report, and what the paper prints stands in its plots."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from consort.record.store import open_run
from consort_bench import command as bench
from consort_bench import communication, figure7, loopback, registry, scratchpad_figures
from consort_bench.one_way_figures import medians_section
from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import BENCHMARKS, EXPERIMENTS, BenchResult, Options, goal
from consort_bench.run_folder import leave
from consort_remote_bench import remap, remap_figures


def published(paper: str, name: str) -> list[Published]:
    return read_published(experiment_folder(paper, name) / "published.csv")


def kinds(figure: dict[str, Any]) -> set[str]:
    return {curve["provenance"] for curve in figure["series"]}


def test_the_experiments_are_those_of_their_readme() -> None:
    text = (experiment_folder("remap", "size").parents[1] / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`consort bench ([a-z0-9-]+)", text))
    assert named <= EXPERIMENTS <= set(BENCHMARKS)


def test_what_wrote_no_folder_while_it_measured_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["consort", "bench", "communication"])
    bench.command.main(["communication", "--root", str(tmp_path)], standalone_mode=False)
    (folder,) = tmp_path.iterdir()
    assert str(folder / "report.html") in "".join(capsys.readouterr().out.split())
    run = open_run(folder)
    titles = [section["title"] for section in run.data["sections"]]
    assert titles == [
        "Table I: mean round trip",
        "Figure 3: medians, each predicted from the others",
        "communication: table 1",
    ]
    assert [goal["name"] for goal in run.data["goals"]] == ["table_1_largest_error", "medians_mean_error"]
    assert "published" in (folder / "report.html").read_text(encoding="utf-8")


def test_columns_say_what_they_hold_and_an_endless_figure_is_empty(tmp_path: Path) -> None:
    rows = [{"what": "a", "published_us": 1.5, "simulated_us": 1.0, "here": float("inf")}]
    goals = [goal("met", 1, "", "<=", 1), goal("unknown", None, "", "<=", 1)]
    left = leave(BenchResult(goals, rows, notes=["a note"]), Options("table1", root=tmp_path))
    run = open_run(Path(left.extra["run"]))
    (section,) = run.data["sections"]
    provenance = [column["provenance"] for column in section["columns"]]
    assert provenance == [None, "published", "simulated", "measured"]
    assert section["rows"] == [["a", 1.5, 1.0, None]] and section["note"] == "a note"
    assert [one["name"] for one in run.data["goals"]] == ["met"]
    assert left.notes[-1] == f"report: {run.path / 'report.html'}"


def test_table_1_has_published_modelled_and_measured_in_one_plot() -> None:
    rows = [{"bytes": size, "throughput_MB_per_s": 1.0} for size in (1, 8)]
    here = loopback.Measured("k", "here", False, rows, 0, 0.0, [])
    figure = loopback.throughput_section([here], published(loopback.PAPER, "table1"))
    assert figure is not None and kinds(figure) == {"derived", "measured"}
    modelled = next(curve for curve in figure["series"] if curve["name"].startswith("modelled"))
    assert modelled["x"] == [8, 16, 32, 64, 128, 256, 512, 1024]


def test_figure_3_has_published_modelled_and_measured_in_one_plot() -> None:
    here = [("idle", [{"series": "byte_to_worker", "median": 100.0}])]
    figure = medians_section(here, published("low-latency-icc", "figure3"))
    assert kinds(figure) == {"published", "derived", "measured"}
    assert sum(len(curve["x"]) for curve in figure["series"] if curve["provenance"] == "published") == 16


def test_the_link_s_use_stands_beside_its_formulas_and_the_printed_values() -> None:
    rows = [
        {"packetization": name, "phy_width": 128, "burst": burst, "utilisation": 0.3}
        for name in ("b2b", "compact, idle")
        for burst in (1, 4, 256)
    ]
    figure = remap.utilisation(rows, published("remap", "table1"))
    assert kinds(figure) == {"published", "derived", "counted"}
    printed = next(curve for curve in figure["series"] if curve["name"] == "pipelined, printed")
    assert (printed["x"], printed["y"]) == ([1, 4, 256], [0.23, 0.47, 0.66])


def test_latencies_and_throughputs_stand_beside_the_printed_ones() -> None:
    rows = [
        {"item": item, "configuration": "0-hop", "what": what, "simulated": 5.0, "published": printed}
        | {"packetization": "compact"}
        for item, what, printed in (
            ("figure12", "average", 1663.0),
            ("figure12", "copy", None),
            ("figure13", "64", 323.0),
        )
    ]
    throughput, latency = remap_figures.figures(rows)
    assert kinds(throughput) == kinds(latency) == {"published", "simulated"}
    assert throughput["series"][0] | {"x": [5.0], "y": [1663.0]} == throughput["series"][0]
    assert latency["series"][0] | {"x": [64.0], "y": [323.0]} == latency["series"][0]


def test_execution_out_of_memory_is_compared_as_a_ratio() -> None:
    rows = [
        {"what": "Table V", "name": "a", "three_phase": phases, "streaming": streaming}
        | {"median_us": 2.0 if phases else 3.0, "published_us": 10.0 if phases else 20.0}
        for phases in (True, False)
        for streaming in (True, False)
    ]
    packets = {"what": "VII.B", "slot_us": 100, "packets_a_load": 1, "cores": "together"}
    packets |= {"published_mbps": 4.0, "simulated_mbps": 5.0, "measured_mbps": 6.0}
    table, bandwidth = scratchpad_figures.figures([*rows, packets])
    assert [curve["y"] for curve in table["series"]] == [[2.0], [1.5], [1.5]]
    assert kinds(table) == {"published", "measured"}
    assert kinds(bandwidth) == {"published", "simulated", "measured"}


def test_curves_that_the_paper_plots_only_say_so() -> None:
    rows = [
        {"reading": "r", "curve": "contended", "utilisation": u, "schedulable": 1 - u} for u in (0.5, 0.1)
    ]
    figure = figure7.curves_of("r", rows)
    assert figure["series"][0]["x"] == [0.1, 0.5] and "prints no point" in figure["note"]


def test_a_figure_for_each_paper_that_is_only_computed() -> None:
    result = communication.run(Options("communication"))
    assert all(kinds(figure) == {"published", "derived"} for figure in result.figures)
    assert registry.grouped([{"a": 1, "key": 2, "b": [3]}]) == [(["a"], [{"a": 1, "key": 2, "b": [3]}])]
