# SPDX-License-Identifier: Apache-2.0
"""Comparison of runs: a shift is seen, noise is not, and unlike environments are named."""

from __future__ import annotations

import json
from pathlib import Path

import consort
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from consort.commands.runs import compare_command as compare_command
from consort.record import RawRun, Run, RunWriter
from consort.record.compare import compare, environment_differences, median_ratio_interval
from consort.record.store import SampleReader
from synthetic import make_jobs, write_raw

MASTER_AND_WORKER = Path(__file__).parents[3] / "examples" / "automotive" / "system.yaml"


def record(tmp_path: Path, seed: int, slower: float, key: str = "offloaded") -> Run:
    raw = RawRun.load(write_raw(tmp_path / f"raw{seed}", {"jobs": make_jobs(20_000, seed, slower=slower)}))
    with RunWriter("servo", "application", tmp_path / "runs", command=[]) as writer:
        writer.add_configuration(key, key, raw)
    assert writer.run is not None
    return writer.run


@pytest.fixture
def same(tmp_path: Path) -> Run:
    return record(tmp_path, 1, 1.0)


def test_noise_is_not_called_a_change(tmp_path: Path, same: Run) -> None:
    result = compare(same, record(tmp_path, 2, 1.0))
    assert [row.metric for row in result.rows] == ["response", "compute", "communication", "latency"]
    assert not any(row.changed for row in result.rows)
    assert all(0.99 < row.ratio["median"] < 1.02 for row in result.rows)
    assert all(row.ks_distance < 0.03 for row in result.rows)


def test_a_shift_is_seen_where_it_is_and_nowhere_else(tmp_path: Path, same: Run) -> None:
    result = compare(same, record(tmp_path, 2, 1.05))
    rows = {row.metric: row for row in result.rows}
    assert {metric for metric, row in rows.items() if row.changed} == {"response", "compute"}
    assert rows["compute"].ratio["median"] == pytest.approx(1.05, abs=0.002)
    low, high = rows["compute"].median_ratio_interval_95
    assert 1.045 < low < 1.05 < high < 1.055


def test_the_comparison_and_the_record_agree(tmp_path: Path, same: Run) -> None:
    row = compare(same, record(tmp_path, 2, 1.0)).rows[0]
    summary = same.configurations[0]["summary"]["response"]
    for name in ("n", "min", "median", "p99", "p999", "p9999", "max"):
        assert row.a[name] == summary[name]
    assert row.a["mean"] == pytest.approx(summary["mean"])


def test_unlike_environments_are_named() -> None:
    a = {"kernel": "6.1", "governor": ["performance"], "date": "x", "git": {"commit": "1", "dirty": False}}
    b = {"kernel": "6.6", "governor": None, "date": "y", "git": {"commit": "1", "dirty": True}}
    assert environment_differences(a, b) == [
        "environments differ in kernel: 6.1 / 6.6",
        "environments differ in governor: performance / unknown",
        "environments differ in git: commit 1, dirty False / commit 1, dirty True",
    ]


def test_few_samples_give_no_interval() -> None:
    assert median_ratio_interval(np.arange(50), np.arange(50)) is None
    assert median_ratio_interval(np.zeros(1000), np.ones(1000)) is None


def test_command_line(tmp_path: Path, same: Run) -> None:
    other = record(tmp_path, 2, 1.1, key="local")
    arguments = [str(same.path), str(other.path)]
    result = CliRunner().invoke(compare_command, arguments)
    assert result.exit_code == 0
    assert "only one of the runs has: offloaded, local" in result.stderr
    assert result.stdout == "the two runs have no configuration and metric in common\n"
    result = CliRunner().invoke(
        compare_command, [str(same.path), same.id[:12], "--root", str(tmp_path / "runs")]
    )
    assert result.exit_code != 0  # two runs begin like this
    shifted = record(tmp_path, 3, 1.1)
    result = CliRunner().invoke(compare_command, [str(same.path), str(shifted.path), "--json"])
    data = json.loads(result.stdout)
    assert (data["a"], data["b"]) == (same.id, shifted.id)
    assert data["rows"][0]["changed"] is True
    result = CliRunner().invoke(compare_command, [str(same.path), str(shifted.path)])
    assert "median changed" in result.stdout


def test_a_column_is_read_once_for_all_metrics_of_it(
    tmp_path: Path, same: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = record(tmp_path, 2, 1.0)
    read: list[tuple[Path, str]] = []
    table_of = pq.read_table

    def counted(file: Path, columns: list[str]) -> pa.Table:
        read.extend((file, column) for column in columns)
        return table_of(file, columns=columns)

    monkeypatch.setattr(pq, "read_table", counted)
    assert len(compare(same, other).rows) == 4
    assert len(read) == len(set(read)) == 8
    reader = SampleReader(same)
    for metric in ("response", "response", "compute"):
        assert reader.samples("offloaded", metric).size
    assert len(read) == 8 + 2


def test_samples_of_each_task_are_those_of_its_jobs(tmp_path: Path) -> None:
    """Also where other tasks' jobs lie between them, and some have no value."""
    run = consort.simulate(consort.load(MASTER_AND_WORKER), "200ms", root=tmp_path)
    jobs = run.jobs("simulated").to_pylist()
    for metric, where in run.configuration("simulated")["metrics"].items():
        mine = [job[where["column"]] for job in jobs if job["task"] == where["task"]]
        assert run.samples("simulated", metric).tolist() == [one for one in mine if one is not None]
