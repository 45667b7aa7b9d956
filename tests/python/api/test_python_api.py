# SPDX-License-Identifier: Apache-2.0
"""`import consort`: what a script or a notebook uses, and that importing it costs nothing before."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import consort
import pyarrow.compute as pc
import pytest
from consort.errors import BadInput
from consort.model import BadDescription, Duration, System
from consort.record import list_runs

ROOT = Path(__file__).parents[3]
VEHICLE = ROOT / "examples" / "vehicle" / "system.yaml"
FUNCTIONS = [name for name in consort.__all__ if not name.startswith("_")]
DESCRIPTION = """\
consort: 1
platform: linux-host
tasks:
  fast: {period: 10ms, wcet: 2ms, bcet: 1ms, on: master-0, writes: [speed]}
  slow: {period: 40ms, wcet: 8ms, bcet: 5ms, on: master-0, reads: [speed]}
channels:
  speed: {kind: sporadic, size: 64B}
chains:
  all: {path: [fast, slow], reaction: 100ms}
"""


@pytest.fixture
def system(tmp_path: Path) -> System:
    file = tmp_path / "small" / "system.yaml"
    file.parent.mkdir()
    file.write_text(DESCRIPTION, encoding="utf-8")
    return consort.load(file)


def python(script: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_importing_it_imports_nothing_heavy() -> None:
    heavy = ("numpy", "pyarrow", "pydantic", "scipy", "matplotlib", "duckdb")
    script = f"import consort, sys; print(*[m for m in {heavy!r} if m in sys.modules])"
    assert python(script) == ""


@pytest.mark.parametrize("order", list(permutations(("consort.plan", "consort.run", "consort.simulate"))))
def test_a_name_is_a_package_and_a_function_whatever_was_imported_first(order: tuple[str, ...]) -> None:
    imports = "".join(f"import {name}\n" for name in order)
    script = (
        f"{imports}import consort\n"
        "from consort.plan import Plan\nfrom consort.run import Options\nfrom consort.simulate import build\n"
        f"made = consort.plan(consort.load({str(VEHICLE)!r}), stand_ins=True)\n"
        "print(isinstance(made, Plan), callable(consort.run), callable(consort.simulate),"
        " consort.plan.Plan is Plan)\n"
    )
    assert python(script) == "True True True True"


def test_every_function_is_there_and_has_a_signature_and_words() -> None:
    assert set(FUNCTIONS) == {"analyze", "load", "load_run", "place", "plan", "run", "simulate"}
    for name in FUNCTIONS:
        assert inspect.signature(getattr(consort, name)).parameters
        assert name in dir(consort)
    assert "stand_ins" in inspect.signature(consort.run).parameters
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = consort.lode


def test_the_page_names_every_function_and_parameter() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    for name in FUNCTIONS:
        section = re.search(rf"^## `consort\.{name}\(.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        assert section is not None, name
        for parameter in inspect.signature(getattr(consort, name)).parameters:
            assert re.search(rf"\b{parameter}\b", section[0]), (name, parameter)


def test_bounds(system: System) -> None:
    bounds = {(bound.task, bound.kind): bound for bound in consort.analyze(system)}
    # 2 ms and 8 ms, and the switches of 5 us that linux-host assumes: slow meets two jobs of fast.
    assert bounds["fast", "response time"].response == Duration.parse("2015us").picoseconds
    assert bounds["slow", "response time"].response == Duration.parse("12030us").picoseconds
    assert bounds["all", "reaction time"].schedulable


def test_a_simulated_run_is_tables_that_agree_with_the_bounds(
    system: System,
    tmp_path: Path,
) -> None:
    run = consort.simulate(system, "400ms", execution="worst", root=tmp_path / "runs")
    assert run.held
    assert run.path.parent == tmp_path / "runs"
    assert run.data["name"] == "small"
    jobs = run.table("simulated", "jobs")
    assert jobs.num_rows == 40 + 10
    slow = run.jobs("simulated", "slow")
    assert pc.max(slow["response_ns"]).as_py() == 12_020_000
    # The same again, and found again.
    again = consort.simulate(system, Duration.parse("400ms"), execution="worst", root=tmp_path / "runs")
    assert again.table("simulated", "jobs").equals(jobs)
    assert consort.load_run("latest", tmp_path / "runs").id in (run.id, again.id)


def test_of_several_runs_the_one_closest_to_a_deadline_is_recorded(
    system: System,
    tmp_path: Path,
) -> None:
    run = consort.simulate(system, "80ms", seed=3, runs=4, root=tmp_path)
    (name,) = [configuration["name"] for configuration in run.configurations]
    assert name in {f"simulated, seed {seed}" for seed in range(3, 7)}


def test_what_is_wrong_is_said_before_anything_is_done(
    system: System,
    tmp_path: Path,
) -> None:
    for call, words in (
        (lambda: consort.simulate(system, "400"), "unit"),
        (lambda: consort.simulate(system, "0s"), "more than 0s"),
        (lambda: consort.run(system, duration="1s", iterations=3), "give one of the two"),
        (lambda: consort.run(system, iterations=0), "0 jobs cannot be run"),
        (lambda: consort.run(system, time_scale=0), "stretched"),
        (lambda: consort.run(system, duration="1 parsec"), "unit"),
    ):
        with pytest.raises(BadInput, match=words):
            call()
    with pytest.raises(BadDescription, match="has no step to execute"):
        consort.run(system, root=tmp_path / "runs")
    with pytest.raises(BadInput, match=r"cannot be read|no such file"):
        consort.load(tmp_path / "nothing.yaml")
    assert not (tmp_path / "runs").exists()


def test_the_notebook_is_plain_and_uses_what_there_is(tmp_path: Path) -> None:
    """Its cells run, one after another, but for those that run on this machine."""
    (file,) = sorted((ROOT / "docs").rglob("*.ipynb"))
    notebook = json.loads(file.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    sources = ["".join(cell["source"]) for cell in cells]
    on_machine = [source for source in sources if "consort.run(" in source]
    assert on_machine
    found: dict[str, object] = {"ROOT_OF_RUNS": str(tmp_path)}
    for source in sources:
        if "measured" not in source and source not in on_machine:
            exec(compile(source.replace("root = None", "root = ROOT_OF_RUNS"), str(file), "exec"), found)
    for source in sources:
        compile(source, str(file), "exec")


@pytest.mark.slow
@pytest.mark.realtime
def test_a_run_on_this_machine_has_the_same_tables(
    system: System,
    tmp_path: Path,
) -> None:
    run = consort.run(system, duration="2s", stand_ins=True, time_base="sleep", root=tmp_path, realtime=False)
    (configuration,) = run.configurations
    jobs = run.table(configuration["key"], "jobs")
    assert jobs.num_rows == 200 + 50
    assert run.table(configuration["key"], "operations").num_rows > 0
    assert configuration["counters"]["records_lost"] == 0


@pytest.mark.slow
@pytest.mark.realtime
def test_the_whole_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its system lies in no file, and runs all the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONSORT_RUNS", str(tmp_path / "runs"))
    (file,) = sorted((ROOT / "docs").rglob("*.ipynb"))
    found: dict[str, object] = {}
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(file), "exec"), found)
    runs = list_runs(tmp_path / "runs")
    assert {run.data["kind"] for run in runs} == {"simulation", "application"}
