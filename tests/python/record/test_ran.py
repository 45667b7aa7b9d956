# SPDX-License-Identifier: Apache-2.0
"""A plan as it ran: its facts, those of its run, and the plan as a record holds it."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from consort.base.errors import BadInput, ConsortError
from consort.model import load_system
from consort.plan import Plan, plan
from consort.plan.channels import dropping, link_of
from consort.record.ran import PLAN_FILE, Ran, executes_ns, load_plan, write_plan

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


def same(made: Plan, folder: Path) -> None:
    """What a record holds of a plan is that plan, and its parts as rows number them."""
    write_plan(folder, made)
    for chained in (False, True):
        ran = Ran.of(load_plan(folder / PLAN_FILE), {"time_scale": SCALE, "steps_of_chains": chained})
        assert ran.plan == made
        assert (ran.task_names, ran.core_names) == ([*made.tasks], [*made.cores])
        for task in ran.tasks:
            assert ran.ns(task.period_ps) == SCALE * task.period_ps / 1000
            assert executes_ns(task) == (None if task.computes_ps is None else task.computes_ps / 1000)
        steps = {step for chain in made.chains.values() for step in pairwise(chain.path)}
        if chained:
            described = {channel.name for channel in dropping(made)}
            own = {channel.name for channel in ran.channels} & described
            between = [c for c in ran.channels if c.name not in own]
            assert {(channel.writer, *channel.readers) for channel in between} == steps
            # Each queue or mailbox has rows, in its own name or as the one channel of a step.
            stood = [made.channels[name] for name in described - own]
            assert {(channel.writer, *channel.readers) for channel in stood} <= steps
            assert all(link_of(made, channel) is None for channel in ran.channels)
            for chain in ran.chains:
                # From task to task through the channel of that step and of its communication.
                assert chain.path[::2] == made.chains[chain.name].path
                assert set(chain.path[1::2]) <= set(ran.channel_names)
        else:
            exchanges = {channel.name for channel in made.channels.values() if channel.exchange_of}
            assert set(ran.channel_names) == made.channels.keys() - exchanges
            assert ran.chains == tuple(made.chains.values())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.parent.name)
def test_a_recorded_plan_is_the_plan_of_an_example(example: Path, tmp_path: Path) -> None:
    found = list(plans_of(example))
    assert found
    for made in found:
        same(made, tmp_path)


def test_a_recorded_plan_is_the_plan_of_random_systems(
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
            same(one, tmp_path)
            count += 1
    assert count > 30
    del sys.modules["featured"]


def test_the_key_of_a_run_that_is_wrong_is_named() -> None:
    made = plan(load_system(ROOT / "examples" / "vehicle" / "system.yaml"), "analysis")
    with pytest.raises(BadInput, match=r"config\.time_scale"):
        Ran.of(made, {"time_scale": 0})
    assert Ran.of(made, {"board": "versal"}).facts.model_extra == {"board": "versal"}
