# SPDX-License-Identifier: Apache-2.0
"""Points, plots and the page of a sweep; sweeps of programs, attacks and descriptions."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from consort.analysis.system import analyze_system
from consort.model import load_system
from consort.plan import plan
from consort.sweep.cells import Cells, spec_of
from consort.sweep.load import load_sweep
from consort.sweep.page import chosen
from consort.sweep.run import run, write_all
from consort.sweep.store import points
from effort import PATIENCE

ROOT = Path(__file__).parents[3]
VEHICLE = ROOT / "examples" / "vehicle" / "system.yaml"


def swept(file: Path, folder: Path) -> list[dict]:
    loaded = load_sweep(file)
    cells = Cells(spec_of(loaded))
    found = []

    def finish(result):
        found.extend(points(cells, result))
        write_all(loaded, cells, result, folder)

    run(cells, folder, loaded.name, workers=0, finish=finish)
    return found


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "sweep.yaml"
    file.write_text(text)
    return file


def test_points_are_blocks_put_together_at_every_value(small, tmp_path):
    rows = swept(small, tmp_path / "out")
    # Three analyses, two numbers of tasks, three utilisations, two slots.
    assert len(rows) == 3 * 2 * 3 * 2 and all(row["sets"] == 300 for row in rows)
    cells = pq.read_table(tmp_path / "out" / "result.parquet").to_pylist()
    for row in rows:
        own = [
            c["schedulable"]
            for c in cells
            if all(c[k] in (None, row[k]) for k in ("analysis", "tasks", "utilisation", "slot_ns"))
        ]
        assert len(own) == 3 and row["schedulable"] == sum(own) and row["share"] == sum(own) / 300
    edf = [row["schedulable"] for row in rows if row["analysis"] == "edf" and row["tasks"] == 3]
    assert edf == [300] * 6
    with (tmp_path / "out" / "points.csv").open(newline="") as file:
        stored = list(csv.DictReader(file))
    assert [int(row["schedulable"]) for row in stored] == [row["schedulable"] for row in rows]
    assert {row["provenance"] for row in stored} == {"bound"}


def test_plots_are_the_same_each_time(small, tmp_path):
    by_slot = "{x: slot, y: schedulable, panels: [tasks], log: [x]}"
    small.write_text(small.read_text().replace("{x: utilisation, y: share, where: {tasks: 6}}", by_slot))
    for name in ("a", "b"):
        swept(small, tmp_path / name)
    names = {file.name for file in (tmp_path / "a" / "plots").iterdir()}
    assert names == {"share.pdf", "share.svg", "share.png"}
    for name in names:
        assert (tmp_path / "a" / "plots" / name).read_bytes() == (
            tmp_path / "b" / "plots" / name
        ).read_bytes()
    svg = (tmp_path / "a" / "plots" / "share.svg").read_text()
    assert "tasks 3" in svg and "tasks 6" in svg and "three-phase" in svg


@pytest.mark.parametrize("wanted", ["200us", "0.2ms"])
def test_a_condition_on_a_duration_may_have_any_unit(small, tmp_path, wanted):
    small.write_text(small.read_text().replace("where: {tasks: 6}", f"where: {{slot: {wanted}, tasks: 6}}"))
    rows = swept(small, tmp_path / wanted)
    assert [row["slot_ns"] for row in chosen(load_sweep(small).sweep.plots["share"], rows)] == [200_000] * 9


def page_data(page: Path) -> dict:
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL
    )
    assert found is not None
    return json.loads(found.group(1))


def test_page_has_all_points_and_needs_nothing_from_outside(small, tmp_path):
    small.write_text(small.read_text().replace("seed: 7", "seed: 7\ntitle: </script><b>a title"))
    rows = swept(small, tmp_path / "out")
    page = tmp_path / "out" / "index.html"
    data = page_data(page)
    assert data["figures"]["share"] == [row["share"] for row in rows]
    # Times are in microseconds there.
    assert data["parameters"]["slot"] == [row["slot_ns"] / 1000 for row in rows]
    text = page.read_text()
    assert "<b>a title" not in text and not re.findall(r'(?:src|href)="https?:', text)


@pytest.mark.browser
def test_a_browser_draws_what_is_chosen(small, tmp_path):
    chromium = next(
        (p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None
    )
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    swept(small, tmp_path / "out")
    page = tmp_path / "out" / "index.html"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    shown = subprocess.run(
        [chromium, *flags, profile, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert "CONSOLE" not in shown.stderr
    # A line for each analysis over the utilisation, and a choice for each other parameter.
    assert shown.stdout.count("<polyline") == 3
    assert shown.stdout.count("<select") == 3 + 2


def test_programs_are_judged_as_the_engine_judges_them(tmp_path):
    """One and the same set of programs, the slots by their names."""
    table = "program,scratchpad_ns,contended_ns,load_ns,unload_ns\na,1000000,1500000,100000,90000\n"
    (tmp_path / "programs.csv").write_text(table + "b,2000000,2500000,50000,150000\n")
    text = """\
sweep: 1
sets: 200
programs: {file: programs.csv, utilisation: [0.6, 0.9], slot: [150us, largest, 1ms], context_switch: none}
analyses: [three-phase, contended]
"""
    rows = swept(written(tmp_path, text), tmp_path / "out")
    by = {(row["analysis"], row["utilisation"], row["slot_ns"]): row["schedulable"] for row in rows}
    for utilisation in (0.6, 0.9):
        assert by["three-phase", utilisation, 150_000] == by["three-phase", utilisation, -1]
        assert by["three-phase", utilisation, 1_000_000] <= by["three-phase", utilisation, -1]
        assert len({by["contended", utilisation, slot] for slot in (150_000, -1, 1_000_000)}) == 1
    assert 0 < sum(by.values()) < 200 * len(by)


def test_an_attack_ends_with_what_it_looks_for(tmp_path):
    text = """\
sweep: 1
sets: 40000
attack:
  until_refuted: true
  lowered: {none: {}, final-slots: {final_slots: 0}}
analyses: [three-phase]
"""
    rows = swept(written(tmp_path, text.replace("none: {}, ", "")), tmp_path / "out")
    assert rows[0]["violated_sets"] > 0 and rows[0]["sets"] < 40000
    example = json.loads(rows[0]["example"])
    assert example["response"] > example["bound"][example["task"]]
    assert rows[0]["provenance"] == "simulated"
    text = text.replace("40000", "300").replace("  until_refuted: true\n", "")
    sound = swept(written(tmp_path, text), tmp_path / "sound")
    assert (
        sound[0]["lowered"] == "none" and sound[0]["violated_sets"] == 0 and sum(sound[0]["tightness"]) > 300
    )


def test_a_description_with_values_changed(tmp_path):
    text = f"""\
sweep: 1
description:
  file: {VEHICLE}
  mode: limp-home
  change:
    scale.wcet: [1, 50]
    tasks.logger.deadline: [20ms, 30ms]
    platform.links.pcie.rate: 1GB/s
  simulate: {{duration: 20ms}}
analyses: [bounds, simulation]
"""
    rows = swept(written(tmp_path, text), tmp_path / "out")
    bounds = [row for row in rows if row["analysis"] == "bounds"]
    assert {row["platform.links.pcie.rate"] for row in rows} == {"1GB/s"}
    system = {row["scale.wcet"]: row["holds"] for row in bounds if row["kind"] == "system"}
    assert system == {1.0: True, 50.0: False}
    # As `consort analyze` has it; the link's rate is in no response time of this mode.
    found = analyze_system(plan(load_system(VEHICLE), "analysis", mode="limp-home"))
    expected = {(b.task, b.kind): b.response for b in found}
    responses = [name for name, kind in expected if kind == "response time"]
    seen = [row for row in bounds if row["scale.wcet"] == 1 and row["kind"] == "response time"]
    assert len(seen) == 2 * len(responses)
    assert all(row["bound_ps"] == expected[row["name"], row["kind"]] for row in seen)
    assert {row["allowed_ps"] for row in seen if row["name"] == "logger"} == {20 * 10**9, 30 * 10**9}
    simulated = [row for row in rows if row["analysis"] == "simulation" and row["scale.wcet"] == 1]
    for row in simulated:
        assert row["provenance"] == "simulated"
        assert row["simulated_ps"] is None or row["simulated_ps"] <= expected[row["name"], row["kind"]]
    assert any(row["simulated_ps"] for row in simulated)


def test_a_value_that_makes_no_description_is_a_row_with_the_reason(tmp_path):
    """Each value alone is right, both together are not."""
    text = f"""\
sweep: 1
description:
  file: {VEHICLE}
  mode: limp-home
  change: {{tasks.logger.bcet: 250us, tasks.logger.wcet: [300us, 200us]}}
analyses: [bounds]
"""
    rows = swept(written(tmp_path, text), tmp_path / "out")
    good, bad = ([row for row in rows if row["tasks.logger.wcet"] == wcet] for wcet in ("300us", "200us"))
    assert len(good) > 1 and len(bad) == 1
    assert bad[0]["holds"] is False and "tasks.logger.bcet" in bad[0]["note"]


def test_a_simulation_of_a_sweep_looks_at_chains(tmp_path):
    """Its verdict is that of `simulate`: a chain that takes too long does not hold."""
    description = """\
consort: 1
assumed: x
platform: linux-host
scheduling: {master: {context_switch: 10us}}
run: {time_base: spin}
tasks:
  a: {period: 10ms, wcet: 1ms, on: master-0}
  d: {period: 40ms, wcet: 3ms, on: master-1}
channels: {ab: {kind: sporadic, from: a, to: [d], memory: shm, size: 64B}}
chains: {ch: {path: [a, d], reaction: 4ms, age: 400ms}}
"""
    (tmp_path / "s.yaml").write_text(description)
    text = """\
sweep: 1
description: {file: s.yaml, change: {scale.wcet: [1, 2]}, simulate: {duration: 400ms, runs: 2}}
analyses: [simulation]
"""
    rows = swept(written(tmp_path, text), tmp_path / "out")
    assert [row["holds"] for row in rows if row["kind"] == "system"] == [False, False]
    chains = {row["kind"]: row for row in rows if row["name"] == "ch" and row["scale.wcet"] == 1}
    reaction, age = chains["reaction time"], chains["data age"]
    assert (reaction["allowed_ps"], reaction["holds"], age["holds"]) == (4 * 10**9, False, True)
    assert reaction["simulated_ps"] > 4 * 10**9 and reaction["provenance"] == "simulated"


def test_nothing_holds_in_a_sweep_for_which_a_figure_is_missing(tmp_path):
    """Nobody knows how late a core wakes that sleeps; one that spins has what it needs."""
    platform = """\
consort: 1
name: board
processors: {m: {isa: armv7e-m}}
cores: {master: {processor: m, count: 1, context_switch: {value: 10us, assumed: x}}}
"""
    (tmp_path / "board.yaml").write_text(platform)
    description = """\
consort: 1
assumed: x
platform: board.yaml
run: {time_base: sleep}
tasks:
  a: {period: 10ms, wcet: 1ms, on: master-0}
"""
    (tmp_path / "s.yaml").write_text(description)
    text = """\
sweep: 1
description:
  file: s.yaml
  change: {run.time_base: [sleep, spin], tasks.a.deadline: [5ms, 900us]}
  simulate: {duration: 100ms, execution: worst}
analyses: [simulation, sensitivity]
"""
    rows = swept(written(tmp_path, text), tmp_path / "out")
    for name in ("", "a"):
        held = {
            (r["run.time_base"], r["tasks.a.deadline"]): r["holds"]
            for r in rows
            if r["name"] == name and r["analysis"] == "simulation"
        }
        assert held == {
            ("sleep", "5ms"): None,
            ("spin", "5ms"): True,
            # What is late without it is late with it.
            ("sleep", "900us"): False,
            ("spin", "900us"): False,
        }
    notes = {r["note"] for r in rows if r["analysis"] == "sensitivity" and r["run.time_base"] == "sleep"}
    assert "not known: 1 figure that nobody gave: cores.master.timer_lateness" in notes


def test_nothing_holds_in_a_sweep_of_which_nothing_was_seen(tmp_path):
    """Neither a task before its first release, nor a chain before its first block has gone its way."""
    description = """\
consort: 1
assumed: x
platform: linux-host
scheduling: {master: {context_switch: 10us}}
run: {time_base: spin}
tasks:
  a: {period: 10ms, wcet: 1ms, on: master-0}
  d: {period: 10ms, wcet: 3ms, on: master-1}
channels: {ab: {kind: sporadic, from: a, to: [d], memory: shm, size: 64B}}
chains: {ch: {path: [a, d], reaction: 40ms}}
"""
    (tmp_path / "s.yaml").write_text(description)
    text = """\
sweep: 1
description:
  {file: s.yaml, change: {tasks.a.offset: [0us, 95ms, 3s]}, simulate: {duration: 100ms, runs: 2}}
analyses: [simulation]
"""
    rows = swept(written(tmp_path, text), tmp_path / "out")
    kinds = ("", "a", "d", "ch")
    seen = {
        offset: [
            next(r["holds"] for r in rows if (r["name"], r["tasks.a.offset"]) == (name, offset))
            for name in kinds
        ]
        for offset in ("0us", "95ms", "3s")
    }
    assert seen == {
        "0us": [True, True, True, True],
        "95ms": [None, True, True, None],
        "3s": [None, None, True, None],
    }


def test_a_bound_that_lacks_a_figure_is_not_known_to_fail(tmp_path):
    """On a core that sleeps: without its timer's lateness nobody knows, and 20 ms of 10 fail."""
    (tmp_path / "p.yaml").write_text("""\
consort: 1
name: p
processors: {x: {isa: x86_64}}
cores: {c: {processor: x, count: 2, context_switch: 1us}}
""")
    (tmp_path / "s.yaml").write_text("""\
consort: 1
assumed: x
platform: p.yaml
run: {time_base: spin}
tasks:
  a: {period: 10ms, wcet: 1ms, on: c-0}
  b: {period: 10ms, wcet: 1ms, on: c-0}
  alone: {period: 10ms, wcet: 1ms, on: c-1}
""")
    text = """\
sweep: 1
description: {file: s.yaml, change: {tasks.alone.wcet: [1ms, 20ms]}}
analyses: [bounds]
"""
    rows = swept(written(tmp_path, text), tmp_path / "out")
    holds = [{r["name"]: r["holds"] for r in rows if r["tasks.alone.wcet"] == w} for w in ("1ms", "20ms")]
    assert holds[0] == {"": None, "a": None, "b": None, "alone": True}
    assert holds[1] == {"": False, "a": None, "b": None, "alone": False}
