# SPDX-License-Identifier: Apache-2.0
"""A key means the same to check, analysis, simulator and every target: descriptions that once did not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.cli import main
from consort.model import System, platform_from_data, system_from_data
from consort.plan import Plan, plan, plan_in_modes
from consort.run.config import InputFiles, Placement, run_config
from consort.run.flow import bounds_of
from consort.run.options import Options, planned
from consort.simulate.build import prepare
from consort.simulate.engine import Choice, simulate
from loops import for_each
from ruamel.yaml import YAML

SWITCH = {"context_switch": "0us"}
CASES = YAML(typ="safe").load(Path(__file__).with_name("meanings.yaml").read_text(encoding="utf-8"))


@pytest.mark.representative
@for_each("name", CASES)
def test_right_or_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case: dict[str, Any] = CASES[name]
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "platform.yaml").write_text(f"consort: 1\nname: platform\n{case.get('platform', '')}")
    chosen = "platform.yaml" if "platform" in case else "linux-host"
    (folder / "system.yaml").write_text(f"consort: 1\nassumed: x\nplatform: {chosen}\n{case['system']}")
    for file, text in case.get("files", {}).items():
        (folder / file).write_text(text)
    for command, (status, *says) in case["answers"].items():
        first, *options = command.split()
        # Each figure, not the five lines alone.
        options += ["-v"] if first in ("analyze", "simulate") and "--json" not in options else []
        with pytest.raises(SystemExit) as ended:
            main([first, "system.yaml", *options])
        said = "".join(capsys.readouterr())
        assert (ended.value.code or 0) == status, f"{command}: {said}"
        for part in says:
            assert re.search(part, said), f"{command}: {part!r} is not in\n{said}"


TIMED = {"a": {"period": "5ms", "wcet": "400us", "bcet": "200us", "on": "master-0"}}


RECORD = {"job": {"bytes": 100}, "operation": {"bytes": 40}}


def described(tasks: dict[str, Any], **run: Any) -> System:
    head = {"consort": 1, "assumed": "x", "platform": "linux-host"}
    return system_from_data({**head, "scheduling": {"master": SWITCH}, "tasks": tasks, "run": run})


def test_bounds_are_of_the_time_base_that_is_run() -> None:
    options = Options(time_base="sleep", stand_ins=True)
    asked = bounds_of(planned(described(TIMED), options))
    assert asked == bounds_of(planned(described(TIMED, time_base="sleep"), replace(options, time_base=None)))
    spinning = bounds_of(planned(described(TIMED, time_base="spin"), replace(options, time_base=None)))
    assert asked.bound("a", "response").ns > spinning.bound("a", "response").ns


def test_a_core_of_this_machine_that_sleeps_is_late_in_each_mode() -> None:
    """The case mode-spin: spinning is for one task, and a process sleeps in all modes or in none."""
    tasks = {"a": TIMED["a"] | {"priority": 2}, "b": TIMED["a"] | {"priority": 1}}
    head = {"consort": 1, "assumed": "x", "platform": "linux-host", "scheduling": {"master": SWITCH}}
    modes = {"one": {"tasks": ["a"]}, "two": {"tasks": ["a", "b"]}}
    changes = {"start": "one", "agreement": "1ms", "requests": [{"at": "200ms", "to": "two"}]}
    parts = {"tasks": tasks, "modes": modes, "mode_changes": changes, "run": {"time_base": "spin"}}
    plans = plan_in_modes(system_from_data(head | parts), "linux", stand_ins=True)
    base = plans.whole.cores["master-0"].time_base
    late = [bounds_of(made).bound("a", "response").ns - 400_000 for made in plans.modes.values()]
    assert base == "sleep" and late == [100_000, 100_000]


def test_the_margin_of_a_wait_is_how_late_a_timer_is() -> None:
    """A wait that ends before it is on time; what is later than the bounds count is an event."""
    ms = 10**6
    cases = (
        ("hybrid", "2ms", 1, {"time_base": "hybrid", "margin_ns": 2 * ms, "late_ns": 0}),
        ("hybrid", "10us", 1, {"time_base": "hybrid", "margin_ns": ms // 10, "late_ns": 0}),
        ("hybrid", "2ms", 2, {"time_base": "sleep", "late_ns": 2 * ms}),
        ("spin", "2ms", 2, {"time_base": "sleep", "late_ns": 2 * ms}),
        ("spin", "2ms", 1, {"time_base": "spin", "sleep_one_in": 0}),
        ("sleep", None, 1, {"time_base": "sleep", "late_ns": ms // 20}),
    )
    for base, late, count, wanted in cases:
        tasks = {f"t{i}": TIMED["a"] | {"on": "c-0", "step": "stand-in"} for i in range(count)}
        cores = {"processor": "p", "count": 1, "assumed": "x", "context_switch": "1us"}
        platform = {
            "consort": 1,
            "name": "one",
            "processors": {"p": {"isa": "x86_64"}},
            "cores": {"c": cores},
        }
        if late is not None:
            cores["timer_lateness"] = late
        data = {"consort": 1, "platform": "one", "tasks": tasks, "run": {"time_base": base}}
        system = system_from_data(data, platform=platform_from_data(platform))
        made = plan(system, "linux")
        outs = [{"name": name, "out": {"bytes": 8}} for name in tasks]
        (core,) = run_config(
            made,
            Placement({}, None, False),
            {name: InputFiles() for name in tasks},
            {"record": RECORD, "tasks": outs},
            image=Path("plan.img"),
            configuration="local-off",
            duration_ps=10**12,
        )["cores"]
        assert {key: core[key] for key in wanted} == wanted, (base, late, count)


def test_a_seed_has_the_same_releases_whatever_is_chosen_of_executions() -> None:
    timed = TIMED["a"] | {"min_interarrival": "1ms", "jitter": "300us"}
    prepared = prepare(described({"a": {key: timed[key] for key in timed if key != "period"}}))
    choices: tuple[Choice, ...] = ("edges", "uniform", "worst")
    traces = [simulate(prepared, 10**11, seed=7, choice=choice, trace=True).jobs for choice in choices]
    assert traces[0] is not None and traces[0].size > 50
    for trace in traces[1:]:
        assert trace is not None
        assert np.array_equal(trace["release"], traces[0]["release"])


def test_what_a_process_has_once_suffices_in_every_mode() -> None:
    tasks = {"a": TIMED["a"] | {"step": "stand-in"}, "b": TIMED["a"] | {"on": "master-1", "step": "stand-in"}}
    modes = {
        "slow": {"tasks": ["a", "b"], "overrides": {"b": {"period": "10s"}}},
        "fast": {"tasks": ["a", "b"], "overrides": {"b": {"period": "20us", "wcet": "1us", "bcet": "1us"}}},
    }
    head = {"consort": 1, "assumed": "x", "platform": "linux-host", "scheduling": {"master": SWITCH}}
    changes = {"start": "slow", "agreement": "1ms", "requests": [{"at": "1s", "to": "fast"}]}
    system = system_from_data({**head, "tasks": tasks, "modes": modes, "mode_changes": changes})
    plans = plan_in_modes(system, "linux")
    layouts = {"record": RECORD, "tasks": [{"name": name, "out": {"bytes": 8}} for name in tasks]}

    def of_b(made: Plan, modes: Mapping[str, Plan] | None = None) -> dict[str, Any]:
        config = run_config(
            made,
            Placement({}, None, False),
            {name: InputFiles() for name in tasks},
            layouts,
            image=Path("plan.img"),
            configuration="local-off",
            duration_ps=10**12,
            modes=modes,
        )
        found: dict[str, Any] = config["tasks"][1]
        return found

    slow, fast = (of_b(made) for made in plans.modes.values())
    once = of_b(plans.whole, plans.modes)
    assert slow["ring_bytes"] < fast["ring_bytes"] == once["ring_bytes"]
    assert fast["budget_ns"] < slow["budget_ns"] == once["budget_ns"]
