# SPDX-License-Identifier: Apache-2.0
"""A plan as it ran: its facts, those of its run, and the plan as a record holds it."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from consort.errors import BadInput, ConsortError
from consort.model import load_system
from consort.plan import Plan, plan
from consort.plan.over_links import link_of
from consort.plan.recorded import chain_facts, core_facts, task_facts
from consort.plan.stored import stored
from consort.record.description import Described
from consort.record.ran import Ran, executes_ns, load_plan
from consort.simulate.recording import _channels

ROOT = Path(__file__).parents[3]
GOLDENS = ROOT / "tests" / "python" / "goldens"
EXAMPLES = sorted((ROOT / "examples").glob("*/system.yaml"))
SCALE = 7


def plans_of(file: Path) -> Iterator[Plan]:
    system = load_system(file)
    for mode in (None, *system.modes):
        for target in ("analysis", "linux"):
            try:
                yield plan(system, target, mode=mode, stand_ins=True)
            except ConsortError:
                continue


def copied(made: Plan, *, simulated: bool) -> Described:
    channels = [
        {
            "name": channel.name,
            "implementation": channel.implementation,
            "writer": channel.writer,
            "readers": list(channel.readers),
            "communication": channel.communication,
            **({"link": channel.memory} if link_of(made, channel) is not None else {}),
        }
        for channel in made.channels.values()
        if channel.exchange_of is None
    ]
    chains = chain_facts(made, SCALE)
    if simulated:
        channels, chains = _channels(made)
    return Described.model_validate(
        {
            "cores": [core_facts(core) for core in made.cores.values()],
            "tasks": [task_facts(task, SCALE) for task in made.tasks.values()],
            "channels": channels,
            "chains": chains,
        }
    )


def same_facts(made: Plan, folder: Path) -> None:
    file = folder / "plan.json"
    file.write_text(json.dumps(stored(made)), encoding="utf-8")
    for simulated in (False, True):
        said = copied(made, simulated=simulated)
        ran = Ran.of(load_plan(file), {"time_scale": SCALE, "steps_of_chains": simulated})
        assert ran.plan == made
        assert (ran.task_names, ran.core_names) == (said.task_names, said.core_names)
        for task, facts in zip(ran.tasks, said.tasks, strict=True):
            assert (task.core, task.worker, task.execution) == (facts.core, facts.worker, facts.execution)
            times = (task.period_ps, task.deadline_ps, task.offset_ps, task.jitter_ps)
            was = (facts.period_ns, facts.deadline_ns, facts.offset_ns, facts.jitter_ns)
            assert tuple(map(ran.ns, times)) == was
            assert executes_ns(task) == facts.wcet_ns
            assert (task.rank, task.on_miss, task.communication) == (
                facts.rank,
                facts.on_miss,
                facts.communication,
            )
            assert (None if task.step is None else str(task.step)) == facts.step
        for core, described in zip(ran.cores, said.cores, strict=True):
            assert (core.policy, core.wait, core.time_base) == (
                described.policy,
                described.wait,
                described.time_base,
            )
        for channel, known in zip(ran.channels, said.channels, strict=True):
            assert (channel.name, channel.writer, channel.readers, channel.communication) == (
                known.name,
                known.writer,
                known.readers,
                known.communication,
            )
            assert simulated or channel.implementation == known.implementation
            assert (link_of(made, channel) is None) == (known.link is None)
        for chain, limits in zip(ran.chains, said.chains, strict=True):
            assert (chain.name, chain.path, chain.communication) == (
                limits.name,
                limits.path,
                limits.communication,
            )
            if not simulated:
                allowed = (chain.reaction_ps, chain.age_ps)
                assert tuple(None if ps is None else ran.ns(ps) for ps in allowed) == (
                    limits.reaction_ns,
                    limits.age_ns,
                )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.parent.name)
def test_a_recorded_plan_has_the_facts_of_an_example(example: Path, tmp_path: Path) -> None:
    found = [made for made in plans_of(example) if same_facts(made, tmp_path) is None]
    assert found


def test_a_recorded_plan_has_the_facts_of_random_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(GOLDENS))
    import featured

    for file in (GOLDENS.parent / "plan" / "walk").iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    count = 0
    choices = featured.choices()
    for number in random.Random(os.environ.get("SEED", "1")).sample(range(featured.SYSTEMS), 30):
        described = featured.system(number, choices[number])
        file = tmp_path / "system.yaml"
        file.write_text(json.dumps(described), encoding="utf-8")
        try:
            made = list(plans_of(file))
        except ConsortError:
            continue
        for one in made:
            same_facts(one, tmp_path)
            count += 1
    assert count > 30
    del sys.modules["featured"]


def test_the_key_of_a_run_that_is_wrong_is_named() -> None:
    made = plan(load_system(ROOT / "examples" / "vehicle" / "system.yaml"), "analysis")
    with pytest.raises(BadInput, match=r"config\.time_scale"):
        Ran.of(made, {"time_scale": 0})
    assert Ran.of(made, {"board": "versal"}).facts.model_extra == {"board": "versal"}
