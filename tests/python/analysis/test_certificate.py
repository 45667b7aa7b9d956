# SPDX-License-Identifier: Apache-2.0
"""Bounds as theorems: what a certificate says, what it refuses, and (slow) that Coq accepts no less."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from consort.analysis.certificate import Certificate, certificate_of, check
from consort.analysis.system import analyze_system
from consort.analysis.uniprocessor import fixed_priority
from consort.analysis.unitask import UniTask
from consort.base.errors import SystemFails
from consort.plan import plan
from effort import PATIENCE
from test_rta import AVIONICS, PUBLISHED, make

sys.path.insert(0, str(Path(__file__).parents[1] / "simulate"))
import small

CONSORT = Path(sys.executable).with_name("consort")
LEHOCZKY = [(26, 70), (62, 100, 118)]
SYSTEM = """\
consort: 1
platform: punctual.yaml
tasks:
  hi: {period: 70us, wcet: 20us, on: master-0}
  lo: {period: 100us, deadline: 118us, wcet: 40us, on: master-0}
  late: {period: 1ms, jitter: 100us, wcet: 10us, on: master-1}
"""
PUNCTUAL = """\
consort: 1
name: punctual
processors: {p: {isa: x86_64}}
cores: {master: {processor: p, count: 2, assumed: here, context_switch: 1us, timer_lateness: 0us}}
"""


def certificate(tasks: list[UniTask], switch: int = 0) -> Certificate:
    made = Certificate()
    found = fixed_priority(tasks, context_switch=switch)
    made.add("core", tasks, [bound.response for bound in found], switch)
    return made


def test_a_theorem_has_the_windows_of_each_job() -> None:
    """Lehoczky's set: seven jobs of the second task in its busy window, done at these instants of it."""
    made = certificate(make(*LEHOCZKY))
    assert made.claims == {"t0": 26, "t1": 118}
    assert "bounded_by core_0 1%nat 118." in made.text
    assert "(certified core_0 1%nat 118 [114; 202; 316; 404; 518; 606; 694])" in made.text
    assert "{| wcet := 62; apart := 100; lateness := 0; rank := 1; held := 0 |}" in made.text


def test_switches_are_charged_as_the_analysis_does() -> None:
    made = certificate(make((20, 70), (30, 100)), switch=3)
    assert "{| wcet := 26; apart := 70; lateness := 0; rank := 0; held := 3 |}" in made.text
    assert "{| wcet := 36; apart := 100; lateness := 0; rank := 1; held := 0 |}" in made.text
    assert made.claims == {"t0": 29, "t1": 62}


def test_what_the_theorem_does_not_cover_is_refused() -> None:
    made = certificate(make((5, 10, 30, 10), (1, 100)))
    assert made.refused == {
        "t0": "its jitter reaches its period, and two of its jobs may then come at one instant",
        "t1": "the jitter of t0 reaches its period",
    }
    assert not made.claims
    none = certificate(make((60, 100), (60, 100)))
    assert none.refused == {"t1": "it has no bound"}
    low = Certificate()
    low.add("core", make(*LEHOCZKY), [26, 117], 0)
    assert low.claims == {"t0": 26}
    assert low.refused == {"t1": "its bound is lower than windows without offsets and distances show"}


@pytest.mark.parametrize(
    ("task", "scheduling", "why"),
    [
        ({"self_suspension": 1}, {}, "a gives m-0 up while it waits"),
        ({}, {"policy": "edf"}, "certificates are for preemptive fixed priorities, and m-0 has edf"),
        ({}, {"cache_reload": "1us"}, "jobs on m-0 load their caches again after preemptions"),
        (
            {},
            {"supply": {"kind": "periodic-server", "budget": "40us", "period": "50us"}},
            "m-0 has a supply",
        ),
        ({"priority": 1, "preemption_threshold": 2}, {}, "a has a preemption threshold"),
    ],
)
def test_features_that_no_certificate_covers_are_named_for_their_core_alone(
    task: dict[str, Any], scheduling: dict[str, Any], why: str
) -> None:
    tasks = {
        "a": {"wcet": 5, "period": 100, **task},
        "b": {"wcet": 5, "period": 100, **({"priority": 2} if "priority" in task else {})},
        "c": {"wcet": 5, "period": 100, "on": "m-1"},
    }
    made = plan(small.system(tasks, scheduling={"m-0": scheduling}), "analysis")
    found = certificate_of(made, analyze_system(made))
    assert found.refused == {"a": why, "b": why} and found.claims.keys() == {"c"}


def test_names_do_not_end_comments() -> None:
    made = Certificate()
    made.add("a *) Axiom", [UniTask("x *) Axiom y : False. (*", 1, 10, 10)], [1], 0)
    assert made.text.count("*)") == made.text.count("(*")
    assert "Axiom y" not in made.text


def analyze(
    folder: Path, text: str, *options: str, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    (folder / "system.yaml").write_text(text)
    (folder / "punctual.yaml").write_text(PUNCTUAL)
    command = [str(CONSORT), "analyze", "system.yaml", "--no-advice", "--certificate", "bounds.v", *options]
    environment = {"PATH": path, "HOME": str(folder)} if path is not None else None
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=environment, timeout=PATIENCE
    )


def test_without_coq_the_file_is_written_and_the_status_is_3(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    done = analyze(tmp_path, SYSTEM, path=str(tmp_path / "bin"))
    assert done.returncode == 3
    assert "checking a certificate needs coqc; install it: tools/install-packages.sh prove" in done.stderr
    assert "Theorem core_0_task_1" in (tmp_path / "bounds.v").read_text()


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    done = analyze(tmp_path, SYSTEM, "--certificate", "missing/bounds.v")
    assert done.returncode == 2
    assert "missing/bounds.v: cannot be written: No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_system_with_nothing_to_certify_is_refused(tmp_path: Path) -> None:
    done = analyze(
        tmp_path,
        SYSTEM.replace("tasks:", "scheduling: {master-0: {policy: edf}, master-1: {policy: edf}}\ntasks:"),
    )
    assert done.returncode == 2
    assert "no bound can be certified: hi: certificates are for preemptive fixed priorities" in done.stderr
    assert not (tmp_path / "bounds.v").exists()


@pytest.mark.slow
def test_the_command_lets_coq_check(tmp_path: Path) -> None:
    done = analyze(tmp_path, SYSTEM, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    proven = found["certificate"]["proven_ps"]
    assert proven == {bound["task"]: bound["response_ps"] for bound in found["bounds"]}
    assert {entry.name for entry in tmp_path.iterdir()} == {"system.yaml", "punctual.yaml", "bounds.v"}
    assert re.fullmatch(r"Coq 8\.\d+\.\d+", found["certificate"]["checked_by"])


SETS = {name: make(*rows) for name, (rows, _) in PUBLISHED.items()} | {
    "avionics": make(*(row[:5] for row in AVIONICS)),
    "switches": make((20, 70), (30, 100), (40, 1000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_published_bounds_are_proven_and_a_tick_less_is_not(tmp_path: Path, name: str) -> None:
    made = certificate(SETS[name], switch=2 if name == "switches" else 0)
    assert set(made.claims) | set(made.refused) == {task.name for task in SETS[name]}
    for why in made.refused.values():
        assert "jitter" in why or why == "it has no bound"
    if not made.claims:
        return
    path = tmp_path / "bounds.v"
    path.write_text(made.text)
    check(path, len(made.claims))
    # The last theorem of the file, with its bound a tick lower.
    start = made.text.rindex("Theorem")
    forged, changed = re.subn(r"(%nat )(\d+)", lambda m: f"{m[1]}{int(m[2]) - 1}", made.text[start:])
    assert changed == 2
    path.write_text(made.text[:start] + forged)
    with pytest.raises(SystemFails, match="Coq does not accept it"):
        check(path, len(made.claims))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        # A longer execution, jobs that come closer or later, a core that is held longer.
        ("wcet := 62", "wcet := 63"),
        ("apart := 70;", "apart := 67;"),
        ("lateness := 0; rank := 0", "lateness := 9; rank := 0"),
        ("rank := 1; held := 0", "rank := 1; held := 3"),
        # A list that stops before the window is over.
        ("; 694]", "]"),
    ],
)
def test_another_system_is_not_proven(tmp_path: Path, old: str, new: str) -> None:
    made = certificate(make(*LEHOCZKY))
    assert old in made.text
    path = tmp_path / "bounds.v"
    path.write_text(made.text.replace(old, new))
    with pytest.raises(SystemFails, match="Coq does not accept it"):
        check(path, len(made.claims))


@pytest.mark.slow
def test_a_theorem_that_rests_on_an_axiom_is_not_accepted(tmp_path: Path) -> None:
    made = certificate(make(*LEHOCZKY))
    path = tmp_path / "bounds.v"
    path.write_text(re.sub(r"vm_compute\. reflexivity\. Qed\.", "Admitted.", made.text, count=1))
    with pytest.raises(SystemFails, match="not every theorem is free of axioms"):
        check(path, len(made.claims))
