# SPDX-License-Identifier: Apache-2.0
"""`import consort`: what a script or a notebook uses, and that importing it costs nothing before."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import consort
import numpy as np
import pyarrow.compute as pc
import pytest
from consort.base.errors import BadInput
from consort.base.units import html_table
from consort.model import BadDescription, Duration, System
from consort.record import list_runs
from consort.report import write_report

ROOT = Path(__file__).parents[3]
VEHICLE = ROOT / "examples" / "vehicle" / "system.yaml"
FUNCTIONS = [name for name in consort.__all__ if name.islower() and not name.startswith("_")]
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
    heavy = ("numpy", "pyarrow", "pydantic", "scipy", "matplotlib")
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
    assert set(FUNCTIONS) == {
        "analyze", "generate", "load", "load_run", "place", "plan", "run", "simulate", "sweep",
    }  # fmt: skip
    for name in FUNCTIONS:
        assert inspect.signature(getattr(consort, name)).parameters
        assert name in dir(consort)
    assert "stand_ins" in inspect.signature(consort.run).parameters
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = consort.lode


def test_errors_are_caught_by_their_public_names() -> None:
    for error, status in ((consort.BadInput, 2), (consort.EnvironmentLacks, 3), (consort.SystemFails, 1)):
        assert issubclass(error, consort.ConsortError)
        assert error.exit_status == status
    with pytest.raises(consort.BadInput, match="no-such-file"):
        consort.load("no-such-file.yaml")


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
    # The core sleeps, and its timer is late by 100 us once before either.
    assert bounds["fast", "response time"].response == Duration.parse("2115us").picoseconds
    assert bounds["slow", "response time"].response == Duration.parse("12130us").picoseconds
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
    assert run.plan("simulated") == consort.plan(system, "analysis")
    # The page names the description by the plan: no command line does.
    page = tmp_path / "page.html"
    write_report(run, page)
    assert f"consort run {system.file}" in page.read_text(encoding="utf-8")
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
        (lambda: consort.run(system, iterations=0), "iterations: 0 is out of range; 1 to 4294967295"),
        (lambda: consort.run(system, time_scale=0), "time_scale: 0 is out of range"),
        (lambda: consort.run(system, duration="1 parsec"), "unit"),
    ):
        with pytest.raises(BadInput, match=words):
            call()
    with pytest.raises(BadDescription, match="has no step to execute"):
        consort.run(system, root=tmp_path / "runs")
    with pytest.raises(BadInput, match=r"cannot be read|no such file"):
        consort.load(tmp_path / "nothing.yaml")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "seed",
    [0, 2**64 - 1, *(kind(3) for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64))],
    ids=lambda seed: f"{type(seed).__name__}-{seed}",
)
def test_any_whole_number_is_a_seed(system: System, tmp_path: Path, seed: int) -> None:
    run = consort.simulate(system, "80ms", seed=seed, root=tmp_path / "runs")
    (configuration,) = run.configurations
    assert configuration["name"] == f"simulated, seed {int(seed)}"


class Elsewhere:
    """A path as other libraries have them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


def test_a_path_is_whatever_python_takes_as_one(system: System, tmp_path: Path) -> None:
    root = Elsewhere(tmp_path / "runs")
    run = consort.simulate(consort.load(Elsewhere(system.file)), "80ms", root=root)
    assert consort.load_run(Elsewhere(run.path)).id == run.id
    assert consort.load_run("latest", root).id == run.id


def calls(system: System) -> list[tuple[Callable[[], object], str]]:
    """Calls with arguments that no command would take, and the argument that each names."""
    simulate, run, place = consort.simulate, consort.run, consort.place
    anything: Any = object()
    wrong: list[tuple[Callable[[], object], str]] = [
        (partial(simulate, system, seed=seed), "seed")
        for seed in (-1, 2**64, 2**64 + 1, "7", 1.5, True, np.int8(-1), np.float64(1))
    ]
    wrong += [(partial(simulate, system, runs=runs), "runs") for runs in (0, -3, "2", 1.0)]
    wrong += [(partial(run, system, seed=seed), "seed") for seed in (-1, 2**64, "7", 1.5)]
    return [
        *wrong,
        (partial(simulate, system, 1), "duration"),
        (partial(simulate, system, execution="often"), "execution"),
        (partial(simulate, system, dense="yes"), "dense"),
        (partial(simulate, system, worker_serves="lifo"), "worker_serves"),
        (partial(simulate, system, master_waits="suspend"), "master_waits"),
        (partial(simulate, system, name=3), "name"),
        (partial(simulate, system, root=3), "root"),
        (partial(simulate, str(system.file)), "system"),
        (partial(consort.load, 3), "path"),
        (partial(consort.load, b"system.yaml"), "path"),
        (partial(consort.load_run, 3), "which"),
        (partial(consort.load_run, "latest", 3), "root"),
        (partial(consort.analyze, anything), "subject: "),
        (partial(consort.analyze, dict.fromkeys(range(9999))), "… (dict) is of another kind"),
        (partial(consort.sweep, {"parameters": {}}), "file: "),
        (partial(consort.load_run, ""), "which: "),
        (partial(consort.analyze, system, waiting="suspend"), "waiting"),
        (partial(consort.analyze, system, serving="lifo"), "serving"),
        (partial(consort.plan, anything), "system"),
        (partial(consort.plan, system, 3), "target"),
        (partial(consort.plan, system, mode=3), "mode"),
        (partial(consort.plan, system, stand_ins="no"), "stand_ins"),
        (partial(consort.plan, system, place="here"), "place"),
        (partial(place, anything), "system"),
        (partial(place, system, 3), "best"),
        (partial(place, system, np.array(["slack", "slots"])), "best"),
        (partial(place, system, keep=np.array(1)), "keep"),
        (partial(place, system, moves=-1), "moves"),
        (partial(place, system, in_modes=2), "in_modes"),
        (partial(place, system, keep="fast"), "keep"),
        (partial(place, system, choose="slots"), "choose"),
        (partial(place, system, seconds="long"), "seconds"),
        (partial(place, system, seconds=float("nan")), "seconds"),
        (partial(place, system, seconds=np.True_), "seconds"),
        (partial(run, anything), "system"),
        (partial(run, system, target="board"), "target"),
        (partial(run, system, iterations=1.5), "iterations"),
        (partial(run, system, time_scale=2.5), "time_scale"),
        (partial(run, system, time_base="nap"), "time_base"),
        (partial(run, system, undecided_above=2), "undecided_above"),
        (partial(run, system, configurations=["all"]), "configurations"),
        (partial(run, system, realtime=1), "realtime"),
        (partial(run, system, mode=1), "mode"),
        (partial(run, system, configurations=3), "configurations"),
        (partial(run, system, progress=3), "progress"),
        (partial(place, system, progress=3), "progress"),
        (partial(consort.load, None), "path"),
        (partial(consort.load, system.file, on=["versal"]), "on"),
        (partial(consort.load_run, None), "which"),
        (partial(consort.load_run, "9" * 300), "which"),
        (partial(consort.load_run, "latest", "runs/" * 1000), "root"),
        (partial(consort.load, "\ud800.yaml"), "path"),
        (partial(consort.generate, "8", 0.5), "tasks"),
        (partial(consort.generate, 8, "half"), "utilisation"),
        (partial(consort.generate, 8, np.True_), "utilisation"),
        (partial(consort.generate, 8, 0.5, shortest=3), "shortest"),
        (partial(consort.generate, 8, 0.5, longest="1ms"), "longest"),
        (partial(consort.generate, 8, 0.5, limits=0.5), "limits"),
        (partial(consort.generate, 8, 0.5, limits=(0.1, 0.5)), "limits"),
        (partial(consort.generate, 8, 0.5, limits=(0.1, 0.2, 0.5)), "limits"),
        (partial(consort.generate, 8, 0.5, limits=("low", 0.5)), "limits[0]"),
        (partial(consort.generate, 8, 0.5, periods="any"), "periods"),
        (partial(consort.generate, 8, 0.5, platform="linux"), "platform"),
        (partial(consort.generate, 8, 0.5, core="r5f-0"), "core"),
        (partial(consort.sweep, 3), "file"),
        (partial(consort.sweep, "sweep.yaml", sets=0), "sets"),
        (partial(consort.sweep, "sweep.yaml", workers="all"), "workers"),
        (partial(consort.sweep, "sweep.yaml", progress=3), "progress"),
    ]


def test_each_argument_is_checked_as_the_command_checks_its_option(system: System) -> None:
    for call, name in calls(system):
        with pytest.raises(BadInput) as caught:
            call()
        assert name in str(caught.value) and caught.value.exit_status == 2, (str(caught.value), name)


def test_any_number_of_moves_is_a_limit(system: System) -> None:
    """No solver takes numbers of more than 64 bits."""
    place: Any = consort.place
    assert place(system, moves=10**30).value == place(system).value


def test_a_generated_system_is_analysed_as_any_other() -> None:
    system = consort.generate(
        12, 0.75, seed=5, periods="uniform", shortest="2ms", longest=Duration.parse("9ms")
    )
    assert system == consort.generate(
        12, 0.75, seed=np.int64(5), periods="uniform", shortest="2ms", longest="9ms"
    )
    assert system != consort.generate(12, 0.75, seed=6, periods="uniform", shortest="2ms", longest="9ms")
    times = [(task.period.picoseconds, system.wcet(name).value) for name, task in system.tasks.items()]
    assert [period for period, _ in times] == sorted(period for period, _ in times)
    assert all(2 * 10**9 <= period <= 9 * 10**9 for period, _ in times)
    assert 0.7499 < sum(wcet / period for period, wcet in times) <= 0.75
    assert {bound.task for bound in consort.analyze(system)} == {f"t{n}" for n in range(12)}
    small = consort.generate(12, 0.75, limits=(0.03, 0.1))
    shares = [small.wcet(name).value / task.period.picoseconds for name, task in small.tasks.items()]
    assert 0.7499 < sum(shares) <= 0.75 and min(shares) > 0.0299 and max(shares) <= 0.1


SWEEP = """\
sweep: 1
task_sets: {tasks: [3, 6], utilisation: [0.5, 1.0]}
analyses: [edf, fixed-priority]
sets: 20
"""


def test_a_sweep_is_a_table_of_its_points(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SWEEP, encoding="utf-8")
    table = consort.sweep(file)
    assert table.num_rows == 8 and set(table["sets"].to_pylist()) == {20}
    assert {"analysis", "tasks", "utilisation", "schedulable", "share", "provenance"} <= set(
        table.column_names
    )
    assert table.schema.field("schedulable").metadata[b"meaning"] == b"those that the analysis accepts"
    assert list(tmp_path.iterdir()) == [file], "nothing is kept"
    kept = consort.sweep(file, sets=5, out=tmp_path / "kept", workers=np.int64(0))
    assert set(kept["sets"].to_pylist()) == {5}
    assert (tmp_path / "kept" / "points.csv").is_file() and (tmp_path / "kept" / "index.html").is_file()


def test_a_missing_library_is_named_with_the_extra_that_brings_it(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SWEEP, encoding="utf-8")
    script = (
        "import sys\nsys.modules['dask'] = sys.modules['distributed'] = None\nimport consort\n"
        f"try: consort.sweep({str(file)!r}, workers=None)\n"
        "except consort.EnvironmentLacks as error: print(error.exit_status, error)\n"
    )
    assert python(script).startswith("3 this needs d") and "pip install 'consort-rt[sweep]'" in python(script)


def test_each_object_is_a_line_and_a_table_in_a_notebook(system: System, tmp_path: Path) -> None:
    run = consort.simulate(system, "80ms", root=tmp_path)
    bounds = consort.analyze(system)
    for shown, words, cells in (
        (system, "2 tasks on 1 core, 1 channel, 1 chain, platform linux-host", ("slow", "every 40ms", "8ms")),
        (consort.plan(system, "analysis"), "2 tasks on 1 core of linux-host, for analysis", ("fast", "10ms")),
        (bounds, "6 bounds: 0 above what is allowed, 0 not found", ("reaction time", "12.13ms", "holds")),
        (
            consort.place(system, keep=["slow"]),
            "Placement optimal: 1 of 2 tasks moved on linux-host",
            ("slow", "master-0"),
        ),
        (run, f"{run.id}: held (simulated)", ("response", "40 000.0".replace(" ", "\u202f"), "holds")),
    ):
        line, page = repr(shown), shown._repr_html_()
        assert words in line and len(line) < 200 and "\n" not in line, line
        assert words in page and all(f"<td>{cell}</td>" in page for cell in cells), page
    assert repr(bounds[0]) == f"<Bound {bounds[0].verdict()}>"
    assert "published" not in repr(system.tasks["slow"]), "a key that was not given"
    # Names are the user's: they stand as text.
    hostile = html_table("<b>", ["<i>"], [["<script>", None]])
    assert "<script" not in hostile and "&lt;script&gt;" in hostile and "<td>–</td>" in hostile
    assert "and 3 more" in html_table("", [""], [[n] for n in range(63)])


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
